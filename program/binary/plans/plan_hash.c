/* The command's door to xxHash. */
#include "program/binary/plans/plan_hash.h"

#include <xxhash.h>

_Static_assert(TOOL_PLAN_KEY_BYTES >= XXH3_SECRET_SIZE_MIN, "long enough");
_Static_assert(sizeof(XXH128_canonical_t) == TTP_PLAN_CONTENT_BYTES, "all of it");

void tool_plan_hash(uint8_t hash[TTP_PLAN_CONTENT_BYTES], const uint8_t *bytes, size_t size_bytes,
                    const uint8_t key[TOOL_PLAN_KEY_BYTES])
{
    XXH128_canonicalFromHash((XXH128_canonical_t *)hash,
                             XXH3_128bits_withSecret(bytes, size_bytes, key, TOOL_PLAN_KEY_BYTES));
}

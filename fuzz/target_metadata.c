/* CBOR metadata: taken apart without allocating, in place. */
#include <string.h>

#include "fuzz_codec.h"
#include "reader/base/cbor_decoder.h"

struct seen {
    const uint8_t *data, *end;
    uint32_t count;
};

static void require_inside(const struct seen *seen, ttape_string s)
{
    const uint8_t *at = (const uint8_t *)s.data;
    FUZZ_REQUIRE(s.size_bytes == 0 ||
                 (at >= seen->data && at < seen->end && s.size_bytes <= (size_t)(seen->end - at)));
}

static ttape_status take(void *context, const struct ttp_cbor_entry *entry, ttape_error *err)
{
    struct seen *seen = context;
    (void)err;
    FUZZ_REQUIRE(entry->type <= TTAPE_METADATA_OTHER);
    require_inside(seen, entry->key);
    require_inside(seen, entry->text);
    seen->count++;
    return TTAPE_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ttape_error err = {0};
    struct fuzz_bytes copy =
        fuzz_copy(data, size); /* strings in pieces are joined where they are */
    struct seen seen = {copy.data, copy.data + size, 0};
    ttape_status status = ttp_cbor_decode(copy.data, size, take, &seen, &err);
    FUZZ_REQUIRE(seen.count <= size);
    if (status != TTAPE_OK)
        fuzz_require_error(status, &err, size);
    fuzz_release_all();
    return 0;
}

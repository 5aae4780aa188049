/* The door to xxHash. Its inline mode is not used: that would pull malloc into this pure layer. */
#include "format/base/checksum.h"

#ifdef TTP_CHECKSUM_DISPATCH /* the widest vectors that the machine has */
#include <xxh_x86dispatch.h>
#else
#include <xxhash.h>
#endif

uint64_t ttp_checksum(const void *data, size_t size_bytes) { return XXH3_64bits(data, size_bytes); }

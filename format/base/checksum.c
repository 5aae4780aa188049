/* The door to xxHash. Its inline mode is not used: that would pull malloc into this pure layer. */
#include "format/base/checksum.h"

#include <xxhash.h>

uint64_t ttp_checksum(const void *data, size_t size_bytes) { return XXH3_64bits(data, size_bytes); }

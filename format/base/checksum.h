/* XXH3-64, the one checksum of the format: the only door to xxHash. */
#ifndef TTP_FORMAT_CHECKSUM_H
#define TTP_FORMAT_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

uint64_t ttp_checksum(const void *data, size_t size_bytes);

#endif

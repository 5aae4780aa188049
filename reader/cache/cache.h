/* Partitions that stay decoded, up to a number of bytes: least recently used ones go first, one is
 * always kept. */
#ifndef TTP_READER_CACHE_H
#define TTP_READER_CACHE_H

#include "reader/reader_internal.h"

void ttp_cache_clear(struct ttp_trace_decoder *d);
/* Gives up the oldest until it has no more bytes than that. */
void ttp_cache_shrink(struct ttp_trace_decoder *d, uint64_t most_bytes);
void ttp_cache_close(struct ttp_trace_decoder *d); /* once it is empty */

/* The partition as far as it is decoded, or NULL. */
struct ttp_loaded *ttp_cache_find(const struct ttp_trace_decoder *d, uint32_t partition);

#endif

/* Prefetching: threads decode partitions that a cursor which reads forward will need next, and the
 * cache takes them from here. Nothing depends on it but time: what cannot be decoded here, the
 * cache decodes itself, and reports.
 *
 *   owner's thread    want -> slots -> take -> cache
 *   workers                    +-> decode -+        each in memory and a decompressor of its own
 *
 * Memory is reserved before a partition is handed out, and no more than a share of what the cache
 * may have; where the reader runs short of memory, everything here is given up first. All functions
 * are for the owner's thread. */
#ifndef TTP_READER_PREFETCH_H
#define TTP_READER_PREFETCH_H

#include "reader/partition/partition_reader.h"
#include "reader/reader_internal.h"

/* `current` is about to be loaded, then those in `next`, in order, to at least `stage`: ORDER or
 * EVENTS; what was wanted before and is not among them is given up. Does nothing in a reader
 * without jobs. */
void ttp_prefetch_want(struct ttp_trace_decoder *d, uint32_t current, const uint32_t *next,
                       uint32_t count, enum ttp_stage stage);
/* The partition at the stage that was wanted or more, charged to the reader's memory; NULL when it
 * has to be decoded. */
struct ttp_loaded *ttp_prefetch_take(struct ttp_trace_decoder *d, uint32_t partition);
void ttp_prefetch_close(struct ttp_trace_decoder *d);

/* How many partitions are worth wanting; 0 without jobs. */
uint32_t ttp_prefetch_depth(const struct ttp_trace_decoder *d);
#define TTP_PREFETCH_MOST 16u

#endif

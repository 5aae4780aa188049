/* The times of a partition's events, as every time codec sees them: tick differences under event
 * codes.
 *
 * delta[i] is the time of event i minus the time of the event before it in its stream (for the
 * first event of a segment: minus the segment's base time), in ticks of the partition's resolution.
 * Differences that do not fit 0 .. 2^32 - 2 (clock steps, long waits) stand as TTP_DELTA_WIDE, with
 * the true value in `wide`, in event order. */
#ifndef TTP_FORMAT_TIMES_H
#define TTP_FORMAT_TIMES_H

#include <stddef.h>
#include <stdint.h>

#include <tracetape/error.h>

#include "format/base/buffer.h"

#define TTP_DELTA_WIDE UINT32_MAX
#define TTP_TIME_BLOCK_EVENTS                                                                      \
    32768u /* events per block: the unit of seeking and of parallel decoding */

struct ttp_times {
    const uint32_t *codes;         /* as in format/order/order.h: they predict the times */
    const uint32_t *segment_start; /* segment_count + 1 entries */
    uint32_t *delta;               /* event_count entries; a decoder fills them */
    int64_t *wide;                 /* wide_count entries; a decoder fills at most wide_capacity */
    uint32_t event_count, segment_count, symbol_count;
    uint32_t wide_count, wide_capacity;
};

#endif

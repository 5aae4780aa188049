/* Field 5 of an overview: of each of its partitions what the tree asks of it, which is how its
 * segments lie in time, what is open at their edges, which functions had most of its own time, and
 * what its summary says of frames that end in it. */
#ifndef TTP_FORMAT_OUTLINES_H
#define TTP_FORMAT_OUTLINES_H

#include "format/container/measures/overview.h"
#include "format/container/segments.h"

#define TTP_OUTLINE_SHARE 64u /* a function counts that has one in so many of all own time */
/* A writer leaves the field out of an overview that has more, a reader refuses it: what is open in
 * a deep recursion is better read from the partitions. */
#define TTP_OUTLINE_SEGMENTS 65536u
#define TTP_OUTLINE_ITEMS    262144u /* start frames; frames that end edges add; rows */

/* Of one partition. */
struct ttp_partition_outline {
    struct ttp_segments segments; /* stream, first_event and event_count are not in the field */
    struct ttp_measure *rows;     /* by ascending site; see ttp_outline_rows */
    uint32_t row_count;
    int64_t first_tick;  /* of the partition, not in the field */
    uint64_t call_count; /* of all rows of its summary */
    uint64_t own_sum;    /* of all that count there; without times it is that of calls */
    bool has_wide;       /* it has wide time differences */
};

/* The stream's segment before a segment, in an earlier partition of the overview. */
struct ttp_outline_origin {
    uint32_t outline, segment; /* outline TTP_OUTLINE_NONE: there is none */
};
#define TTP_OUTLINE_NONE UINT32_MAX

/* Arrays of each are pieces of these, one after the other. */
struct ttp_outlines {
    struct ttp_partition_outline
        *each; /* segment counts, first ticks, and what is given of segments */
    const struct ttp_outline_origin *before; /* by segment, of all one after the other */
    struct ttp_segment *segments;
    struct ttp_frame *start_frames, *end_frames;
    struct ttp_measure *rows;
    uint32_t partition_count, segment_count, start_frame_count, end_frame_count, row_count;
    bool timed;
};

/* What of a row counts as its own time: without times its calls. */
static inline uint64_t ttp_outline_weight(const struct ttp_measure *row, bool timed)
{
    return !timed ? row->call_count : row->self_ticks > 0 ? (uint64_t)row->self_ticks : 0;
}

/* Finds which rows of a summary an outline has: those with a share of the own time (of which it
 * has no more than that, without times the calls), and with times those of functions of which a
 * frame ends that was open at a start edge (only these have ended frames in it). Fills in
 * one->rows (room for all of them), row_count, call_count and own_sum; `marks` has a byte for each
 * row. False where sums do not fit. */
bool ttp_outline_rows(struct ttp_partition_outline *one, const struct ttp_measure *rows,
                      uint32_t row_count, bool timed, uint8_t *marks);

size_t ttp_outlines_bound(const struct ttp_outlines *in);
/* 0 when `out` is too small. */
size_t ttp_outlines_write(const struct ttp_outlines *in, uint8_t *out, size_t out_bytes);

/* Fills in the counts of frames and rows. */
ttape_status ttp_outlines_count(const struct ttp_overview *in, struct ttp_outlines *io,
                                ttape_error *err);
/* Fills in everything else; arrays have room for the counts. */
ttape_status ttp_outlines_read(const struct ttp_overview *in, struct ttp_outlines *io,
                               ttape_error *err);

#endif

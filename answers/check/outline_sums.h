/* What the outlines of an overview must say, kept while its partitions are verified. */
#ifndef TTP_READER_OUTLINE_SUMS_H
#define TTP_READER_OUTLINE_SUMS_H

#include "answers/check/measure.h"
#include "reader/levels/outline_reader.h"

struct ttp_outline_sums {
    struct ttp_partition_outline each[TTP_OVERVIEW_PARTITIONS]; /* without the arrays below */
    struct ttp_segment *segments;
    struct ttp_frame *start_frames, *end_frames;
    struct ttp_measure *rows;
    uint32_t segment_count, start_frame_count, end_frame_count, row_count, partition_count;
    uint32_t segment_capacity, start_frame_capacity, end_frame_capacity, row_capacity;
    bool is_too_much; /* there must be no outlines */
};

/* Adds a partition; there is room for it. */
ttape_status ttp_outline_sums_add(struct ttp_outline_sums *sums, struct ttp_trace_decoder *d,
                                  const struct ttp_loaded *p, const struct ttp_measuring *m,
                                  ttape_error *err);
/* TTAPE_E_CORRUPT where the overview says anything else. */
ttape_status ttp_outline_sums_compare(struct ttp_outline_sums *sums, struct ttp_trace_decoder *d,
                                      const struct ttp_read_overview *o, ttape_error *err);
void ttp_outline_sums_clear(struct ttp_outline_sums *sums);
void ttp_outline_sums_close(struct ttp_outline_sums *sums, struct ttp_trace_decoder *d);

#endif

/* What an overview must say of instants: its partitions' sections, kept while these are verified,
 * and merged as a writer does it. */
#ifndef TTP_READER_VERIFY_MERGED_H
#define TTP_READER_VERIFY_MERGED_H

#include "reader/levels/merged_reader.h"

struct ttp_merged_sums {
    struct ttp_merged_source sources[TTP_OVERVIEW_PARTITIONS]; /* without the arrays below */
    uint64_t origins_ns[TTP_OVERVIEW_PARTITIONS];
    struct ttp_segment *segments;
    struct ttp_frame *start_frames;
    struct ttp_instant_segment *known;
    struct ttp_instant *instants;
    struct ttp_symbol *frames;
    uint32_t segment_count, start_frame_count, known_count, instant_count, frame_count;
    uint32_t segment_capacity, start_frame_capacity, known_capacity, instant_capacity,
        frame_capacity;
    uint32_t partition_count;
    bool is_too_much; /* there must be no such field */
};

/* Adds a partition; there is room for it. */
ttape_status ttp_merged_sums_add(struct ttp_merged_sums *sums, struct ttp_trace_decoder *d,
                                 const struct ttp_loaded *p, ttape_error *err);
/* TTAPE_E_CORRUPT where the overview says anything else. */
ttape_status ttp_merged_sums_compare(struct ttp_merged_sums *sums, struct ttp_trace_decoder *d,
                                     const struct ttp_read_overview *o, ttape_error *err);
void ttp_merged_sums_clear(struct ttp_merged_sums *sums);
void ttp_merged_sums_close(struct ttp_merged_sums *sums, struct ttp_trace_decoder *d);

#endif

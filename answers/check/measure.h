/* What a partition's summary and edges must say, worked out from its events (F-SUM-05, F-EDG-05).
 * For verify. */
#ifndef TTP_READER_MEASURE_H
#define TTP_READER_MEASURE_H

#include "answers/check/measure_cpu.h"
#include "base/active.h"
#include "format/container/measures/overview.h"
#include "reader/levels/listed_sums.h"
#include "reader/partition/frame_stacks.h"
#include "reader/partition/partition_decoder.h"

struct ttp_measuring {
    struct ttp_trace_decoder *decoder;
    const struct ttp_loaded *p;
    struct ttp_measure *rows; /* by ascending site of the scope */
    uint32_t row_count, row_capacity;
    uint32_t *row_of; /* symbol -> row, or UINT32_MAX */
    struct ttp_frame_stacks stacks;
    struct ttp_active_table active; /* frames of one row on one stack */
    int64_t tick;
    uint32_t wide;
    uint32_t segment, event;        /* of the partition, that is gone through */
    int64_t least_tick, most_tick;  /* of all events so far */
    struct ttp_measuring_cpu cpu;   /* where the caller opened it, after this */
    uint32_t *counts;               /* where the caller asked: TTP_OVERVIEW_BUCKETS for each row */
    struct ttp_listed_sums *listed; /* the caller's; NULL: nobody asked */
};

ttape_status ttp_measuring_open(struct ttp_measuring *m, struct ttp_trace_decoder *d,
                                const struct ttp_loaded *p, ttape_error *err);
void ttp_measuring_close(struct ttp_measuring *m);
/* Counts durations from now on, where there is memory for it. */
void ttp_measuring_count(struct ttp_measuring *m);

/* Goes through a segment: rows grow, and the stacks are left as they are at its end. Segments in
 * order. */
ttape_status ttp_measuring_segment(struct ttp_measuring *m, uint32_t segment, ttape_error *err);

#endif

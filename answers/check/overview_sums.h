/* What an overview of partitions must say, added up while these are verified. */
#ifndef TTP_READER_OVERVIEW_SUMS_H
#define TTP_READER_OVERVIEW_SUMS_H

#include "answers/check/measure.h"
#include "answers/check/outline_sums.h"
#include "reader/levels/overview_reader.h"
#include "reader/levels/verify_merged.h"

struct ttp_overview_sum {
    struct ttp_measure measure;
    struct ttp_cpu_measure cpu;
    struct ttp_overview_calls calls;
};

/* Of a scope, since its last overview. */
struct ttp_overview_sums {
    struct ttp_overview_sum *rows; /* by first appearance */
    struct ttp_overview_leaf *leaves;
    uint32_t *row_of, *leaf_of; /* by site, + 1 */
    uint32_t row_count, row_capacity, leaf_count, leaf_capacity, row_sites, leaf_sites;
    uint64_t unknown_ends; /* bit i: the i-th partition has an ends section */
    uint32_t partition_count, summary_count, cpu_count, switch_count;
    uint64_t all_ns[TTP_OFF_KINDS];
    int64_t span_ticks;
    struct ttp_outline_sums outlines;
    struct ttp_merged_sums merged;
    struct ttp_listed_sums listed;
    bool is_partial; /* there was more than an overview covers, or than could be kept */
};

/* Adds a partition whose segments were all measured. */
ttape_status ttp_overview_sums_add(struct ttp_overview_sums *sums, struct ttp_trace_decoder *d,
                                   const struct ttp_loaded *p, const struct ttp_measuring *m,
                                   ttape_error *err);
/* TTAPE_E_CORRUPT with the first difference. */
ttape_status ttp_overview_sums_compare(struct ttp_overview_sums *sums, struct ttp_trace_decoder *d,
                                       const struct ttp_read_overview *o, ttape_error *err);
/* Begins anew. */
void ttp_overview_sums_clear(struct ttp_overview_sums *sums);
void ttp_overview_sums_close(struct ttp_overview_sums *sums, struct ttp_trace_decoder *d);

#endif

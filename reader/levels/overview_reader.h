/* Overviews: what up to 64 partitions add up to, in one read. Whoever asks goes on without one that
 * does not hold. */
#ifndef TTP_READER_OVERVIEW_READER_H
#define TTP_READER_OVERVIEW_READER_H

#include "format/container/measures/overview.h"
#include "reader/reader_internal.h"

struct ttp_read_overview {
    struct ttp_overview head;
    uint32_t partitions[TTP_OVERVIEW_PARTITIONS]; /* that it covers, ascending */
    uint64_t event_count;                         /* of them */
    struct ttp_measure *rows;                     /* by ascending site of the scope */
    struct ttp_cpu_times cpu;                     /* rows NULL: they know of no switches */
    struct ttp_overview_calls *calls;             /* NULL: not asked for, or not there */
    struct ttp_overview_leaf *leaves;             /* the same */
    uint32_t row_count, leaf_count;
    uint8_t *content; /* that fields are in */
    size_t content_bytes;
};

/* An answer looks for an overview's partitions among so many before it, which many scopes that are
 * written at the same time do not reach: a small file cannot make it look for each of its overviews
 * through all of it. */
#define TTP_OVERVIEW_SPREAD 4096u

/* The number of the first one, of any scope, behind a partition. */
uint32_t ttp_overview_behind(const ttape_reader *r, uint32_t partition);

enum ttp_overview_depth {
    TTP_OVERVIEW_BARE, /* which partitions it covers */
    TTP_OVERVIEW_ROWS, /* and their sums */
    TTP_OVERVIEW_ALL   /* and masks, histograms and leaves */
};

/* `most`: partitions before it that are looked through. To be dropped on success. */
ttape_status ttp_overview_load(struct ttp_trace_decoder *d, uint32_t number,
                               enum ttp_overview_depth depth, uint32_t most,
                               struct ttp_read_overview *out, ttape_error *err);
/* Only short memory and failed reads are fatal. An overview that is damaged otherwise is ignored:
 * the partitions have the same numbers. */
static inline bool ttp_overview_fails(ttape_status status)
{
    return status == TTAPE_E_MEMORY || status == TTAPE_E_IO;
}
/* Whether its rows are as good as those of summaries, and of partitions that are not covered:
 * `covered` is by partition, 0: not yet. */
bool ttp_overview_tells(const ttape_reader *r, uint32_t scope, const struct ttp_read_overview *o,
                        const uint8_t *covered);
void ttp_overview_drop(struct ttp_trace_decoder *d, struct ttp_read_overview *o);

#endif

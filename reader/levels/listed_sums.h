/* The longest calls that an overview may list, kept while its partitions are verified. */
#ifndef TTP_READER_LISTED_SUMS_H
#define TTP_READER_LISTED_SUMS_H

#include "reader/levels/listed_reader.h"
#include "reader/partition/frame_stacks.h"
#include "reader/partition/partition_decoder.h"

struct ttp_listed_sum {
    struct ttp_listed_call call; /* without its path ... */
    uint64_t path;               /* ... of which this is a hash */
};

/* Of a site, the longest first. */
struct ttp_listed_list {
    struct ttp_listed_sum *calls;
    uint32_t count, capacity;
};

struct ttp_listed_sums {
    struct ttp_listed_list *lists; /* by site */
    uint32_t site_count;
    uint64_t bytes;     /* of what lists have */
    uint32_t partition; /* that is verified now, of the overview */
    bool is_plain;      /* there is nothing but events and times in it */
    bool is_too_much;   /* there was no memory for it */
};

/* A frame that ends at an event of the partition, and is the top of its stack still. */
struct ttp_listed_ending {
    const struct ttp_loaded *p;
    const struct ttp_frame_stacks *stacks;
    uint32_t segment, enter_event, end_event; /* events of the partition; enter: if it is there */
    int64_t tick;
    bool is_unwound;
};

void ttp_listed_sums_start(struct ttp_listed_sums *s, const struct ttp_loaded *p,
                           uint32_t partition);
void ttp_listed_sums_add(struct ttp_listed_sums *s, struct ttp_memory *memory, uint32_t site,
                         const struct ttp_listed_ending *ending);
/* TTAPE_E_CORRUPT where the overview says anything else. */
ttape_status ttp_listed_sums_compare(const struct ttp_listed_sums *s, struct ttp_trace_decoder *d,
                                     const struct ttp_read_overview *o, ttape_error *err);
void ttp_listed_sums_clear(struct ttp_listed_sums *s);
void ttp_listed_sums_close(struct ttp_listed_sums *s, struct ttp_trace_decoder *d);

#endif

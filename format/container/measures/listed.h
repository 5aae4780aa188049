/* Field 6 of an overview: of each function the longest calls that ended in its partitions, with
 * what has to be said of them, so that whoever asks for these decodes no partition.
 *
 *   | nodes: a tree of what calls came from | for each row of the summary: its calls | */
#ifndef TTP_FORMAT_LISTED_H
#define TTP_FORMAT_LISTED_H

#include "format/container/measures/overview.h"
#include "format/container/segments.h"

#define TTP_LISTED_MOST  32u     /* calls of a row */
#define TTP_LISTED_DEPTH 1024u   /* frames below a call that is told of */
#define TTP_LISTED_CALLS 131072u /* of all */
#define TTP_LISTED_NODES 65536u

struct ttp_listed_call {
    int64_t duration_ticks;
    uint32_t partition, segment; /* of the overview; of the partition */
    bool is_known;               /* what follows is known; else it takes the partition's events */
    bool is_unwound;
    int64_t self_ticks;
    int64_t enter_tick;
    uint32_t enter_event, end_event; /* of the segment */
    uint32_t stack;
    uint32_t path; /* node of the frame below it; 0: none */
};

/* A frame below calls; nodes have numbers from 1 on, above those that they stand on. */
struct ttp_listed_node {
    uint32_t below, argument; /* below: 0: it is the outermost */
    uint32_t depth;           /* with those below it */
    uint8_t event_class;
};

struct ttp_listed {
    const struct ttp_measure *rows; /* of the summary */
    int64_t first_ticks[TTP_OVERVIEW_PARTITIONS];
    uint8_t *counts;               /* listed calls of each row */
    struct ttp_listed_call *calls; /* row by row, in their order */
    struct ttp_listed_node *nodes;
    uint32_t row_count, call_count, node_count;
};

/* Whether `b` comes behind `a` among the calls of a function, as far as it takes no look at events:
 * of one segment those that end first come first. */
static inline bool ttp_listed_is_behind(const struct ttp_listed_call *a,
                                        const struct ttp_listed_call *b)
{
    if (a->duration_ticks != b->duration_ticks)
        return b->duration_ticks < a->duration_ticks;
    if (a->partition != b->partition)
        return b->partition > a->partition;
    return b->segment >= a->segment;
}

/* The place of a call that ended after all that are there, which are `count` in order. */
static inline uint32_t ttp_listed_place(const struct ttp_listed_call *calls, uint32_t count,
                                        const struct ttp_listed_call *call)
{
    uint32_t at = count;
    while (at > 0 && !ttp_listed_is_behind(&calls[at - 1], call))
        at--;
    return at;
}

size_t ttp_listed_bound(const struct ttp_listed *in);
/* 0 when `out` is too small. */
size_t ttp_listed_write(const struct ttp_listed *in, uint8_t *out, size_t out_bytes);

/* Fills in the counts of calls and nodes. */
ttape_status ttp_listed_count(const struct ttp_overview *in, struct ttp_listed *io,
                              ttape_error *err);
/* Fills in everything else; arrays have room for the counts, rows and ticks are there. Segments and
 * events may still be too large. */
ttape_status ttp_listed_read(const struct ttp_overview *in, struct ttp_listed *io,
                             ttape_error *err);

#endif

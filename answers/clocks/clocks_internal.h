/* Clocks of several traces: what its files share.
 *
 *   metadata of scopes -> clocks_scopes.c -> clocks, their offsets and errors
 *   events of markers  -> clocks_pairs.c  -> pairs of events
 *   pairs of two clocks -> clocks_fit.c   -> what is possible between them: an edge
 *   edges -> clocks_ways.c -> what is possible of each clock, against the first one
 *
 * What is possible is told of each clock's *rest*: its shift less its offset, so that numbers are
 * small. */
#ifndef TTP_CLOCKS_INTERNAL_H
#define TTP_CLOCKS_INTERNAL_H

#include <tracetape/clocks.h>

#include "base/region.h"

#define TTP_CLOCKS_FAR (1ll << 60) /* no bound is farther: 36 years */

/* One scope of a reader. */
struct ttp_clock_scope {
    uint32_t reader, scope, clock;
    bool has_times, has_offset, has_utc_error;
    ttape_string boot_id, host;
    uint64_t time_namespace, offset_ns, shifted_ns;
    int64_t offset_error_ns, utc_error_ns, clock_error_ns; /* at most TTP_CLOCKS_FAR */
    uint64_t first_ns, end_ns;
};

struct ttp_clock {
    uint32_t best;              /* its scope that says most of its offset */
    bool has_offset;            /* it says one */
    int64_t error_ns;           /* the most by which a time of a scope is wrong */
    bool has_span;              /* some scope has times: */
    int64_t first_ns, end_ns;   /* by CLOCK_REALTIME, where there is an offset */
    bool is_placed, is_reached; /* the answer: */
    uint32_t anchor;            /* the clock against which it is placed */
    int64_t low_ns, high_ns;    /* what is possible of its rest */
    int64_t drift_ppb;          /* against clock 0 */
    uint32_t pair_count;        /* that bound it */
    int64_t shift_ns;
};

/* The event of a marker. */
struct ttp_clock_message {
    ttape_clock_event at;
    uint32_t clock;
    bool is_received, is_text;
    uint64_t number;   /* its id, */
    ttape_string text; /* or this, where it is text */
};

/* A pair, as clocks a < b see it: the rest of b less that of a is at least, or at most, bound_ns at
 * time_ns of b, its offset added. */
struct ttp_clock_bound {
    uint32_t a, b;
    bool is_least, is_left_out;
    int64_t time_ns, bound_ns;
    ttape_clock_pair pair;
};

/* The rest of `to` is at most that of `from` and `most_ns`. */
struct ttp_clock_edge {
    uint32_t from, to;
    int64_t most_ns;
    size_t first, count; /* bounds that it is made of; 0: none */
};

struct ttape_clocks {
    struct ttp_region region;
    ttape_reader *const *readers;
    uint32_t reader_count;
    ttape_clocks_info info;
    const ttape_watch *watch;
    struct ttp_clock_scope *scopes; /* by reader, then by scope */
    size_t scope_count, scope_capacity;
    uint32_t *first_scopes; /* by reader, and one more */
    struct ttp_clock *clocks;
    size_t clock_count, clock_capacity;
    struct ttp_clock_message *messages;
    size_t message_count, message_capacity;
    struct ttp_clock_bound *bounds; /* by both clocks */
    size_t bound_count, bound_capacity;
    struct ttp_clock_edge *edges;
    size_t edge_count, edge_capacity;
    ttape_clock_pair *contradictions;
    size_t contradiction_count, contradiction_capacity;
};

/* Fills scopes and clocks. */
void ttp_clocks_scopes(ttape_clocks *c);
/* Fills bounds. */
ttape_status ttp_clocks_pairs(ttape_clocks *c, ttape_error *err);
/* Makes the edges of bounds. */
void ttp_clocks_fit(ttape_clocks *c);
/* Says of each clock what is possible. */
void ttp_clocks_ways(ttape_clocks *c);

/* How far two clocks may be apart beside their offsets. False: nobody knows. */
bool ttp_clocks_apart(const ttape_clocks *c, uint32_t a, uint32_t b, int64_t *most_ns);
void ttp_clocks_add_edge(ttape_clocks *c, uint32_t from, uint32_t to, int64_t most_ns, size_t first,
                         size_t count);
/* Names a pair that is left out. */
void ttp_clocks_contradict(ttape_clocks *c, struct ttp_clock_bound *bound);

/* A sum that stays below TTP_CLOCKS_FAR. */
static inline int64_t ttp_clocks_sum(int64_t a, int64_t b)
{
    int64_t sum = a + b; /* of two numbers below 2^60 */
    return sum > TTP_CLOCKS_FAR ? TTP_CLOCKS_FAR : sum < -TTP_CLOCKS_FAR ? -TTP_CLOCKS_FAR : sum;
}

static inline const struct ttp_clock_scope *ttp_clocks_best(const ttape_clocks *c, uint32_t clock)
{
    return &c->scopes[c->clocks[clock].best];
}

#endif

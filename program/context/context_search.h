/* Which stacks of a graph of calls have a value: from both ends at once.
 *
 *     graph --context_prefixes.c--> prefixes: stacks from the outermost function on, with their
 *                                   values, in a table
 *     value --context_search.c----> suffixes: functions undone from the value, innermost first, the
 *                                   likeliest first; one whose rest is a prefix's value is found
 *
 * An affine value is as good as drawn: a rest that meets a prefix is no chance, even where the
 * graph has no call between the two. So one call that nobody knows of may be in a stack. Of other
 * operations only known calls count. */
#ifndef TOOL_CONTEXT_SEARCH_H
#define TOOL_CONTEXT_SEARCH_H

#include "program/context/deep.h"

#define TOOL_SEARCH_NEWS_MAX 3u
#define TOOL_SEARCH_TURN_MAX 16u   /* functions of a recursion's turn */
#define TOOL_SEARCH_COST_MAX 2047u /* what costs more is not followed */

struct tool_search_prefix {
    uint64_t value;
    uint32_t around, function;
    uint16_t depth, cost;
    uint8_t news;
};

/* A suffix: a function, and the suffix that it calls. */
struct tool_search_node {
    uint64_t value;              /* of the rest */
    struct tool_row_place place; /* in what may be around it */
    uint32_t inner, left;
    uint16_t cost;
    uint8_t news;
};

/* Numbers in lists by cost, the cheapest first. */
struct tool_search_queue {
    uint32_t heads[TOOL_SEARCH_COST_MAX + 1]; /* plus 1 */
    uint32_t *next;                           /* by number */
    uint32_t lowest;
};

/* What the cheapest stack around a function costs, of so many functions: where no trace says
 * what is likely. */
struct tool_rests {
    uint16_t *costs; /* by depth, then function */
    struct tool_way_order order;
};

struct tool_search_options {
    ttape_context_operation operation;
    uint32_t news_most; /* calls that no trace shows, in one stack */
    const bool *ends;   /* by function: it may well be the innermost one; NULL: any may */
    size_t prefixes_most, nodes_most;
    size_t deep_bytes;        /* of the table for what is not found so; 0: there is none */
    uint64_t memory_bytes;    /* of all of it */
    const ttape_watch *watch; /* NULL: nobody. Steps are suffixes of one value */
};

struct tool_search {
    struct ttp_region region; /* of all that is here; is_short: what was found is not all */
    const struct tool_edges *edges;
    struct tool_search_options options;
    bool is_stopped;    /* the caller did not want to go on */
    ttape_watch asking; /* the same, asked by what is below */
    struct tool_rows outwards, inwards;
    struct tool_search_prefix *prefixes;
    size_t prefix_count;
    uint32_t *places;
    uint64_t *filter;
    size_t place_mask, filter_mask; /* of words */
    uint32_t complete_depth;        /* up to there all prefixes are there */
    struct tool_rests rests;
    struct tool_search_queue queue;
    struct tool_search_node *nodes;
    size_t node_count;
    struct tool_deep deep; /* made for the first value that needs it */
    uint32_t *innermost;   /* what a function costs that a suffix begins with */
    uint64_t looked;       /* suffixes of the last run */
    uint64_t alone_left;   /* suffixes that binaries alone are worth */
};

/* One stack: its functions, outermost first. */
struct tool_search_found {
    const uint32_t *functions;
    uint32_t depth, cost;
    uint32_t news;    /* calls that no trace shows */
    uint32_t unknown; /* of these, calls that no graph has */
};
typedef void (*tool_search_take)(void *context, const struct tool_search_found *found);

/* The graph lives until close. False: memory is short, and it is closed. */
bool tool_search_open(struct tool_search *search, const struct tool_edges *edges,
                      const struct tool_search_options *options);
void tool_search_close(struct tool_search *search);

/* Calls `take` for stacks that have the value, some several times. `depth`: UINT32_MAX is any.
 * Returns whether everything within the bounds was looked at; is_stopped and region.is_short say
 * why not. */
bool tool_search_run(struct tool_search *search, uint64_t value, uint32_t depth,
                     tool_search_take take, void *context);

/* -- context_prefixes.c -- */
void tool_search_make_prefixes(struct tool_search *search);
/* Prefixes with that value, from *at on, which is 0 at first; NULL: no more. */
const struct tool_search_prefix *tool_search_prefix_at(const struct tool_search *search,
                                                       uint64_t value, size_t *at);
/* Two bits of one word say that a prefix may have the value. */
static inline uint64_t *tool_search_word(const struct tool_search *search, uint64_t value)
{
    return &search->filter[value * TTAPE_CONTEXT_FACTOR >> 20 & search->filter_mask];
}
static inline uint64_t tool_search_bits(uint64_t value)
{
    uint64_t mixed = value * TTAPE_CONTEXT_FACTOR >> 52;
    return (uint64_t)1 << (mixed & 63) | (uint64_t)1 << (mixed >> 6);
}
static inline bool tool_search_may_be(const struct tool_search *search, uint64_t value)
{
    uint64_t bits = tool_search_bits(value);
    return (*tool_search_word(search, value) & bits) == bits;
}

static inline void tool_search_put(struct tool_search_queue *queue, uint32_t number, uint32_t cost)
{
    queue->next[number] = queue->heads[cost];
    queue->heads[cost] = number + 1;
    queue->lowest = cost < queue->lowest ? cost : queue->lowest;
}

/* A cheapest one, which leaves its list; false: none is left. */
static inline bool tool_search_pull(struct tool_search_queue *queue, uint32_t *number)
{
    while (queue->lowest <= TOOL_SEARCH_COST_MAX && queue->heads[queue->lowest] == 0)
        queue->lowest++;
    if (queue->lowest > TOOL_SEARCH_COST_MAX)
        return false;
    *number = queue->heads[queue->lowest] - 1;
    queue->heads[queue->lowest] = queue->next[*number];
    return true;
}

/* -- context_rests.c -- */
void tool_rests_open(struct tool_rests *rests, const struct tool_rows *outwards, size_t functions);
/* What the functions around one cost at least, where so many are left. */
uint32_t tool_rest_of(const struct tool_search *search, uint32_t function, uint32_t left);
/* As tool_rows_next, the cheapest whole stack first. */
bool tool_rests_next(struct tool_search *search, struct tool_row_place *place, uint32_t left,
                     struct tool_row_next *next);

#endif

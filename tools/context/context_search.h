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

#include "tools/callgraph/edges.h"

#define TOOL_SEARCH_NEWS_MAX   3u
#define TOOL_SEARCH_COST_BIT   8u                         /* costs are in eighths of a bit */
#define TOOL_SEARCH_COST_OTHER (2 * TOOL_SEARCH_COST_BIT) /* two calls that none shows together */
#define TOOL_SEARCH_COST_MAX   2047u /* a suffix that costs more is not followed */

/* A call by way of which a function is reached, or which it makes. */
struct tool_search_way {
    uint32_t other; /* the caller, or the callee */
    uint16_t cost;
    uint8_t is_new; /* no trace shows it */
};

/* Of the calls that lead to a caller, one that was seen in front of a certain call of its. */
struct tool_search_after {
    uint32_t way; /* that leads to the caller */
    uint16_t cost;
};

struct tool_search_prefix {
    uint64_t value;
    uint32_t around, function;
    uint16_t depth, cost;
    uint8_t news;
};

/* A suffix: a function, and the suffix that it calls. */
struct tool_search_node {
    uint64_t value; /* of the rest */
    uint32_t function, way, inner, next, left;
    uint16_t cost;
    uint8_t news;
};

struct tool_search_options {
    ttape_context_operation operation;
    uint32_t news_most; /* calls that no trace shows, in one stack */
    size_t prefixes_most, nodes_most;
};

struct tool_search {
    const struct tool_edges *edges;
    struct tool_search_options options;
    struct tool_search_way *ins, *outs; /* by function, from first on, sorted by the other */
    uint32_t *in_first, *out_first;
    struct tool_search_after *afters; /* by way of ins */
    uint32_t *after_first;
    struct tool_search_way *befores; /* by way of ins that leads to a caller: what it then calls */
    uint32_t *before_first;
    struct tool_search_prefix *prefixes;
    size_t prefix_count;
    uint32_t *places;
    uint64_t *filter;
    size_t place_mask, filter_mask;
    uint32_t complete_depth; /* up to there all prefixes are there */
    uint16_t *rests; /* by depth, then function: what the cheapest calls cost that lead to it */
    uint32_t rest_depths;
    struct tool_search_node *nodes;
    size_t node_count;
    uint64_t looked; /* suffixes of the last run */
};

/* One stack: its functions, outermost first. */
struct tool_search_found {
    const uint32_t *functions;
    uint32_t depth, cost;
    uint32_t news;    /* calls that no trace shows */
    uint32_t unknown; /* of these, calls that no graph has */
};
typedef void (*tool_search_take)(void *context, const struct tool_search_found *found);

/* The graph lives until close. */
void tool_search_open(struct tool_search *search, const struct tool_edges *edges,
                      const struct tool_search_options *options);
void tool_search_close(struct tool_search *search);

/* Calls `take` for stacks that have the value, some several times. `depth`: UINT32_MAX is any.
 * Returns whether everything within the bounds was looked at. */
bool tool_search_run(struct tool_search *search, uint64_t value, uint32_t depth,
                     tool_search_take take, void *context);

/* -- context_prefixes.c -- */
void tool_search_make_prefixes(struct tool_search *search);
/* Prefixes with that value, from *at on, which is 0 at first; NULL: no more. */
const struct tool_search_prefix *tool_search_prefix_at(const struct tool_search *search,
                                                       uint64_t value, size_t *at);
static inline bool tool_search_may_be(const struct tool_search *search, uint64_t value)
{
    uint64_t place = value * TTAPE_CONTEXT_FACTOR >> 20 & search->filter_mask;
    return (search->filter[place / 64] >> place % 64 & 1) != 0;
}

/* The way in `ins` from one function to another; UINT32_MAX: there is none. */
uint32_t tool_search_find_way(const struct tool_search *search, uint32_t from, uint32_t to);

/* What a share of a whole costs. */
uint32_t tool_search_cost(uint64_t part, uint64_t whole);

#endif

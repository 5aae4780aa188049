/* Stacks of many calls, behind the search's first steps: a table of prefixes that has their hashes
 * only, and suffixes in rounds that need no memory.
 *
 *     graph --deep_hubs.c---> hubs: each recursion has one
 *           --deep_table.c--> a table of likely prefixes that end in a hub; how much it has of what
 *                             ends in a hub at a depth; what a suffix costs at least until a rest
 *                             may be in it
 *     value --deep_rounds.c-> suffixes, as far as that; where the table has the rest, its prefix is
 *                             searched as that of a value */
#ifndef TOOL_DEEP_H
#define TOOL_DEEP_H

#include "program/context/way_order.h"

struct tool_deep {
    struct ttp_region *region;
    const ttape_watch *watch;
    const struct tool_rows *outwards, *inwards;
    const struct tool_edges *edges;
    uint32_t news_most;
    bool *hubs;
    uint64_t *ids; /* of functions */
    uint32_t *slots;
    size_t line_count;
    uint32_t depths;    /* below this */
    size_t state_count; /* a row, or a function behind no row */
    uint16_t *covered;  /* by depth, then function: what it costs that the table has it */
    uint16_t *looks;    /* by depth that is left, then state: the cheapest look there */
    uint16_t *rests;    /* likewise: the cheapest look there or further outwards */
    size_t prefix_count;
    uint32_t prefix_cost;        /* of the dearest */
    struct tool_way_order order; /* of ways; of none where traces say what is likely */
};

/* A suffix that the table has a rest for. */
struct tool_deep_found {
    const uint32_t *functions; /* innermost first */
    uint32_t count;
    uint64_t value; /* of the rest */
    uint32_t left;
};
/* Returns whether to go on. */
typedef bool (*tool_deep_take)(void *context, const struct tool_deep_found *found);

/* -- deep_hubs.c -- */
void tool_deep_choose_hubs(struct ttp_region *region, bool *hubs, const struct tool_edges *edges);

/* -- deep_table.c -- */
/* It takes its memory from the rows' region: where that is short, there is no table. */
void tool_deep_open(struct tool_deep *deep, const struct tool_edges *edges,
                    const struct tool_rows *outwards, const struct tool_rows *inwards,
                    uint32_t news_most, size_t bytes);

static inline size_t tool_deep_state(const struct tool_deep *deep, uint32_t function, uint32_t row)
{
    return row != TOOL_ROW_NONE ? row : deep->outwards->row_count + function;
}

/* Sixteen hashes of a line of the cache. */
#define TOOL_DEEP_LINE 16u
static inline uint64_t tool_deep_hash(uint64_t value)
{
    return (value ^ value >> 32) * UINT64_C(0xD6E8FEB86659FD93);
}
static inline uint32_t *tool_deep_line(const struct tool_deep *deep, uint64_t value)
{
    uint64_t high = tool_deep_hash(value) >> 32;
    return deep->slots + (high * deep->line_count >> 32) * TOOL_DEEP_LINE;
}
static inline bool tool_deep_has(const struct tool_deep *deep, uint64_t value)
{
    const uint32_t *line = tool_deep_line(deep, value);
    uint32_t hash = (uint32_t)tool_deep_hash(value) | 1, found = 0;
    for (uint32_t i = 0; i < TOOL_DEEP_LINE; i++)
        found |= line[i] == hash;
    return found != 0;
}

/* -- deep_rounds.c -- */
/* Looks at so many suffixes of a value of that depth; `costs` by innermost function. Returns how
 * many it looked at. */
uint64_t tool_deep_run(const struct tool_deep *deep, uint64_t value, uint32_t depth,
                       const uint32_t *costs, uint64_t looks_most, tool_deep_take take,
                       void *context);

#endif

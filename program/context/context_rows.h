/* How likely is which call next, read along stacks in one direction: by the longest row of calls
 * just read that a trace shows, then by shorter ones, then by what no trace shows.
 *
 *     contexts --tool_rows_add--> rows, each with what came next and how often
 *              --tool_rows_weigh--> the likeliest first, with costs
 *     a search --tool_rows_next--> what may come next, one by one */
#ifndef TOOL_CONTEXT_ROWS_H
#define TOOL_CONTEXT_ROWS_H

#include "base/region.h"
#include "program/callgraph/edges.h"

#define TOOL_ROW_CALLS       3u  /* functions in the longest row */
#define TOOL_ROW_CALLS_OUT   2u  /* read outwards */
#define TOOL_SEARCH_COST_BIT 16u /* costs are in parts of a bit */
#define TOOL_ROW_NONE        UINT32_MAX

/* What came behind a row. */
struct tool_row_entry {
    uint64_t weight;
    uint32_t row, function;
    uint32_t next; /* the row that is read then */
};

/* What may come behind a row: what did, and what came behind shorter ones. */
struct tool_row_call {
    uint32_t function, row;
    float chance;
    uint16_t cost;
};

struct tool_row {
    uint64_t weight;
    uint32_t first, count; /* of its calls, the likeliest first */
    uint32_t shorter;      /* without what was read first; TOOL_ROW_NONE of the empty one */
    uint32_t function;     /* that was read last */
    uint16_t length, escape;
};

/* A call that no trace shows, by the function that was read last. */
struct tool_row_way {
    uint32_t other;
    uint16_t cost;
    uint8_t is_new;
};

struct tool_rows {
    struct ttp_region *region; /* of all that is here */
    struct tool_row *rows;     /* the first one is empty */
    size_t row_count, row_capacity;
    struct tool_row_entry *entries;
    size_t entry_count, entry_capacity;
    struct tool_row_call *calls;
    size_t call_count, call_capacity;
    struct ttp_key_map by_step; /* row << 32 | function: its entry, plus 1 */
    uint32_t *of_function;      /* the row of that function alone */
    struct tool_row_way *ways;
    uint32_t *way_first; /* by function */
};

/* Where a search is in what may come next. */
struct tool_row_place {
    uint32_t function; /* that was read last */
    uint32_t row, at;
};

struct tool_row_next {
    uint32_t function, row, cost;
    bool is_new;
};

/* Rows of contexts read outwards (what called?) or inwards (what was called?), and the ways of
 * edges that no context has. They live as long as the region; where that is short afterwards, they
 * mean nothing. */
void tool_rows_open(struct tool_rows *rows, struct ttp_region *region,
                    const struct tool_edges *edges, bool outwards);

/* What may come next, one by one; false: nothing is left. */
static inline bool tool_rows_next(const struct tool_rows *rows, struct tool_row_place *place,
                                  struct tool_row_next *next)
{
    static const struct tool_row none = {0};
    const struct tool_row *row = place->row == TOOL_ROW_NONE ? &none : &rows->rows[place->row];
    if (place->at < row->count) {
        const struct tool_row_call *call = &rows->calls[row->first + place->at++];
        *next = (struct tool_row_next){call->function, call->row, call->cost, false};
        return true;
    }
    uint32_t at = rows->way_first[place->function] + place->at - row->count;
    for (; at < rows->way_first[place->function + 1]; at++) {
        const struct tool_row_way *way = &rows->ways[at];
        place->at++;
        if (way->other == TOOL_EDGES_OUTSIDE)
            continue;
        *next = (struct tool_row_next){way->other, rows->of_function[way->other],
                                       (uint32_t)row->escape + way->cost, way->is_new != 0};
        return true;
    }
    return false;
}

/* What a trace shows of a function behind a row. */
struct tool_row_next tool_rows_read(const struct tool_rows *rows, uint32_t row, uint32_t function);

/* What a share of a whole costs; what a chance does; the chance that costs so much. */
uint32_t tool_search_cost(uint64_t part, uint64_t whole);
uint32_t tool_search_cost_of(double chance);
double tool_search_chance(uint32_t cost);

#endif

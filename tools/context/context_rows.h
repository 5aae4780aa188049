/* How likely is which call next, read along stacks in one direction: by the longest row of calls
 * just read that a trace shows, then by shorter ones, then by what no trace shows.
 *
 *     contexts --tool_rows_add--> rows, each with what came next and how often
 *              --tool_rows_weigh--> the likeliest first, with costs
 *     a search --tool_rows_next--> what may come next, one by one */
#ifndef TOOL_CONTEXT_ROWS_H
#define TOOL_CONTEXT_ROWS_H

#include "tools/callgraph/edges.h"

#define TOOL_ROW_CALLS       2u /* functions in the longest row */
#define TOOL_SEARCH_COST_BIT 8u /* costs are in eighths of a bit */
#define TOOL_ROW_NONE        UINT32_MAX

/* What came behind a row. */
struct tool_row_entry {
    uint64_t weight;
    uint32_t row, function;
    uint32_t next; /* the row that is read then */
    uint16_t cost;
};

struct tool_row {
    uint64_t weight;
    uint32_t first, count; /* of its entries */
    uint32_t shorter;      /* without what was read first; TOOL_ROW_NONE of the empty one */
    uint16_t length, escape;
};

/* A call that no trace shows, by the function that was read last. */
struct tool_row_way {
    uint32_t other;
    uint16_t cost;
    uint8_t is_new;
};

struct tool_rows {
    struct tool_row *rows; /* the first one is empty */
    size_t row_count, row_capacity;
    struct tool_row_entry *entries;
    size_t entry_count, entry_capacity;
    struct tool_map by_step; /* row << 32 | function: its entry, plus 1 */
    uint32_t *of_function;   /* the row of that function alone */
    struct tool_row_way *ways;
    uint32_t *way_first; /* by function */
};

/* Where a search is in what may come next. */
struct tool_row_place {
    uint32_t function; /* that was read last */
    uint32_t row, at;
    uint16_t cost; /* of having come to shorter rows */
    uint8_t shorter;
};

struct tool_row_next {
    uint32_t function, row, cost;
    bool is_new;
};

/* Rows of contexts read outwards (what called?) or inwards (what was called?), and the ways of
 * edges that no context has. */
void tool_rows_open(struct tool_rows *rows, const struct tool_edges *edges, bool outwards);
void tool_rows_close(struct tool_rows *rows);
/* False: nothing is left. */
bool tool_rows_next(const struct tool_rows *rows, struct tool_row_place *place,
                    struct tool_row_next *next);

/* What a trace shows of a function behind a row: the longest row then, and the cost. */
struct tool_row_next tool_rows_read(const struct tool_rows *rows, uint32_t row, uint32_t function);

/* What a share of a whole costs. */
uint32_t tool_search_cost(uint64_t part, uint64_t whole);

#endif

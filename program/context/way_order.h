/* Where no trace says what is likely, a function has hundreds of callers that cost the same: which
 * come first is known by what stacks, or looks, cost behind them, of as many functions as are
 * left. Ways are put in order when they are asked for. */
#ifndef TOOL_WAY_ORDER_H
#define TOOL_WAY_ORDER_H

#include "program/context/context_rows.h"

struct tool_way_order {
    const struct tool_rows *rows;
    size_t functions;
    uint32_t depths;   /* that are left, below which ways are in order; 0: none are */
    uint32_t **orders; /* by depth: ways, each function's from the cheapest whole on */
    uint64_t *sorted;  /* bits, by depth, then function: its ways are in order */
};

/* It takes its memory from the rows' region; where that is short, nothing is in order. */
void tool_way_order_open(struct tool_way_order *order, const struct tool_rows *rows,
                         size_t functions, uint32_t depths);

/* As tool_rows_next, of a function behind no row, the cheapest whole first. left: below depths;
 * rests: by function, what comes behind it costs, always the same of one `left`. */
bool tool_way_order_next(const struct tool_way_order *order, const uint16_t *rests, uint32_t left,
                         struct tool_row_place *place, struct tool_row_next *next);

#endif

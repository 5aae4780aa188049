/* Where no trace says what is likely, a function has hundreds of callers that cost the same, most
 * of which lead to no look for less: which come first is known by what looks cost behind them. */
#include <stdlib.h>

#include "tools/context/deep/deep.h"

#define WAYS_MOST 524288u /* of all functions */

struct whole {
    uint32_t cost, way;
};

void tool_deep_order_open(struct tool_deep *deep)
{
    const struct tool_rows *rows = deep->outwards;
    size_t functions = deep->edges->function_count;
    if (deep->edges->context_count > 1 || rows->way_first[functions] > WAYS_MOST)
        return;
    deep->orders = tool_allocate(TOOL_DEEP_ORDERED, sizeof *deep->orders);
    deep->sorted = tool_allocate(TOOL_DEEP_ORDERED * functions / 64 + 1, sizeof *deep->sorted);
}

void tool_deep_order_close(struct tool_deep *deep)
{
    for (uint32_t i = 0; deep->orders != NULL && i < TOOL_DEEP_ORDERED; i++)
        free(deep->orders[i]);
    free(deep->orders);
    free(deep->sorted);
}

static int compare_wholes(const void *a, const void *b)
{
    const struct whole *one = a, *other = b;
    if (one->cost != other->cost)
        return one->cost < other->cost ? -1 : 1;
    return one->way < other->way ? -1 : one->way > other->way;
}

static void sort(const struct tool_deep *deep, uint32_t function, uint32_t left, uint32_t *order)
{
    const struct tool_rows *rows = deep->outwards;
    uint32_t first = rows->way_first[function], count = rows->way_first[function + 1] - first;
    const uint16_t *rests = deep->rests + (left - 1) * deep->state_count;
    struct whole *wholes = tool_allocate(count + 1u, sizeof *wholes);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t other = rows->ways[first + i].other;
        wholes[i] = (struct whole){
            .way = first + i,
            .cost = rows->ways[first + i].cost +
                    (uint32_t)rests[tool_deep_state(deep, other, rows->of_function[other])]};
    }
    if (count > 0)
        qsort(wholes, count, sizeof *wholes, compare_wholes);
    for (uint32_t i = 0; i < count; i++)
        order[i] = wholes[i].way;
    free(wholes);
}

bool tool_deep_order_next(const struct tool_deep *deep, struct tool_row_place *place, uint32_t left,
                          struct tool_row_next *next)
{
    const struct tool_rows *rows = deep->outwards;
    size_t functions = deep->edges->function_count, bit = left * functions + place->function;
    uint32_t first = rows->way_first[place->function];
    if (deep->orders[left] == NULL)
        deep->orders[left] =
            tool_allocate(rows->way_first[functions] + 1u, sizeof *deep->orders[left]);
    uint32_t *order = deep->orders[left] + first;
    if ((deep->sorted[bit / 64] >> bit % 64 & 1) == 0)
        sort(deep, place->function, left, order);
    deep->sorted[bit / 64] |= (uint64_t)1 << bit % 64;
    while (first + place->at < rows->way_first[place->function + 1]) {
        const struct tool_row_way *way = &rows->ways[order[place->at++]];
        if (way->other == TOOL_EDGES_OUTSIDE)
            continue;
        *next = (struct tool_row_next){way->other, rows->of_function[way->other], way->cost,
                                       way->is_new != 0};
        return true;
    }
    return false;
}

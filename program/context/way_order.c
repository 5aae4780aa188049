#include "program/context/way_order.h"

#include <stdlib.h>

struct whole {
    uint32_t cost, way;
};

void tool_way_order_open(struct tool_way_order *order, const struct tool_rows *rows,
                         size_t functions, uint32_t depths)
{
    *order = (struct tool_way_order){.rows = rows, .functions = functions, .depths = depths};
    if (depths == 0)
        return;
    order->orders = ttp_region_take(rows->region, depths, sizeof *order->orders);
    order->sorted =
        ttp_region_take(rows->region, functions * depths / 64 + 1, sizeof *order->sorted);
    if (rows->region->is_short)
        order->depths = 0;
}

static int compare_wholes(const void *a, const void *b)
{
    const struct whole *one = a, *other = b;
    if (one->cost != other->cost)
        return one->cost < other->cost ? -1 : 1;
    return one->way < other->way ? -1 : one->way > other->way;
}

static void sort(const struct tool_way_order *order, const uint16_t *rests, uint32_t function,
                 uint32_t *ways)
{
    const struct tool_rows *rows = order->rows;
    uint32_t first = rows->way_first[function], count = rows->way_first[function + 1] - first;
    struct whole *wholes = ttp_region_take(rows->region, count + 1u, sizeof *wholes);
    for (uint32_t i = 0; wholes != NULL && i < count; i++) {
        const struct tool_row_way *way = &rows->ways[first + i];
        wholes[i] = (struct whole){(uint32_t)way->cost + rests[way->other], first + i};
    }
    if (wholes != NULL && count > 0)
        qsort(wholes, count, sizeof *wholes, compare_wholes);
    for (uint32_t i = 0; i < count; i++)
        ways[i] = wholes != NULL ? wholes[i].way : first + i;
    ttp_region_give(rows->region, wholes);
}

bool tool_way_order_next(const struct tool_way_order *order, const uint16_t *rests, uint32_t left,
                         struct tool_row_place *place, struct tool_row_next *next)
{
    const struct tool_rows *rows = order->rows;
    uint32_t first = rows->way_first[place->function], end = rows->way_first[place->function + 1];
    size_t bit = left * order->functions + place->function;
    if (order->orders[left] == NULL)
        order->orders[left] = ttp_region_take(rows->region, rows->way_first[order->functions] + 1u,
                                              sizeof *order->orders[left]);
    if (order->orders[left] == NULL)
        return false;
    uint32_t *ways = order->orders[left] + first;
    if ((order->sorted[bit / 64] >> bit % 64 & 1) == 0)
        sort(order, rests, place->function, ways);
    order->sorted[bit / 64] |= (uint64_t)1 << bit % 64;
    while (place->at < end - first) {
        const struct tool_row_way *way = &rows->ways[ways[place->at++]];
        if (way->other == TOOL_EDGES_OUTSIDE)
            continue;
        *next = (struct tool_row_next){way->other, rows->of_function[way->other], way->cost,
                                       way->is_new != 0};
        return true;
    }
    return false;
}

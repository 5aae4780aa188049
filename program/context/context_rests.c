/* Where no trace says what is likely: suffixes whose rest leads cheaply to the outermost function,
 * at the depth that is left, come first. */
#include "program/context/context_search.h"

#define REST_DEPTHS 64u
#define REST_CELLS  (8u << 20)
#define REST_MOST   (24 * TOOL_SEARCH_COST_BIT) /* of a rest that no known calls make */

void tool_rests_open(struct tool_rests *rests, const struct tool_rows *outwards, size_t functions)
{
    uint32_t depths =
        REST_CELLS / functions < REST_DEPTHS ? (uint32_t)(REST_CELLS / functions) : REST_DEPTHS;
    rests->costs = ttp_region_take(outwards->region, functions * depths + 1, sizeof *rests->costs);
    tool_way_order_open(&rests->order, outwards, functions, depths);
    if (outwards->region->is_short)
        return;
    for (uint32_t depth = 0; depth < depths; depth++) {
        uint16_t *costs = rests->costs + depth * functions;
        for (size_t f = 0; f < functions; f++) {
            uint32_t least = UINT16_MAX;
            for (uint32_t i = outwards->way_first[f]; i < outwards->way_first[f + 1]; i++) {
                const struct tool_row_way *way = &outwards->ways[i];
                uint32_t cost = way->cost;
                if ((depth == 0) != (way->other == TOOL_EDGES_OUTSIDE))
                    continue;
                cost += depth > 0 ? (costs - functions)[way->other] : 0u;
                least = cost < least ? cost : least;
            }
            costs[f] = (uint16_t)least;
        }
    }
    for (size_t i = 0; i < functions * depths; i++)
        rests->costs[i] = rests->costs[i] < REST_MOST ? rests->costs[i] : REST_MOST;
}

uint32_t tool_rest_of(const struct tool_search *search, uint32_t function, uint32_t left)
{
    const struct tool_rests *rests = &search->rests;
    if (left == UINT32_MAX || rests->order.depths == 0)
        return 0;
    uint32_t depth = left < rests->order.depths ? left : rests->order.depths - 1;
    return rests->costs[depth * search->edges->function_count + function];
}

bool tool_rests_next(struct tool_search *search, struct tool_row_place *place, uint32_t left,
                     struct tool_row_next *next)
{
    const struct tool_rests *rests = &search->rests;
    if (left >= rests->order.depths)
        return tool_rows_next(&search->outwards, place, next);
    const uint16_t *costs =
        rests->costs + (left > 0 ? left - 1 : 0) * search->edges->function_count;
    return tool_way_order_next(&rests->order, costs, left, place, next);
}

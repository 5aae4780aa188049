/* Where no trace says what is likely: suffixes whose rest leads cheaply to the outermost function,
 * at the depth that is left, come first. */
#include <stdlib.h>

#include "tools/context/context_search.h"

#define REST_DEPTHS 64u
#define REST_CELLS  (8u << 20)
#define REST_MOST   (24 * TOOL_SEARCH_COST_BIT) /* of a rest that no known calls make */

void tool_rests_open(struct tool_rests *rests, const struct tool_rows *outwards, size_t functions)
{
    uint32_t depths =
        REST_CELLS / functions < REST_DEPTHS ? (uint32_t)(REST_CELLS / functions) : REST_DEPTHS;
    *rests = (struct tool_rests){.depths = depths};
    rests->costs = tool_allocate(functions * depths + 1, sizeof *rests->costs);
    rests->orders = tool_allocate(depths + 1, sizeof *rests->orders);
    rests->sorted = tool_allocate(functions * depths / 64 + 1, sizeof *rests->sorted);
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
}

void tool_rests_close(struct tool_rests *rests)
{
    for (uint32_t i = 0; i < rests->depths; i++)
        free(rests->orders[i]);
    free(rests->orders);
    free(rests->costs);
    free(rests->sorted);
}

uint32_t tool_rest_of(const struct tool_search *search, uint32_t function, uint32_t left)
{
    const struct tool_rests *rests = &search->rests;
    if (left == UINT32_MAX || rests->depths == 0)
        return 0;
    uint32_t depth = left < rests->depths ? left : rests->depths - 1;
    uint32_t cost = rests->costs[depth * search->edges->function_count + function];
    return cost < REST_MOST ? cost : REST_MOST;
}

struct whole {
    uint32_t cost, way;
};

static int compare_wholes(const void *a, const void *b)
{
    const struct whole *one = a, *other = b;
    if (one->cost != other->cost)
        return one->cost < other->cost ? -1 : 1;
    return one->way < other->way ? -1 : one->way > other->way;
}

/* Puts a function's ways in order. */
static void sort(struct tool_search *search, uint32_t function, uint32_t left, uint32_t *order)
{
    const struct tool_rows *rows = &search->outwards;
    uint32_t first = rows->way_first[function], count = rows->way_first[function + 1] - first;
    struct whole *wholes = tool_allocate(count + 1u, sizeof *wholes);
    for (uint32_t i = 0; i < count; i++)
        wholes[i] = (struct whole){
            .way = first + i,
            .cost = rows->ways[first + i].cost +
                    tool_rest_of(search, rows->ways[first + i].other, left > 0 ? left - 1 : 0)};
    if (count > 0)
        qsort(wholes, count, sizeof *wholes, compare_wholes);
    for (uint32_t i = 0; i < count; i++)
        order[first + i] = wholes[i].way;
    free(wholes);
}

bool tool_rests_next(struct tool_search *search, struct tool_row_place *place, uint32_t left,
                     struct tool_row_next *next)
{
    struct tool_rests *rests = &search->rests;
    const struct tool_rows *rows = &search->outwards;
    if (left >= rests->depths)
        return tool_rows_next(rows, place, next);
    uint32_t count = rows->way_first[place->function + 1];
    size_t bit = left * search->edges->function_count + place->function;
    if (rests->orders[left] == NULL)
        rests->orders[left] = tool_allocate(rows->way_first[search->edges->function_count] + 1u,
                                            sizeof **rests->orders);
    if ((rests->sorted[bit / 64] >> bit % 64 & 1) == 0)
        sort(search, place->function, left, rests->orders[left]);
    rests->sorted[bit / 64] |= (uint64_t)1 << bit % 64;
    while (rows->way_first[place->function] + place->at < count) {
        const struct tool_row_way *way =
            &rows->ways[rests->orders[left][rows->way_first[place->function] + place->at++]];
        if (way->other == TOOL_EDGES_OUTSIDE)
            continue;
        *next = (struct tool_row_next){way->other, rows->of_function[way->other], way->cost,
                                       way->is_new != 0};
        return true;
    }
    return false;
}

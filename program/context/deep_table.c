/* The table of likely prefixes that end in a hub. */
#include "program/context/deep.h"

#include <string.h>
#include <sys/mman.h>

#define DEPTHS_MOST    128u
#define COSTS          (40 * TOOL_SEARCH_COST_BIT) /* of a prefix, below this */
#define FILL_EIGHTS    6u                          /* of a line's slots that are used */
#define RING           32u                         /* prefixes whose line is on its way */
#define PAGE_BYTES     (UINT64_C(2) << 20)
#define NONE           UINT16_MAX
#define ORDERED_DEPTHS 32u
#define WAYS_MOST      524288u /* of all functions, whose orders take two megabytes a depth */

/* A prefix that is made longer. */
struct frame {
    struct tool_row_place place;
    uint64_t value;
    uint32_t cost, news;
};

struct filling {
    struct tool_deep *deep;
    struct frame frames[DEPTHS_MOST];
    uint64_t ring[RING];
    size_t ring_count;
    double *masses; /* by depth, then function */
    float *chances; /* by cost */
};

static size_t inward_state(const struct tool_deep *deep, uint32_t function, uint32_t row)
{
    return row != TOOL_ROW_NONE ? row : deep->inwards->row_count + function;
}

static struct tool_row_place place_of(const struct tool_rows *rows, size_t state)
{
    if (state < rows->row_count)
        return (struct tool_row_place){rows->rows[state].function, (uint32_t)state, 0};
    return (struct tool_row_place){(uint32_t)(state - rows->row_count), TOOL_ROW_NONE, 0};
}

/* What prefixes may cost, so that so many end in a hub, of which there may be fewer: how many of
 * each cost end in each state. */
static uint32_t most_cost(const struct tool_deep *deep, size_t *prefixes)
{
    size_t states = deep->inwards->row_count + deep->edges->function_count;
    uint32_t root = deep->inwards->of_function[TOOL_EDGES_OUTSIDE], cost = 0;
    float *counts = ttp_region_take(deep->region, states * COSTS, sizeof *counts);
    double whole = 0;
    if (counts == NULL)
        return 0;
    counts[inward_state(deep, TOOL_EDGES_OUTSIDE, root)] = 1;
    for (; cost < COSTS && whole < (double)*prefixes; cost++) {
        for (size_t s = 0; s < states; s++) {
            float count = counts[cost * states + s];
            struct tool_row_place place = place_of(deep->inwards, s);
            struct tool_row_next next;
            if (count == 0)
                continue;
            whole += deep->hubs[place.function] ? count : 0;
            while (tool_rows_next(deep->inwards, &place, &next)) {
                uint32_t then = cost + (next.cost > 0 ? next.cost : 1);
                if (then >= COSTS)
                    break;
                counts[then * states + inward_state(deep, next.function, next.row)] += count;
            }
        }
    }
    ttp_region_give(deep->region, counts);
    if (whole < (double)*prefixes) {
        *prefixes = (size_t)whole + 1;
        return COSTS - 1;
    }
    return cost > 1 ? cost - 2 : 0;
}

static void insert(struct tool_deep *deep, uint64_t value)
{
    uint32_t *line = tool_deep_line(deep, value), hash = (uint32_t)tool_deep_hash(value) | 1;
    for (uint32_t i = 0; i < TOOL_DEEP_LINE; i++)
        if (line[i] == 0 || line[i] == hash) {
            deep->prefix_count += line[i] == 0;
            line[i] = hash;
            return;
        }
}

/* Takes a prefix into the table when its line is there. */
static void take_prefix(struct filling *filling, const struct frame *frame, uint32_t depth)
{
    struct tool_deep *deep = filling->deep;
    uint64_t *place = &filling->ring[filling->ring_count % RING];
    if (filling->ring_count++ >= RING)
        insert(deep, *place);
    *place = frame->value;
    __builtin_prefetch(tool_deep_line(deep, frame->value), 1);
    filling->masses[depth * deep->edges->function_count + frame->place.function] +=
        (double)filling->chances[frame->cost];
}

static void fill_table(struct filling *filling)
{
    struct tool_deep *deep = filling->deep;
    uint32_t depth = 0;
    filling->frames[0] =
        (struct frame){.place = {.row = deep->inwards->of_function[TOOL_EDGES_OUTSIDE]}};
    for (;;) {
        struct frame *frame = &filling->frames[depth];
        struct tool_row_next next;
        if (depth + 1 == deep->depths || !tool_rows_next(deep->inwards, &frame->place, &next) ||
            frame->cost + next.cost > deep->prefix_cost) {
            if (depth-- == 0)
                break;
            continue;
        }
        uint32_t news = frame->news + next.is_new;
        if (news > deep->news_most)
            continue;
        struct frame *inner = &filling->frames[++depth];
        *inner = (struct frame){.place = {.function = next.function, .row = next.row},
                                .value = ttape_context_enter(TTAPE_CONTEXT_AFFINE, frame->value,
                                                             deep->ids[next.function]),
                                .cost = frame->cost + next.cost,
                                .news = news};
        if (deep->hubs[next.function])
            take_prefix(filling, inner, depth);
        if (filling->ring_count > deep->line_count * TOOL_DEEP_LINE)
            break;
    }
    size_t kept = filling->ring_count < RING ? filling->ring_count : RING;
    for (size_t i = 0; i < kept; i++)
        insert(deep, filling->ring[i]);
}

/* How often stacks have each function at each depth, of those that begin. */
static double *all_masses(const struct tool_deep *deep)
{
    const struct tool_rows *rows = deep->inwards;
    size_t functions = deep->edges->function_count, states = rows->row_count + functions;
    double *masses = ttp_region_take(deep->region, functions + 1, sizeof *masses);
    double *now = ttp_region_take(deep->region, states, sizeof *now);
    double *then = ttp_region_take(deep->region, states, sizeof *then);
    if (deep->region->is_short)
        return NULL;
    now[inward_state(deep, TOOL_EDGES_OUTSIDE, rows->of_function[TOOL_EDGES_OUTSIDE])] = 1;
    for (uint32_t depth = 1; depth < deep->depths; depth++) {
        memset(then, 0, states * sizeof *then);
        for (size_t s = 0; s < states; s++) {
            struct tool_row_place place = place_of(rows, s);
            struct tool_row_next next;
            while (now[s] > 1e-9 && tool_rows_next(rows, &place, &next)) {
                double mass = now[s] * tool_search_chance(next.cost);
                masses[next.function] += mass;
                then[inward_state(deep, next.function, next.row)] += mass;
            }
        }
        double *other = now;
        now = then;
        then = other;
    }
    ttp_region_give(deep->region, now);
    ttp_region_give(deep->region, then);
    return masses;
}

static void cover(struct filling *filling)
{
    struct tool_deep *deep = filling->deep;
    size_t functions = deep->edges->function_count;
    double *all = all_masses(deep);
    for (size_t i = 0; all != NULL && i < functions * deep->depths; i++) {
        double mass = filling->masses[i], whole = all[i % functions];
        deep->covered[i] = NONE;
        if (mass > 0)
            deep->covered[i] = (uint16_t)tool_search_cost_of(mass < whole ? mass / whole : 1);
    }
    deep->covered[TOOL_EDGES_OUTSIDE] = NONE;
    ttp_region_give(deep->region, all);
}

static uint32_t sum(uint32_t cost, uint16_t rest)
{
    return rest == NONE || cost + rest >= NONE ? NONE : cost + rest;
}

static void weigh_looks(struct tool_deep *deep)
{
    const struct tool_rows *rows = deep->outwards;
    size_t functions = deep->edges->function_count;
    for (uint32_t left = 0; left < deep->depths; left++)
        for (size_t s = 0; s < deep->state_count; s++) {
            uint32_t look = NONE, rest = NONE, cost;
            struct tool_row_place place = place_of(rows, s);
            struct tool_row_next next;
            while (left > 0 && tool_rows_next(rows, &place, &next)) {
                cost = sum(next.cost, deep->covered[left * functions + next.function]);
                look = cost < look ? cost : look;
                cost = sum(next.cost, deep->rests[(left - 1) * deep->state_count +
                                                  tool_deep_state(deep, next.function, next.row)]);
                rest = cost < rest ? cost : rest;
            }
            deep->looks[left * deep->state_count + s] = (uint16_t)look;
            deep->rests[left * deep->state_count + s] = (uint16_t)(look < rest ? look : rest);
        }
}

/* A table for so many prefixes, lines at lines of the cache. */
static void make_slots(struct tool_deep *deep, size_t prefixes)
{
    size_t line_bytes = TOOL_DEEP_LINE * sizeof *deep->slots;
    deep->line_count = prefixes * 8 / FILL_EIGHTS / TOOL_DEEP_LINE + 1;
    void *memory = ttp_region_take(deep->region, deep->line_count + 1, line_bytes);
    if (memory == NULL)
        return;
    uintptr_t begin = ((uintptr_t)memory + line_bytes - 1) & ~(uintptr_t)(line_bytes - 1);
    deep->slots = (uint32_t *)begin;
#ifdef MADV_HUGEPAGE /* a look in another page each time */
    uintptr_t page = (begin + PAGE_BYTES - 1) & ~(uintptr_t)(PAGE_BYTES - 1);
    size_t size = deep->line_count * line_bytes;
    if (size > page - begin)
        (void)madvise((void *)page, size - (page - begin), MADV_HUGEPAGE);
#endif
}

static void make_filling(struct filling *filling)
{
    size_t cells = filling->deep->edges->function_count * filling->deep->depths;
    struct ttp_region *region = filling->deep->region;
    filling->masses = ttp_region_take(region, cells, sizeof *filling->masses);
    filling->chances = ttp_region_take(region, COSTS, sizeof *filling->chances);
    for (uint32_t i = 0; filling->chances != NULL && i < COSTS; i++)
        filling->chances[i] = (float)tool_search_chance(i);
}

void tool_deep_open(struct tool_deep *deep, const struct tool_edges *edges,
                    const struct tool_rows *outwards, const struct tool_rows *inwards,
                    uint32_t news_most, size_t bytes)
{
    size_t functions = edges->function_count;
    size_t prefixes = bytes / sizeof *deep->slots / 8 * FILL_EIGHTS;
    struct ttp_region *region = outwards->region;
    *deep = (struct tool_deep){.region = region,
                               .outwards = outwards,
                               .inwards = inwards,
                               .edges = edges,
                               .news_most = news_most,
                               .depths = DEPTHS_MOST,
                               .state_count = outwards->row_count + functions};
    struct filling filling = {.deep = deep};
    deep->hubs = ttp_region_take(region, functions + 1, sizeof *deep->hubs);
    deep->ids = ttp_region_take(region, functions + 1, sizeof *deep->ids);
    if (region->is_short)
        return;
    tool_deep_choose_hubs(region, deep->hubs, edges);
    for (size_t i = 0; i < functions; i++)
        deep->ids[i] = edges->functions[i].id;
    deep->prefix_cost = most_cost(deep, &prefixes);
    make_slots(deep, prefixes);
    make_filling(&filling);
    deep->covered = ttp_region_take(region, functions * deep->depths, sizeof *deep->covered);
    deep->looks = ttp_region_take(region, deep->state_count * deep->depths, sizeof *deep->looks);
    deep->rests = ttp_region_take(region, deep->state_count * deep->depths, sizeof *deep->rests);
    if (region->is_short)
        return;
    fill_table(&filling);
    cover(&filling);
    weigh_looks(deep);
    tool_way_order_open(&deep->order, outwards, functions,
                        edges->context_count > 1 || outwards->way_first[functions] > WAYS_MOST
                            ? 0
                            : ORDERED_DEPTHS);
    ttp_region_give(region, filling.masses);
    ttp_region_give(region, filling.chances);
}

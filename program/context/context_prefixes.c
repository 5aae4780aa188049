/* Prefixes, as many as there is room for: stacks that were seen; then all, depth by depth, up to
 * half of the room; then the likeliest that go on from those. */
#include <string.h>

#include "program/context/context_search.h"

#define EQUAL_MOST   64u /* prefixes of one value that are kept (operations other than affine) */
#define DEPTH_MOST   UINT16_MAX
#define FILTER_EACH  8u /* bits, of a place */
#define LEVELS_SHARE 8u /* of the room, for all depth by depth */
#define NONE         UINT32_MAX

static size_t place_of(const struct tool_search *search, uint64_t value)
{
    return (size_t)((value * TTAPE_CONTEXT_FACTOR) >> 24) & search->place_mask;
}

const struct tool_search_prefix *tool_search_prefix_at(const struct tool_search *search,
                                                       uint64_t value, size_t *at)
{
    size_t place = place_of(search, value) + *at;
    for (;; place++) {
        uint32_t number = search->places[place & search->place_mask];
        ++*at;
        if (number == 0)
            return NULL;
        if (search->prefixes[number - 1].value == value)
            return &search->prefixes[number - 1];
    }
}

/* The number of the new prefix; NONE: it is there, or there is no room. */
static uint32_t add_prefix(struct tool_search *search, const struct tool_search_prefix *prefix)
{
    const struct tool_search_prefix *other;
    size_t at = 0, equal = 0;
    if (search->prefix_count == search->options.prefixes_most)
        return NONE;
    while ((other = tool_search_prefix_at(search, prefix->value, &at)) != NULL)
        if ((other->around == prefix->around && other->function == prefix->function) ||
            ++equal == EQUAL_MOST)
            return NONE;
    *tool_search_word(search, prefix->value) |= tool_search_bits(prefix->value);
    search->places[(place_of(search, prefix->value) + at - 1) & search->place_mask] =
        (uint32_t)search->prefix_count + 1;
    search->prefixes[search->prefix_count++] = *prefix;
    return (uint32_t)search->prefix_count - 1;
}

/* Prefixes that are made: in lists, and where each is in what it may call. */
struct making {
    struct tool_search *search;
    struct tool_search_queue queue;
    struct tool_row_place *places; /* by prefix */
};

static uint32_t begin_prefixes(struct making *making, uint32_t number, uint32_t row)
{
    if (number != NONE)
        making->places[number] = (struct tool_row_place){
            .function = making->search->prefixes[number].function, .row = row};
    return number;
}

static uint32_t extend(struct making *making, uint32_t number, const struct tool_row_next *next,
                       uint32_t cost)
{
    struct tool_search *search = making->search;
    const struct tool_search_prefix *around = &search->prefixes[number];
    const struct tool_search_prefix prefix = {
        .value = ttape_context_enter(search->options.operation, around->value,
                                     search->edges->functions[next->function].id),
        .around = number,
        .function = next->function,
        .depth = (uint16_t)(around->depth + 1),
        .cost = (uint16_t)(cost < UINT16_MAX ? cost : UINT16_MAX),
        .news = (uint8_t)(around->news + next->is_new)};
    if (around->depth == DEPTH_MOST || prefix.news > search->options.news_most)
        return NONE;
    return begin_prefixes(making, add_prefix(search, &prefix), next->row);
}

/* Contexts come behind those around them. */
static void add_seen(struct making *making)
{
    struct tool_search *search = making->search;
    const struct tool_edges *edges = search->edges;
    uint32_t *numbers = ttp_region_take(&search->region, edges->context_count, sizeof *numbers);
    for (size_t i = 1; numbers != NULL && i < edges->context_count; i++) {
        const struct tool_edge_context *context = &edges->contexts[i];
        uint32_t around = numbers[context->around];
        numbers[i] = NONE;
        if (around == NONE)
            continue;
        struct tool_row_next next =
            tool_rows_read(&search->inwards, making->places[around].row, context->function);
        uint32_t cost = search->prefixes[around].cost + next.cost;
        uint32_t share = tool_search_cost(context->weight, edges->contexts[0].weight);
        numbers[i] = extend(making, around, &next, share < cost ? share : cost);
    }
    ttp_region_give(&search->region, numbers);
}

/* Depth by depth: those that were seen are in no order of depths. */
static void add_levels(struct making *making)
{
    struct tool_search *search = making->search;
    size_t most = search->options.prefixes_most / LEVELS_SHARE;
    uint32_t *heads = ttp_region_take(&search->region, DEPTH_MOST + 1u, sizeof *heads);
    uint32_t *next = making->queue.next;
    size_t listed = 0;
    for (uint32_t depth = 0; heads != NULL && depth < DEPTH_MOST; depth++) {
        for (; listed < search->prefix_count; listed++) {
            next[listed] = heads[search->prefixes[listed].depth];
            heads[search->prefixes[listed].depth] = (uint32_t)listed + 1;
        }
        if (heads[depth] == 0)
            break;
        for (uint32_t i = heads[depth]; i != 0 && search->prefix_count < most; i = next[i - 1]) {
            struct tool_row_place place = making->places[i - 1];
            struct tool_row_next callee;
            while (search->prefix_count < most && tool_rows_next(&search->inwards, &place, &callee))
                (void)extend(making, i - 1, &callee, search->prefixes[i - 1].cost + callee.cost);
        }
        if (search->prefix_count >= most)
            break;
        search->complete_depth = depth + 1;
    }
    ttp_region_give(&search->region, heads);
}

/* Lists a prefix by what the next one that goes on from it costs. */
static void list(struct making *making, uint32_t number)
{
    struct tool_row_place place = making->places[number];
    struct tool_row_next next;
    if (!tool_rows_next(&making->search->inwards, &place, &next))
        return;
    uint32_t cost = making->search->prefixes[number].cost + next.cost;
    if (cost <= TOOL_SEARCH_COST_MAX)
        tool_search_put(&making->queue, number, cost);
}

/* The cheapest first. */
static void add_likely(struct making *making)
{
    struct tool_search *search = making->search;
    uint32_t number;
    for (uint32_t i = 0; i < search->prefix_count; i++)
        list(making, i);
    while (search->prefix_count < search->options.prefixes_most &&
           tool_search_pull(&making->queue, &number)) {
        struct tool_row_next next;
        if (!tool_rows_next(&search->inwards, &making->places[number], &next))
            continue;
        uint32_t added = extend(making, number, &next, search->prefixes[number].cost + next.cost);
        list(making, number);
        if (added != NONE)
            list(making, added);
    }
}

void tool_search_make_prefixes(struct tool_search *search)
{
    size_t places = 1024, words, most = search->options.prefixes_most;
    struct making making = {.search = search};
    while (places < most + most / 2)
        places *= 2;
    words = places * FILTER_EACH / 64;
    search->place_mask = places - 1;
    search->filter_mask = words - 1;
    struct ttp_region *region = &search->region;
    search->places = ttp_region_take(region, places, sizeof *search->places);
    search->filter = ttp_region_take(region, words, sizeof *search->filter);
    search->prefixes = ttp_region_take(region, most + 1, sizeof *search->prefixes);
    making.queue.next = ttp_region_take(region, most + 1, sizeof *making.queue.next);
    making.places = ttp_region_take(region, most + 1, sizeof *making.places);
    if (region->is_short)
        return;
    struct tool_search_prefix first = {.value = ttape_context_first(search->options.operation),
                                       .around = NONE,
                                       .function = TOOL_EDGES_OUTSIDE};
    (void)begin_prefixes(&making, add_prefix(search, &first),
                         search->inwards.of_function[TOOL_EDGES_OUTSIDE]);
    add_seen(&making);
    add_levels(&making);
    add_likely(&making);
    ttp_region_give(region, making.queue.next);
    ttp_region_give(region, making.places);
}

/* Prefixes, as many as there is room for: stacks that were seen; then all, depth by depth, up to
 * half of the room; then the likeliest that go on from those. */
#include <stdlib.h>
#include <string.h>

#include "tools/context/context_search.h"

#define EQUAL_MOST  64u /* prefixes of one value that are kept (operations other than affine) */
#define DEPTH_MOST  UINT16_MAX
#define FILTER_EACH 16u /* bits */
#define NONE        UINT32_MAX

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
static uint32_t add(struct tool_search *search, const struct tool_search_prefix *prefix)
{
    const struct tool_search_prefix *other;
    size_t at = 0, equal = 0;
    if (search->prefix_count == search->options.prefixes_most)
        return NONE;
    while ((other = tool_search_prefix_at(search, prefix->value, &at)) != NULL)
        if ((other->around == prefix->around && other->function == prefix->function) ||
            ++equal == EQUAL_MOST)
            return NONE;
    uint64_t bit = prefix->value * TTAPE_CONTEXT_FACTOR >> 20 & search->filter_mask;
    search->filter[bit / 64] |= (uint64_t)1 << bit % 64;
    search->places[(place_of(search, prefix->value) + at - 1) & search->place_mask] =
        (uint32_t)search->prefix_count + 1;
    search->prefixes[search->prefix_count++] = *prefix;
    return (uint32_t)search->prefix_count - 1;
}

static struct tool_search_prefix extend(const struct tool_search *search, uint32_t number,
                                        const struct tool_search_way *way, uint32_t way_cost)
{
    const struct tool_search_prefix *around = &search->prefixes[number];
    uint32_t cost = (uint32_t)around->cost + way_cost;
    return (struct tool_search_prefix){
        .value = ttape_context_enter(search->options.operation, around->value,
                                     search->edges->functions[way->other].id),
        .around = number,
        .function = way->other,
        .depth = (uint16_t)(around->depth + 1),
        .cost = (uint16_t)(cost < UINT16_MAX ? cost : UINT16_MAX),
        .news = (uint8_t)(around->news + way->is_new)};
}

/* Contexts come behind those around them. */
static void add_seen(struct tool_search *search)
{
    const struct tool_edges *edges = search->edges;
    uint32_t *numbers = tool_allocate(edges->context_count, sizeof *numbers);
    for (size_t i = 1; i < edges->context_count; i++) {
        const struct tool_edge_context *context = &edges->contexts[i];
        uint32_t cost = tool_search_cost(context->weight, edges->contexts[0].weight);
        struct tool_search_way way = {.other = context->function};
        uint32_t around = numbers[context->around];
        numbers[i] = NONE;
        if (around == NONE || search->prefixes[around].depth == DEPTH_MOST)
            continue;
        struct tool_search_prefix prefix = extend(search, around, &way, 0);
        prefix.cost = (uint16_t)cost;
        numbers[i] = add(search, &prefix);
    }
    free(numbers);
}

/* Adds what `number` calls, up to `most` prefixes. False: that many are there. */
static bool expand(struct tool_search *search, uint32_t number, size_t most)
{
    uint32_t function = search->prefixes[number].function, before = 0, end = 0;
    if (search->prefixes[number].depth == DEPTH_MOST)
        return true;
    uint32_t by =
        number == 0
            ? NONE
            : tool_search_find_way(
                  search, search->prefixes[search->prefixes[number].around].function, function);
    if (by != NONE) {
        before = search->before_first[by];
        end = search->before_first[by + 1];
    }
    bool is_known = before < end;
    for (uint32_t i = search->out_first[function]; i < search->out_first[function + 1]; i++) {
        const struct tool_search_way *way = &search->outs[i];
        if (search->prefixes[number].news + way->is_new > search->options.news_most)
            continue;
        if (search->prefix_count >= most)
            return false;
        uint32_t cost = way->cost + (is_known && !way->is_new ? TOOL_SEARCH_COST_OTHER : 0u);
        while (before < end && search->befores[before].other < way->other)
            before++;
        if (before < end && search->befores[before].other == way->other)
            cost = search->befores[before].cost;
        struct tool_search_prefix prefix = extend(search, number, way, cost);
        (void)add(search, &prefix);
    }
    return true;
}

/* Lists of prefixes by a number of theirs. */
struct lists {
    uint32_t *heads, *next; /* plus 1 */
    size_t listed;
};

static void open_lists(struct lists *lists, const struct tool_search *search)
{
    *lists = (struct lists){
        .heads = tool_allocate(UINT16_MAX + 1u, sizeof *lists->heads),
        .next = tool_allocate(search->options.prefixes_most + 1, sizeof *lists->next)};
}

static void close_lists(struct lists *lists)
{
    free(lists->heads);
    free(lists->next);
}

static void put(struct lists *lists, uint32_t key)
{
    lists->next[lists->listed] = lists->heads[key];
    lists->heads[key] = (uint32_t)++lists->listed;
}

/* Depth by depth: those that were seen are in no order of depths. */
static void add_levels(struct tool_search *search, struct lists *lists)
{
    size_t most = search->options.prefixes_most / 8;
    for (uint32_t depth = 0; depth < DEPTH_MOST; depth++) {
        while (lists->listed < search->prefix_count)
            put(lists, search->prefixes[lists->listed].depth);
        if (lists->heads[depth] == 0)
            return;
        for (uint32_t i = lists->heads[depth]; i != 0; i = lists->next[i - 1])
            if (!expand(search, i - 1, most))
                return;
        search->complete_depth = depth + 1;
    }
}

/* The cheapest first: each cost is a list. */
static void add_likely(struct tool_search *search, struct lists *lists)
{
    size_t most = search->options.prefixes_most;
    for (uint32_t cost = 0; cost <= UINT16_MAX && search->prefix_count < most;) {
        while (lists->listed < search->prefix_count)
            put(lists, search->prefixes[lists->listed].cost);
        uint32_t number = lists->heads[cost];
        if (number == 0) {
            cost++;
            continue;
        }
        lists->heads[cost] = lists->next[number - 1];
        (void)expand(search, number - 1, most);
    }
}

void tool_search_make_prefixes(struct tool_search *search)
{
    size_t places = 1024, bits;
    while (places < search->options.prefixes_most * 2)
        places *= 2;
    bits = places * FILTER_EACH / 2;
    search->place_mask = places - 1;
    search->filter_mask = bits - 1;
    search->places = tool_allocate(places, sizeof *search->places);
    search->filter = tool_allocate(bits / 64, sizeof *search->filter);
    search->prefixes = tool_allocate(search->options.prefixes_most + 1, sizeof *search->prefixes);
    struct tool_search_prefix first = {.value = ttape_context_first(search->options.operation),
                                       .around = NONE,
                                       .function = TOOL_EDGES_OUTSIDE};
    (void)add(search, &first);
    add_seen(search);
    struct lists lists;
    open_lists(&lists, search);
    add_levels(search, &lists);
    memset(lists.heads, 0, (UINT16_MAX + 1u) * sizeof *lists.heads);
    lists.listed = 0;
    add_likely(search, &lists);
    close_lists(&lists);
}

/* Suffixes: the cheapest is followed first. Each cost is a list, so the next one is at hand. */
#include <string.h>

#include "program/context/context_search.h"

#define NONE          UINT32_MAX
#define WINDOW        TOOL_SEARCH_COST_BIT
#define BEHIND        8u
#define FIRST_LOOKS   131072u /* before the large table */
#define DEEP_LOOKS    1750000u
#define ALONE_LOOKS   80000000u /* where no trace says what is likely */
#define ALONE_VALUES  20u       /* open ones that get as much */
#define DEEP_NODES    65536u /* for the prefix of a suffix that the large table has the rest for */
#define LOOKS_BETWEEN 65536u /* two questions whether to go on */
#define MORE_MOST     20000u /* suffixes behind the first stack that is found */
#define TAKES_MOST    20000u /* stacks by XOR whose depth nobody knows */
#define NEW_COST      (5 * TOOL_SEARCH_COST_BIT) /* of a call that no trace shows */
#define LEAF_COST     (6 * TOOL_SEARCH_COST_BIT) /* of a function that none enters */
#define END_COST      (6 * TOOL_SEARCH_COST_BIT) /* of an end that has not the text */
#define UNKNOWN_COST  (8 * TOOL_SEARCH_COST_BIT)

static void weigh_innermost(struct tool_search *search)
{
    const struct tool_edges *edges = search->edges;
    uint64_t whole = 0;
    search->innermost =
        ttp_region_take(&search->region, edges->function_count + 1, sizeof *search->innermost);
    if (search->innermost == NULL)
        return;
    for (size_t i = 1; i < edges->function_count; i++)
        whole += edges->functions[i].weight;
    for (size_t i = 1; i < edges->function_count; i++) {
        uint64_t weight = edges->functions[i].weight;
        search->innermost[i] = weight != 0 ? tool_search_cost(weight, whole)
                                           : LEAF_COST + tool_search_cost(1, edges->function_count);
    }
}

bool tool_search_open(struct tool_search *search, const struct tool_edges *edges,
                      const struct tool_search_options *options)
{
    *search = (struct tool_search){.region = ttp_region_of(options->memory_bytes),
                                   .edges = edges,
                                   .options = *options,
                                   .alone_left = (uint64_t)ALONE_VALUES * ALONE_LOOKS};
    struct ttp_region *region = &search->region;
    tool_rows_open(&search->inwards, region, edges, false);
    tool_rows_open(&search->outwards, region, edges, true);
    if (edges->context_count <= 1 && !region->is_short) /* what was seen says more */
        tool_rests_open(&search->rests, &search->outwards, edges->function_count);
    if (!region->is_short)
        tool_search_make_prefixes(search);
    search->nodes = ttp_region_take(region, options->nodes_most + 1, sizeof *search->nodes);
    search->queue.next =
        ttp_region_take(region, options->nodes_most + 1, sizeof *search->queue.next);
    weigh_innermost(search);
    if (region->is_short)
        tool_search_close(search);
    return search->edges != NULL;
}

void tool_search_close(struct tool_search *search)
{
    ttp_region_close(&search->region);
    *search = (struct tool_search){0};
}

struct running {
    struct tool_search *search;
    tool_search_take take;
    void *context;
    uint64_t looked, looked_most;
    uint64_t ask_at; /* so many: whether to go on */
    bool is_any, is_cut;
    bool is_any_times; /* two turns of a recursion more are the same value: none has three */
    uint64_t takes_left;
    uint32_t *functions;
    size_t capacity;
};

/* A prefix, then the suffix of `node`. */
static void found(struct running *running, const struct tool_search_prefix *prefix,
                  const struct tool_search_node *node)
{
    const struct tool_search *search = running->search;
    bool is_affine = search->options.operation == TTAPE_CONTEXT_AFFINE;
    const struct tool_edge *edge =
        tool_edges_find(search->edges, prefix->function, node->place.function);
    bool is_new =
        search->edges->context_count > 1 && (edge == NULL || (edge->kinds & TOOL_EDGE_SEEN) == 0);
    struct tool_search_found stack = {.cost = (uint32_t)prefix->cost + node->cost,
                                      .news = (uint32_t)prefix->news + node->news};
    if (edge == NULL && !is_affine)
        return;
    stack.unknown = edge == NULL;
    stack.news += is_new || edge == NULL;
    stack.cost += edge == NULL ? UNKNOWN_COST : is_new ? NEW_COST : 0;
    if (stack.news > search->options.news_most)
        return;
    const struct tool_search_node *at = node;
    size_t depth = prefix->depth;
    for (; at != NULL; at = at->inner == NONE ? NULL : &search->nodes[at->inner]) {
        if (!ttp_region_grow(&running->search->region, &running->functions, &running->capacity,
                             depth + 1, sizeof *running->functions))
            return;
        running->functions[depth++] = at->place.function;
    }
    for (size_t i = prefix->depth; i > 0; i--) {
        running->functions[i - 1] = prefix->function;
        prefix = &search->prefixes[prefix->around];
    }
    stack.functions = running->functions;
    stack.depth = (uint32_t)depth;
    running->take(running->context, &stack);
    running->takes_left--;
    if (is_affine && !running->is_any) {
        uint64_t more = running->looked < MORE_MOST ? running->looked : MORE_MOST;
        if (running->looked_most > running->looked + more)
            running->looked_most = running->looked + more;
    }
    running->is_any = true;
}

/* What may be around a suffix, one by one. */
static bool next_around(struct tool_search *search, struct tool_row_place *place, uint32_t left,
                        struct tool_row_next *next)
{
    return search->rests.order.depths > 0 ? tool_rests_next(search, place, left, next)
                                          : tool_rows_next(&search->outwards, place, next);
}

/* What the next suffix that goes on from a node costs; what no list has: there is none. */
static uint32_t next_cost(struct tool_search *search, const struct tool_search_node *node)
{
    struct tool_row_place place = node->place;
    struct tool_row_next next;
    if (!next_around(search, &place, node->left, &next))
        return UINT32_MAX;
    uint32_t left = node->left == UINT32_MAX ? node->left : node->left - 1;
    return node->cost + next.cost + tool_rest_of(search, next.function, left);
}

static void list(struct tool_search *search, uint32_t number, uint32_t cost)
{
    if (cost <= TOOL_SEARCH_COST_MAX)
        tool_search_put(&search->queue, number, cost);
}

/* Looks whether a prefix has the rest of a node's suffix. */
static void look_up(struct running *running, const struct tool_search_node *node)
{
    struct tool_search *search = running->search;
    const struct tool_search_prefix *prefix;
    size_t at = 0;
    if (!tool_search_may_be(search, node->value))
        return;
    while (running->takes_left > 0 &&
           (prefix = tool_search_prefix_at(search, node->value, &at)) != NULL)
        if (node->left == UINT32_MAX || prefix->depth == node->left)
            found(running, prefix, node);
}

/* All nodes but so many: what the filter says of the last ones is on its way into the cache. */
static void look_behind(struct running *running, size_t nodes)
{
    while (running->looked + nodes < running->search->node_count)
        look_up(running, &running->search->nodes[running->looked++]);
}

static const struct tool_search_node *inner_of(const struct tool_search *search,
                                               const struct tool_search_node *node)
{
    return node == NULL || node->inner == NONE ? NULL : &search->nodes[node->inner];
}

/* Does a suffix begin with one turn three times? */
static bool turns_thrice(const struct tool_search *search, const struct tool_search_node *node)
{
    const struct tool_search_node *other = inner_of(search, node);
    for (uint32_t length = 1; length <= TOOL_SEARCH_TURN_MAX && other != NULL; length++) {
        const struct tool_search_node *one = node, *behind = other;
        uint32_t same = 0;
        while (behind != NULL && one->place.function == behind->place.function &&
               same < 2 * length) {
            one = inner_of(search, one);
            behind = inner_of(search, behind);
            same++;
        }
        if (same == 2 * length)
            return true;
        other = inner_of(search, other);
    }
    return false;
}

/* A suffix one function longer than `inner` (NONE: than the value itself). */
static void step_row(struct running *running, const struct tool_row_next *next, uint32_t inner,
                     uint64_t value, uint32_t left, uint32_t cost, uint32_t news)
{
    struct tool_search *search = running->search;
    uint32_t number = (uint32_t)search->node_count;
    if (search->node_count == search->options.nodes_most) {
        running->is_cut = true;
        return;
    }
    struct tool_search_node *node = &search->nodes[search->node_count++];
    *node = (struct tool_search_node){
        .value = ttape_context_leave(search->options.operation, value,
                                     search->edges->functions[next->function].id),
        .place = {.function = next->function, .row = next->row},
        .inner = inner,
        .left = left == UINT32_MAX ? left : left - 1,
        .cost = (uint16_t)cost,
        .news = (uint8_t)news};
    if (running->is_any_times && turns_thrice(search, node)) {
        search->node_count--;
        return;
    }
    __builtin_prefetch(tool_search_word(search, node->value));
    look_behind(running, BEHIND);
    if (node->left <= search->complete_depth) {
        /* with known calls it would have been found: a call that nobody knows is left */
        if (search->options.operation != TTAPE_CONTEXT_AFFINE || node->left == 0 ||
            news >= search->options.news_most)
            return;
        if (node->left == search->complete_depth)
            node->cost = (uint16_t)(cost + UNKNOWN_COST);
    }
    list(search, number, next_cost(search, node));
}

/* The next suffixes that go on from a node: those that cost about as much, as it is at hand. */
static void expand(struct running *running, uint32_t number)
{
    struct tool_search *search = running->search;
    uint32_t most = search->queue.lowest + WINDOW, whole = 0;
    while (whole <= most) {
        struct tool_search_node *node = &search->nodes[number];
        struct tool_row_next next;
        if (!next_around(search, &node->place, node->left, &next))
            return;
        uint32_t cost = node->cost + next.cost, news = (uint32_t)node->news + next.is_new;
        if (cost <= TOOL_SEARCH_COST_MAX && news <= search->options.news_most)
            step_row(running, &next, number, node->value, node->left, cost, news);
        whole = next_cost(search, node);
    }
    list(search, number, whole);
}

static void empty(struct running *running)
{
    struct tool_search *search = running->search;
    running->looked = running->ask_at = search->node_count = 0;
    running->is_cut = false;
    memset(search->queue.heads, 0, sizeof search->queue.heads);
    search->queue.lowest = 0;
}

static bool ask(void *context, uint64_t done, uint64_t all)
{
    struct tool_search *search = context;
    const ttape_watch *watch = search->options.watch;
    search->is_stopped |= watch != NULL && !watch->goes_on(watch->context, done, all);
    return !search->is_stopped;
}

/* Asked now and then. */
static bool goes_on(struct running *running)
{
    struct tool_search *search = running->search;
    if (running->looked >= running->ask_at) {
        running->ask_at = running->looked + LOOKS_BETWEEN;
        (void)ask(search, running->looked, 0);
    }
    return !search->is_stopped && !search->region.is_short;
}

static void follow_paths(struct running *running)
{
    uint32_t number;
    while (running->looked <= running->looked_most && !running->is_cut && running->takes_left > 0 &&
           goes_on(running) && tool_search_pull(&running->search->queue, &number))
        expand(running, number);
    look_behind(running, 0);
    running->search->looked += running->looked;
}

/* Searches the prefix of a suffix for whose rest the large table has one. */
static bool take_deep(void *context, const struct tool_deep_found *found)
{
    struct running *running = context;
    struct tool_search *search = running->search;
    uint32_t row = search->outwards.of_function[found->functions[0]], news = 0;
    if (found->count > search->options.nodes_most)
        return true;
    empty(running);
    running->looked_most = DEEP_NODES;
    for (uint32_t i = 0; i < found->count; i++) {
        uint32_t function = found->functions[i];
        if (i > 0)
            row = tool_rows_read(&search->outwards, row, function).row;
        search->nodes[search->node_count++] =
            (struct tool_search_node){.value = found->value,
                                      .place = {.function = function, .row = row},
                                      .inner = i > 0 ? i - 1 : NONE,
                                      .left = found->left,
                                      .news = (uint8_t)news};
    }
    running->looked = found->count - 1;
    list(search, found->count - 1, next_cost(search, &search->nodes[found->count - 1]));
    follow_paths(running);
    return !running->is_any;
}

/* By other operations several prefixes have one value; and looks go by depth. */
static bool may_be_deep(const struct tool_search *search, uint32_t depth)
{
    return search->options.operation == TTAPE_CONTEXT_AFFINE && depth != UINT32_MAX &&
           search->options.deep_bytes != 0;
}

static uint32_t innermost_cost(const struct tool_search *search, uint32_t function)
{
    bool ends = search->options.ends == NULL || search->options.ends[function];
    return search->innermost[function] + (ends ? 0 : END_COST);
}

static void search_deep(struct running *running, uint64_t value, uint32_t depth)
{
    struct tool_search *search = running->search;
    uint32_t *costs =
        ttp_region_take(&search->region, search->edges->function_count + 1, sizeof *costs);
    for (uint32_t i = 1; costs != NULL && i < search->edges->function_count; i++)
        costs[i] = innermost_cost(search, i);
    if (search->deep.slots == NULL)
        tool_deep_open(&search->deep, search->edges, &search->outwards, &search->inwards,
                       search->options.news_most, search->options.deep_bytes);
    search->asking = (ttape_watch){ask, search};
    search->deep.watch = &search->asking;
    if (search->region.is_short)
        return;
    uint64_t most = search->alone_left < ALONE_LOOKS ? search->alone_left : ALONE_LOOKS;
    if (search->edges->context_count > 1 || most < DEEP_LOOKS)
        most = DEEP_LOOKS;
    uint64_t looked = tool_deep_run(&search->deep, value, depth, costs, most, take_deep, running);
    search->alone_left -= looked < search->alone_left ? looked : search->alone_left;
    search->looked += looked;
    ttp_region_give(&search->region, costs);
}

bool tool_search_run(struct tool_search *search, uint64_t value, uint32_t depth,
                     tool_search_take take, void *context)
{
    struct running running = {.search = search, .take = take, .context = context};
    empty(&running);
    running.looked_most = may_be_deep(search, depth) ? FIRST_LOOKS : search->options.nodes_most;
    running.is_any_times = search->options.operation == TTAPE_CONTEXT_XOR && depth == UINT32_MAX;
    running.takes_left = running.is_any_times ? TAKES_MOST : UINT64_MAX;
    search->looked = 0;
    for (uint32_t i = 1; i < search->edges->function_count && depth != 0; i++) {
        const struct tool_row_next next = {.function = i, .row = search->outwards.of_function[i]};
        step_row(&running, &next, NONE, value, depth, innermost_cost(search, i), 0);
    }
    follow_paths(&running);
    bool is_cut = running.is_cut || running.takes_left == 0;
    if (!running.is_any && may_be_deep(search, depth))
        search_deep(&running, value, depth);
    ttp_region_give(&search->region, running.functions);
    return !is_cut && !search->is_stopped && !search->region.is_short;
}

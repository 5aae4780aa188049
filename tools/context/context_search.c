/* Suffixes: the cheapest is followed first. Each cost is a list, so the next one is at hand. */
#include <stdlib.h>
#include <string.h>

#include "tools/context/context_search.h"

#define NONE         UINT32_MAX
#define MORE_MOST    20000u /* suffixes behind the first stack that is found */
#define LOOKED_EACH  2u     /* suffixes that are looked at, for each that is kept */
#define REST_DEPTHS  64u
#define REST_CELLS   (8u << 20)
#define REST_MOST    (24 * TOOL_SEARCH_COST_BIT) /* of a rest that no known calls make */
#define SURE_PRIOR   512u
#define NEW_COST     (5 * TOOL_SEARCH_COST_BIT) /* of a call that no trace shows */
#define LEAF_COST    (6 * TOOL_SEARCH_COST_BIT) /* of a function that none enters */
#define UNKNOWN_COST (8 * TOOL_SEARCH_COST_BIT)

uint32_t tool_search_cost(uint64_t part, uint64_t whole)
{
    uint32_t logs[2];
    uint64_t numbers[2] = {part, whole};
    for (int i = 0; i < 2; i++) {
        uint32_t high = 63u - (uint32_t)__builtin_clzll(numbers[i] | 1);
        uint64_t rest = (numbers[i] | 1) << (63 - high) << 1; /* below the highest bit */
        logs[i] = high * TOOL_SEARCH_COST_BIT + (uint32_t)(rest >> 61);
    }
    return logs[1] > logs[0] ? logs[1] - logs[0] : 0;
}

/* ---- the graph, by function ---- */

static int compare_ways(const void *a, const void *b)
{
    const struct tool_search_way *one = a, *other = b;
    return one->other < other->other ? -1 : one->other > other->other;
}

/* How likely a call is that no trace shows, beside others. */
static uint32_t prior(const struct tool_edge *edge)
{
    return (edge->kinds & TOOL_EDGE_SURE) != 0 ? SURE_PRIOR : 1;
}

/* Ways of one direction: how many each function has, then the ways, then what they cost. */
static void make_ways(struct tool_search *search, bool is_in, struct tool_search_way **ways,
                      uint32_t **first)
{
    const struct tool_edges *edges = search->edges;
    size_t count = edges->function_count;
    uint64_t *weights = tool_allocate(count + 1, sizeof *weights);
    uint32_t *news = tool_allocate(count + 1, sizeof *news);
    bool has_seen = edges->context_count > 1;
    uint32_t *at = tool_allocate(count + 2, sizeof *at);
    *first = tool_allocate(count + 2, sizeof **first);
    *ways = tool_allocate(edges->edge_count + 1, sizeof **ways);
    for (size_t i = 0; i < edges->edge_count; i++) {
        uint32_t of = is_in ? edges->edges[i].to : edges->edges[i].from;
        (*first)[of + 1]++;
        weights[of] += edges->edges[i].weight;
        news[of] += edges->edges[i].weight == 0 ? prior(&edges->edges[i]) : 0;
    }
    for (size_t i = 0; i < count; i++)
        (*first)[i + 1] += (*first)[i];
    memcpy(at, *first, (count + 1) * sizeof *at);
    for (size_t i = 0; i < edges->edge_count; i++) {
        const struct tool_edge *edge = &edges->edges[i];
        uint32_t of = is_in ? edge->to : edge->from;
        uint32_t cost = edge->weight != 0
                            ? tool_search_cost(edge->weight, weights[of])
                            : (has_seen ? NEW_COST : 0) + tool_search_cost(prior(edge), news[of]);
        (*ways)[at[of]++] = (struct tool_search_way){.other = is_in ? edge->from : edge->to,
                                                     .cost = (uint16_t)cost,
                                                     .is_new = has_seen && edge->weight == 0};
    }
    for (size_t i = 0; i < count; i++)
        qsort(*ways + (*first)[i], (*first)[i + 1] - (*first)[i], sizeof **ways, compare_ways);
    free(weights);
    free(news);
    free(at);
}

uint32_t tool_search_find_way(const struct tool_search *search, uint32_t from, uint32_t to)
{
    uint32_t low = search->in_first[to], end = search->in_first[to + 1], high = end;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (search->ins[middle].other < from)
            low = middle + 1;
        else
            high = middle;
    }
    return low < end && search->ins[low].other == from ? low : NONE;
}

/* Two calls, one in the other, as ways of ins. */
struct two {
    uint32_t inner, outer, callee;
    uint64_t weight;
};

static int compare_twos(const void *a, const void *b)
{
    const struct two *one = a, *other = b;
    if (one->inner != other->inner)
        return one->inner < other->inner ? -1 : 1;
    return one->outer < other->outer ? -1 : one->outer > other->outer;
}

static size_t list_twos(const struct tool_search *search, struct two *twos)
{
    const struct tool_edges *edges = search->edges;
    size_t count = 0, kept = 0;
    for (size_t i = 1; i < edges->context_count; i++) {
        const struct tool_edge_context *inner = &edges->contexts[i];
        const struct tool_edge_context *outer = &edges->contexts[inner->around];
        if (inner->around == 0)
            continue;
        uint32_t from = edges->contexts[outer->around].function;
        twos[count++] =
            (struct two){.inner = tool_search_find_way(search, outer->function, inner->function),
                         .outer = tool_search_find_way(search, from, outer->function),
                         .callee = inner->function,
                         .weight = 1};
    }
    if (count > 0)
        qsort(twos, count, sizeof *twos, compare_twos);
    for (size_t i = 0; i < count; i++)
        if (kept > 0 && compare_twos(&twos[kept - 1], &twos[i]) == 0)
            twos[kept - 1].weight += twos[i].weight;
        else
            twos[kept++] = twos[i];
    return kept;
}

static int compare_outers(const void *a, const void *b)
{
    const struct two *one = a, *other = b;
    if (one->outer != other->outer)
        return one->outer < other->outer ? -1 : 1;
    return one->callee < other->callee ? -1 : one->callee > other->callee;
}

static void add_up(uint32_t *first, size_t count)
{
    for (size_t i = 0; i < count; i++)
        first[i + 1] += first[i];
}

/* What came in front of a call, and what behind it. */
static void make_afters(struct tool_search *search)
{
    const struct tool_edges *edges = search->edges;
    struct two *twos = tool_allocate(edges->context_count + 1, sizeof *twos);
    size_t count = list_twos(search, twos), ways = edges->edge_count;
    uint64_t *weights = tool_allocate(2 * (ways + 1), sizeof *weights), *outer = weights + ways + 1;
    search->after_first = tool_allocate(ways + 2, sizeof *search->after_first);
    search->before_first = tool_allocate(ways + 2, sizeof *search->before_first);
    search->afters = tool_allocate(count + 1, sizeof *search->afters);
    search->befores = tool_allocate(count + 1, sizeof *search->befores);
    for (size_t i = 0; i < count; i++) {
        weights[twos[i].inner] += twos[i].weight;
        outer[twos[i].outer] += twos[i].weight;
        search->after_first[twos[i].inner + 1]++;
        search->before_first[twos[i].outer + 1]++;
    }
    add_up(search->after_first, ways);
    add_up(search->before_first, ways);
    for (size_t i = 0; i < count; i++)
        search->afters[i] = (struct tool_search_after){
            .way = twos[i].outer,
            .cost = (uint16_t)tool_search_cost(twos[i].weight, weights[twos[i].inner])};
    if (count > 0)
        qsort(twos, count, sizeof *twos, compare_outers);
    for (size_t i = 0; i < count; i++)
        search->befores[i] = (struct tool_search_way){
            .other = twos[i].callee,
            .cost = (uint16_t)tool_search_cost(twos[i].weight, outer[twos[i].outer])};
    free(weights);
    free(twos);
}

/* What the cheapest stack around a function costs, of so many functions. */
static void make_rests(struct tool_search *search)
{
    size_t count = search->edges->function_count;
    search->rest_depths =
        REST_CELLS / count < REST_DEPTHS ? (uint32_t)(REST_CELLS / count) : REST_DEPTHS;
    search->rests = tool_allocate(count * search->rest_depths + 1, sizeof *search->rests);
    for (uint32_t depth = 0; depth < search->rest_depths; depth++) {
        uint16_t *rests = search->rests + depth * count;
        for (size_t f = 0; f < count; f++) {
            uint32_t least = UINT16_MAX;
            for (uint32_t i = search->in_first[f]; i < search->in_first[f + 1]; i++) {
                const struct tool_search_way *way = &search->ins[i];
                uint32_t cost = way->cost;
                if ((depth == 0) != (way->other == TOOL_EDGES_OUTSIDE))
                    continue;
                cost += depth > 0 ? (rests - count)[way->other] : 0u;
                least = cost < least ? cost : least;
            }
            rests[f] = (uint16_t)least;
        }
    }
}

static uint32_t rest_of(const struct tool_search *search, uint32_t function, uint32_t left)
{
    if (left == UINT32_MAX || search->rest_depths == 0)
        return 0;
    uint32_t depth = left < search->rest_depths ? left : search->rest_depths - 1;
    uint32_t cost = search->rests[depth * search->edges->function_count + function];
    return cost < REST_MOST ? cost : REST_MOST;
}

void tool_search_open(struct tool_search *search, const struct tool_edges *edges,
                      const struct tool_search_options *options)
{
    *search = (struct tool_search){.edges = edges, .options = *options};
    make_ways(search, true, &search->ins, &search->in_first);
    make_ways(search, false, &search->outs, &search->out_first);
    make_afters(search);
    if (edges->context_count <= 1)
        make_rests(search); /* what was seen says more */
    tool_search_make_prefixes(search);
    search->nodes = tool_allocate(options->nodes_most + 1, sizeof *search->nodes);
}

void tool_search_close(struct tool_search *search)
{
    free(search->ins);
    free(search->outs);
    free(search->in_first);
    free(search->out_first);
    free(search->afters);
    free(search->after_first);
    free(search->befores);
    free(search->before_first);
    free(search->rests);
    free(search->prefixes);
    free(search->places);
    free(search->filter);
    free(search->nodes);
    *search = (struct tool_search){0};
}

/* ---- suffixes ---- */

struct running {
    struct tool_search *search;
    tool_search_take take;
    void *context;
    uint32_t heads[TOOL_SEARCH_COST_MAX + 1]; /* plus 1 */
    uint32_t lowest;                          /* cost at which there may be a suffix */
    uint64_t looked, looked_most;
    bool is_any, is_cut;
    uint32_t *functions;
    size_t capacity;
};

/* A prefix, then the suffix of `node`. */
static void found(struct running *running, const struct tool_search_prefix *prefix,
                  const struct tool_search_node *node)
{
    const struct tool_search *search = running->search;
    bool is_affine = search->options.operation == TTAPE_CONTEXT_AFFINE;
    uint32_t way = tool_search_find_way(search, prefix->function, node->function);
    struct tool_search_found stack = {.cost = (uint32_t)prefix->cost + node->cost,
                                      .news = (uint32_t)prefix->news + node->news};
    if (way == NONE && !is_affine)
        return;
    stack.unknown = way == NONE;
    stack.news += way == NONE || search->ins[way].is_new;
    stack.cost += way == NONE ? UNKNOWN_COST : search->ins[way].cost;
    if (stack.news > search->options.news_most)
        return;
    const struct tool_search_node *at = node;
    size_t depth = prefix->depth;
    tool_grow((void **)&running->functions, &running->capacity, depth + 1,
              sizeof *running->functions);
    for (; at != NULL; at = at->inner == NONE ? NULL : &search->nodes[at->inner]) {
        tool_grow((void **)&running->functions, &running->capacity, depth + 1,
                  sizeof *running->functions);
        running->functions[depth++] = at->function;
    }
    for (size_t i = prefix->depth; i > 0; i--) {
        running->functions[i - 1] = prefix->function;
        prefix = &search->prefixes[prefix->around];
    }
    stack.functions = running->functions;
    stack.depth = (uint32_t)depth;
    running->take(running->context, &stack);
    if (is_affine && !running->is_any) {
        uint64_t more = running->looked < MORE_MOST ? running->looked : MORE_MOST;
        if (running->looked_most > running->looked + more)
            running->looked_most = running->looked + more;
    }
    running->is_any = true;
}

/* A suffix one function longer, of the one that is `inner` (NONE: the value itself). */
static void step(struct running *running, uint32_t function, uint32_t inner, uint32_t way,
                 uint64_t value, uint32_t left, uint32_t cost, uint32_t news)
{
    struct tool_search *search = running->search;
    const struct tool_search_prefix *prefix;
    size_t at = 0;
    struct tool_search_node node = {.value =
                                        ttape_context_leave(search->options.operation, value,
                                                            search->edges->functions[function].id),
                                    .function = function,
                                    .way = way,
                                    .inner = inner,
                                    .left = left == UINT32_MAX ? left : left - 1,
                                    .cost = (uint16_t)cost,
                                    .news = (uint8_t)news};
    running->looked++;
    while (tool_search_may_be(search, node.value) &&
           (prefix = tool_search_prefix_at(search, node.value, &at)) != NULL)
        if (node.left == UINT32_MAX || prefix->depth == node.left)
            found(running, prefix, &node);
    if (node.left <= search->complete_depth) {
        /* with known calls it would have been found: a call that nobody knows is left */
        if (search->options.operation != TTAPE_CONTEXT_AFFINE || node.left == 0 ||
            news >= search->options.news_most)
            return;
        cost += node.left == search->complete_depth ? UNKNOWN_COST : 0;
        node.cost = (uint16_t)cost;
    }
    if (cost > TOOL_SEARCH_COST_MAX)
        return;
    if (search->node_count == search->options.nodes_most) {
        running->is_cut = true;
        return;
    }
    uint32_t whole = cost + rest_of(search, function, node.left);
    if (whole > TOOL_SEARCH_COST_MAX)
        return;
    node.next = running->heads[whole];
    search->nodes[search->node_count] = node;
    running->heads[whole] = (uint32_t)++search->node_count;
    running->lowest = whole < running->lowest ? whole : running->lowest;
}

/* What calls may have led to the node's function: those in front of its own call first. */
static void expand(struct running *running, uint32_t number)
{
    struct tool_search *search = running->search;
    const struct tool_search_node node = search->nodes[number];
    uint32_t after = 0, end = 0;
    if (node.way != NONE) {
        after = search->after_first[node.way];
        end = search->after_first[node.way + 1];
    }
    for (uint32_t i = search->in_first[node.function]; i < search->in_first[node.function + 1];
         i++) {
        const struct tool_search_way *way = &search->ins[i];
        uint32_t cost = node.cost + way->cost + (way->is_new ? 0 : TOOL_SEARCH_COST_OTHER);
        while (after < end && search->afters[after].way < i)
            after++;
        if (after < end && search->afters[after].way == i)
            cost = node.cost + search->afters[after].cost;
        if (cost > TOOL_SEARCH_COST_MAX || way->other == TOOL_EDGES_OUTSIDE)
            continue;
        if (node.news + way->is_new > search->options.news_most)
            continue;
        step(running, way->other, number, i, node.value, node.left, cost,
             (uint32_t)node.news + way->is_new);
    }
}

static void begin(struct running *running, uint64_t value, uint32_t depth)
{
    const struct tool_edges *edges = running->search->edges;
    uint64_t whole = 0;
    for (size_t i = 1; i < edges->function_count; i++)
        whole += edges->functions[i].weight;
    for (size_t i = 1; i < edges->function_count; i++) {
        uint64_t weight = edges->functions[i].weight;
        uint32_t cost = weight != 0 ? tool_search_cost(weight, whole)
                                    : LEAF_COST + tool_search_cost(1, edges->function_count);
        step(running, (uint32_t)i, NONE, NONE, value, depth, cost, 0);
    }
}

bool tool_search_run(struct tool_search *search, uint64_t value, uint32_t depth,
                     tool_search_take take, void *context)
{
    struct running *running = tool_allocate(1, sizeof *running);
    running->search = search;
    running->take = take;
    running->context = context;
    running->looked_most = search->options.nodes_most * LOOKED_EACH;
    search->node_count = 0;
    if (depth != 0)
        begin(running, value, depth);
    while (running->lowest <= TOOL_SEARCH_COST_MAX) {
        uint32_t cost = running->lowest, number = running->heads[cost];
        if (number == 0) {
            running->lowest++;
            continue;
        }
        if (running->looked > running->looked_most)
            break;
        running->heads[cost] = search->nodes[number - 1].next;
        expand(running, number - 1);
    }
    bool is_whole = !running->is_cut;
    search->looked = running->looked;
    free(running->functions);
    free(running);
    return is_whole;
}

/* Functions, edges and contexts in tables that only grow. */
#include "program/callgraph/edges.h"

#include <string.h>

#include <tracetape/context.h>

#include "base/text.h"

static uint64_t pair(uint32_t one, uint32_t other) { return (uint64_t)one << 32 | other; }

uint64_t tool_module_seed(const ttape_module *module)
{
    char name[5 + 256] = "file:";
    ttape_string base = ttp_path_base(module->path);
    size_t size = base.size_bytes < sizeof name - 5 ? base.size_bytes : sizeof name - 5;
    if (module->build_id.size_bytes != 0)
        return ttape_context_seed(module->build_id.data, module->build_id.size_bytes);
    memcpy(name + 5, base.data, size);
    return ttape_context_seed(name, 5 + size);
}

static void *add_item(struct tool_edges *edges, void *array, size_t *count, size_t *capacity,
                      size_t item_bytes)
{
    return ttp_region_add(&edges->region, array, count, capacity, item_bytes);
}

static struct tool_edge_function *add_function(struct tool_edges *edges)
{
    return add_item(edges, &edges->functions, &edges->function_count, &edges->function_capacity,
                    sizeof *edges->functions);
}

static struct tool_edge_context *add_context(struct tool_edges *edges)
{
    return add_item(edges, &edges->contexts, &edges->context_count, &edges->context_capacity,
                    sizeof *edges->contexts);
}

bool tool_edges_open(struct tool_edges *edges, size_t contexts_most, uint64_t memory_bytes)
{
    *edges =
        (struct tool_edges){.contexts_most = contexts_most, .region = ttp_region_of(memory_bytes)};
    struct tool_edge_context *first = add_context(edges);
    if (first == NULL || add_function(edges) == NULL)
        return false;
    *first = (struct tool_edge_context){.around = TTAPE_NONE, .function = TOOL_EDGES_OUTSIDE};
    return true;
}

void tool_edges_close(struct tool_edges *edges)
{
    ttp_region_close(&edges->region);
    *edges = (struct tool_edges){0};
}

uint32_t tool_edges_function(struct tool_edges *edges, uint64_t key)
{
    uint32_t *number = ttp_region_at(&edges->region, &edges->by_key, key, TTAPE_NONE);
    if (*number != TTAPE_NONE)
        return *number;
    struct tool_edge_function *function = add_function(edges);
    if (function == NULL)
        return *number = TOOL_EDGES_OUTSIDE;
    function->key = function->id = key;
    return *number = (uint32_t)edges->function_count - 1;
}

struct tool_edge *tool_edges_edge(struct tool_edges *edges, uint32_t from, uint32_t to)
{
    uint32_t *number = ttp_region_at(&edges->region, &edges->by_ends, pair(from, to), TTAPE_NONE);
    if (*number != TTAPE_NONE)
        return &edges->edges[*number];
    struct tool_edge *edge =
        add_item(edges, &edges->edges, &edges->edge_count, &edges->edge_capacity, sizeof *edge);
    if (edge == NULL)
        return &edges->lost;
    *number = (uint32_t)edges->edge_count - 1;
    edge->from = from;
    edge->to = to;
    return edge;
}

const struct tool_edge *tool_edges_find(const struct tool_edges *edges, uint32_t from, uint32_t to)
{
    uint32_t number = ttp_key_map_find(&edges->by_ends, pair(from, to), TTAPE_NONE);
    return number != TTAPE_NONE ? &edges->edges[number] : NULL;
}

uint32_t tool_edges_context(struct tool_edges *edges, uint32_t around, uint32_t function)
{
    uint32_t *number =
        ttp_region_at(&edges->region, &edges->by_place, pair(around, function), TTAPE_NONE);
    if (*number != TTAPE_NONE || edges->context_count >= edges->contexts_most)
        return *number;
    struct tool_edge_context *context = add_context(edges);
    if (context == NULL)
        return TTAPE_NONE;
    context->around = around;
    context->function = function;
    return *number = (uint32_t)edges->context_count - 1;
}

/* So that a loop's contexts do not hide all others. */
static uint64_t weight_of(uint64_t entered)
{
    return entered == 0 ? 0 : 64 - (uint64_t)__builtin_clzll(entered);
}

/* A context comes behind the one around it: from the last one on, each weight is whole when it is
 * passed on. */
void tool_edges_weigh(struct tool_edges *edges)
{
    for (size_t i = edges->context_count; i-- > 1;) {
        struct tool_edge_context *context = &edges->contexts[i];
        uint64_t own = weight_of(context->entered);
        context->weight += own;
        edges->contexts[context->around].weight += context->weight;
        edges->functions[context->function].weight += own;
        struct tool_edge *edge =
            tool_edges_edge(edges, edges->contexts[context->around].function, context->function);
        edge->kinds |= TOOL_EDGE_SEEN;
        edge->weight += context->weight;
        edge->last++;
    }
    for (size_t i = 0; i < edges->edge_count; i++)
        if ((edges->edges[i].kinds & TOOL_EDGE_SEEN) != 0 && edges->edges[i].weight == 0)
            edges->edges[i].weight = 1;
}

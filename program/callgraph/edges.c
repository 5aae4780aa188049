/* Functions, edges and contexts in tables that only grow. */
#include "program/callgraph/edges.h"

#include <stdlib.h>
#include <string.h>

static uint64_t pair(uint32_t one, uint32_t other) { return (uint64_t)one << 32 | other; }

void tool_edges_open(struct tool_edges *edges, size_t contexts_most)
{
    *edges = (struct tool_edges){.contexts_most = contexts_most};
    tool_grow((void **)&edges->functions, &edges->function_capacity, 1, sizeof *edges->functions);
    tool_grow((void **)&edges->contexts, &edges->context_capacity, 1, sizeof *edges->contexts);
    edges->functions[edges->function_count++] = (struct tool_edge_function){0};
    edges->contexts[edges->context_count++] =
        (struct tool_edge_context){.around = TTAPE_NONE, .function = TOOL_EDGES_OUTSIDE};
}

void tool_edges_close(struct tool_edges *edges)
{
    for (size_t i = 0; i < edges->function_count; i++)
        free(edges->functions[i].name);
    free(edges->functions);
    free(edges->edges);
    free(edges->contexts);
    tool_map_close(&edges->by_key);
    tool_map_close(&edges->by_ends);
    tool_map_close(&edges->by_place);
    *edges = (struct tool_edges){0};
}

uint32_t tool_edges_function(struct tool_edges *edges, uint64_t key)
{
    uint32_t *number = tool_map_at(&edges->by_key, key, TTAPE_NONE);
    if (*number != TTAPE_NONE)
        return *number;
    *number = (uint32_t)edges->function_count;
    tool_grow((void **)&edges->functions, &edges->function_capacity, edges->function_count + 1,
              sizeof *edges->functions);
    edges->functions[edges->function_count++] = (struct tool_edge_function){.key = key, .id = key};
    return (uint32_t)edges->function_count - 1;
}

struct tool_edge *tool_edges_edge(struct tool_edges *edges, uint32_t from, uint32_t to)
{
    uint32_t *number = tool_map_at(&edges->by_ends, pair(from, to), TTAPE_NONE);
    if (*number == TTAPE_NONE) {
        *number = (uint32_t)edges->edge_count;
        tool_grow((void **)&edges->edges, &edges->edge_capacity, edges->edge_count + 1,
                  sizeof *edges->edges);
        edges->edges[edges->edge_count++] = (struct tool_edge){.from = from, .to = to};
    }
    return &edges->edges[*number];
}

const struct tool_edge *tool_edges_find(const struct tool_edges *edges, uint32_t from, uint32_t to)
{
    uint32_t number = tool_map_find(&edges->by_ends, pair(from, to), TTAPE_NONE);
    return number != TTAPE_NONE ? &edges->edges[number] : NULL;
}

uint32_t tool_edges_context(struct tool_edges *edges, uint32_t around, uint32_t function)
{
    uint32_t *number = tool_map_at(&edges->by_place, pair(around, function), TTAPE_NONE);
    if (*number != TTAPE_NONE || edges->context_count >= edges->contexts_most)
        return *number;
    *number = (uint32_t)edges->context_count;
    tool_grow((void **)&edges->contexts, &edges->context_capacity, edges->context_count + 1,
              sizeof *edges->contexts);
    edges->contexts[edges->context_count++] =
        (struct tool_edge_context){.around = around, .function = function};
    return (uint32_t)edges->context_count - 1;
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

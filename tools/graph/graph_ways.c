/* A node is asked for by its function's stable id. */
#include "tools/graph/graph_ways.h"

#include <stdlib.h>

#include "program/callgraph/edges.h"
#include "tools/command/memory_limit.h"
#include "tools/command/tool_map.h"

/* The function that a node is, as hooks and files know it. False: it is none, or in no module. */
static bool find_id(const struct tool_graph *graph, uint32_t node, ttape_module *module,
                    ttape_string *symbol, uint64_t *id)
{
    const ttape_graph_node *of = &graph->nodes[node];
    const ttape_function *function = &graph->functions[of->function];
    ttape_site site;
    if (of->kind != TTAPE_GRAPH_FUNCTION ||
        ttape_reader_get_site(graph->input->reader, function->site, &site) != TTAPE_OK ||
        site.kind != TTAPE_SITE_FUNCTION ||
        ttape_reader_get_module(graph->input->reader, site.module, module) != TTAPE_OK)
        return false;
    *symbol = site.symbol;
    *id = ttape_context_id(tool_module_seed(module), site.address - module->start);
    return true;
}

static void read_modules(struct tool_call_ways *ways, struct tool_graph_ways *found,
                         const struct tool_graph *graph)
{
    struct ttp_key_map missing = {0};
    ttape_module module;
    ttape_string symbol;
    uint64_t id;
    for (uint32_t i = 0; i < graph->info.node_count; i++) {
        if (!find_id(graph, i, &module, &symbol, &id) || tool_call_ways_add(ways, &module) ||
            module.path.size_bytes == 0 || module.path.data[0] != '/') /* the kernel's vdso */
            continue;
        uint32_t *is_known = tool_map_at(&missing, tool_module_seed(&module), 0);
        if (*is_known == 0 && found->missing++ == 0)
            found->first_missing = module.path;
        *is_known = 1;
    }
    tool_map_close(&missing);
    if (!tool_call_ways_join(ways))
        tool_memory_short();
}

void tool_graph_ways_open(struct tool_graph_ways *found, const struct tool_graph *graph,
                          uint64_t memory_bytes)
{
    struct tool_call_ways *ways = tool_call_ways_open(memory_bytes, tool_memory_left());
    if (ways == NULL)
        tool_memory_short();
    ttape_module module;
    ttape_string symbol;
    uint64_t from, to;
    *found = (struct tool_graph_ways){.of_edge = tool_allocate(graph->info.edge_count + 1, 1)};
    read_modules(ways, found, graph);
    for (uint32_t i = 0; i < graph->info.edge_count; i++) {
        const ttape_graph_edge *edge = &graph->edges[i];
        enum tool_call_way way = TOOL_WAY_UNKNOWN;
        if (find_id(graph, edge->from, &module, &symbol, &from) &&
            find_id(graph, edge->to, &module, &symbol, &to))
            way = tool_call_way(ways, from, to, symbol);
        found->of_edge[i] = (uint8_t)way;
        found->calls[way] += edge->sum.call_count - edge->sum.start_count - edge->sum.through_count;
    }
    tool_call_ways_close(ways);
}

void tool_graph_ways_close(struct tool_graph_ways *found) { free(found->of_edge); }

/* What characterises a graph: sizes, kinds of calls, recursion, cycles, the hottest, the modules.
 *
 * Direct calls were made by the function that is below them on the stack. Whether the program did
 * so through a pointer, no trace tells: graph_ways.c asks its files. All other calls have no caller
 * on their stack that is shown: first routines of threads and stacks, signal handlers, what was
 * called through pruned functions. */
#include <stdlib.h>
#include <string.h>

#include "base/ranks.h"
#include "base/text.h"
#include "base/time_sum.h"
#include "tools/command/tool.h"
#include "tools/command/tool_map.h"
#include "tools/graph/graph_view.h"

/* ---- cycles: Tarjan's strongly connected components, without recursion ---- */

struct search {
    const struct tool_graph *graph;
    bool with_spawns;
    uint32_t *index, *low, *stack, *path, *next;
    bool *is_on_stack;
    uint32_t count, stack_count, cycle_count, largest;
};

/* Starting a thread (a stack, a handler) is no call. */
static bool is_call(const ttape_graph_edge *edge)
{
    return edge->sum.call_count > edge->sum.start_count || edge->sum.call_count == 0;
}

static void open_node(struct search *s, uint32_t node)
{
    s->index[node] = s->low[node] = ++s->count;
    s->stack[s->stack_count++] = node;
    s->is_on_stack[node] = true;
    s->next[node] = 0;
}

static void close_node(struct search *s, uint32_t node)
{
    uint32_t size = 0, top;
    if (s->low[node] != s->index[node])
        return;
    do {
        top = s->stack[--s->stack_count];
        s->is_on_stack[top] = false;
        size++;
    } while (top != node);
    if (size > 1) {
        s->cycle_count++;
        s->largest = size > s->largest ? size : s->largest;
    }
}

static void visit(struct search *s, uint32_t start)
{
    uint32_t depth = 0;
    open_node(s, start);
    s->path[depth++] = start;
    while (depth > 0) {
        uint32_t node = s->path[depth - 1];
        uint32_t count;
        const uint32_t *edges = ttape_graph_get_callees(s->graph->made, node, &count);
        if (s->next[node] < count) {
            const ttape_graph_edge *edge = &s->graph->edges[edges[s->next[node]++]];
            if (!s->with_spawns && !is_call(edge))
                continue;
            if (s->index[edge->to] == 0) {
                open_node(s, edge->to);
                s->path[depth++] = edge->to;
            } else if (s->is_on_stack[edge->to] && s->index[edge->to] < s->low[node]) {
                s->low[node] = s->index[edge->to];
            }
            continue;
        }
        close_node(s, node);
        depth--;
        if (depth > 0 && s->low[node] < s->low[s->path[depth - 1]])
            s->low[s->path[depth - 1]] = s->low[node];
    }
}

static void find_cycles(const struct tool_graph *graph, bool with_spawns, uint32_t *cycles,
                        uint32_t *largest)
{
    size_t count = graph->info.node_count;
    struct search s = {.graph = graph, .with_spawns = with_spawns};
    uint32_t *memory = tool_allocate(5 * count, sizeof(uint32_t));
    s.is_on_stack = tool_allocate(count, sizeof(bool));
    s.index = memory;
    s.low = memory + count;
    s.stack = memory + 2 * count;
    s.path = memory + 3 * count;
    s.next = memory + 4 * count;
    for (uint32_t i = 0; i < count; i++)
        if (s.index[i] == 0)
            visit(&s, i);
    *cycles = s.cycle_count;
    *largest = s.largest;
    free(memory);
    free(s.is_on_stack);
}

/* ---- counts ---- */

static void add_edges(const struct tool_graph *graph, struct tool_graph_summary *summary)
{
    for (size_t i = 0; i < graph->info.edge_count; i++) {
        const ttape_graph_edge *edge = &graph->edges[i];
        const ttape_graph_counts *counts = &edge->sum;
        summary->edge_count += edge->is_kept;
        summary->direct_calls += counts->call_count - counts->start_count - counts->through_count;
        summary->through_calls += counts->through_count;
        if (graph->nodes[edge->to].kind == TTAPE_GRAPH_SIGNAL)
            summary->signal_calls += counts->start_count;
        else if (edge->from == TTAPE_GRAPH_START)
            summary->start_calls += counts->start_count;
        else
            summary->spawned_calls += counts->start_count;
    }
}

static void add_nodes(const struct tool_graph *graph, struct tool_graph_summary *summary)
{
    summary->recursive_node = TTAPE_NONE;
    for (uint32_t i = 0; i < graph->info.node_count; i++) {
        const ttape_graph_node *node = &graph->nodes[i];
        if (!node->is_kept)
            continue;
        summary->node_count++;
        summary->recursive_calls += node->sum.recursion_count;
        if (node->depth > 1 && node->depth > summary->recursion_depth) {
            summary->recursion_depth = node->depth;
            summary->recursive_node = i;
        }
    }
}

void tool_graph_summarize(const struct tool_graph *graph, struct tool_graph_summary *summary)
{
    uint32_t largest, plain;
    struct ttp_key_map processes = {0};
    *summary = (struct tool_graph_summary){.max_depth = graph->info.max_depth};
    add_edges(graph, summary);
    add_nodes(graph, summary);
    find_cycles(graph, true, &summary->cycle_count, &summary->largest_cycle);
    find_cycles(graph, false, &plain, &largest);
    summary->cycles_by_threads = summary->cycle_count > plain ? summary->cycle_count - plain : 0;
    for (uint32_t i = 0; i < graph->info.thread_count; i++) {
        uint32_t levels = graph->threads[i].level + 1;
        summary->level_count = levels > summary->level_count ? levels : summary->level_count;
        uint32_t *seen = tool_map_at(&processes, graph->threads[i].process, 0);
        summary->process_count += *seen == 0;
        *seen = 1;
    }
    tool_map_close(&processes);
}

/* ---- modules ---- */

static int compare_modules(const void *a, const void *b)
{
    const struct tool_graph_module *one = a, *two = b;
    if (one->self_ns != two->self_ns)
        return one->self_ns > two->self_ns ? -1 : 1;
    return one->calls != two->calls ? (one->calls > two->calls ? -1 : 1) : 0;
}

static uint32_t find_module(struct ttp_key_map *map, struct tool_graph_module *modules,
                            size_t *count, ttape_string path)
{
    struct ttp_hash hash = ttp_key_map_hash(map);
    ttp_hash_bytes(&hash, path.data, path.size_bytes);
    for (uint64_t key = hash.low;; key++) {
        uint32_t *place = tool_map_at(map, key, TTAPE_NONE);
        if (*place == TTAPE_NONE) {
            modules[*count] = (struct tool_graph_module){.path = path};
            *place = (uint32_t)(*count)++;
        }
        if (ttp_is_same_text(modules[*place].path, path))
            return *place;
    }
}

size_t tool_graph_modules(const struct tool_graph *graph, struct tool_graph_module **modules)
{
    struct ttp_key_map map = {0};
    size_t count = 0;
    *modules = tool_allocate(graph->info.node_count, sizeof(**modules));
    for (size_t i = 0; i < graph->info.node_count; i++) {
        const ttape_graph_node *node = &graph->nodes[i];
        if (node->kind != TTAPE_GRAPH_FUNCTION)
            continue;
        ttape_string path = graph->functions[node->function].module_path;
        struct tool_graph_module *found = &(*modules)[find_module(&map, *modules, &count, path)];
        found->calls += node->sum.call_count;
        ttp_sum_ns(&found->self_ns, node->sum.self_ns);
        found->function_count += node->sum.call_count > 0 || node->sum.total_ns != 0;
    }
    tool_map_close(&map);
    if (count > 1)
        qsort(*modules, count, sizeof(**modules), compare_modules);
    return count;
}

/* ---- the hottest ---- */

size_t tool_graph_hottest(const struct tool_graph *graph, bool of_edges, uint32_t **indices)
{
    size_t all = of_edges ? graph->info.edge_count : graph->info.node_count, count = 0;
    struct ttp_rank *order = tool_allocate(all + 1, sizeof(*order));
    for (uint32_t i = 0; i < all; i++) {
        const ttape_graph_counts *sum = of_edges ? &graph->edges[i].sum : &graph->nodes[i].sum;
        bool counts = of_edges
                          ? graph->edges[i].is_kept && !tool_graph_is_recursion(&graph->edges[i])
                          : graph->nodes[i].is_kept && i != TTAPE_GRAPH_START;
        int64_t time_ns = of_edges ? sum->total_ns : sum->self_ns;
        if (counts)
            order[count++] = (struct ttp_rank){
                .index = i, .weight = ttp_weight_of_ns(time_ns), .calls = sum->call_count};
    }
    ttp_sort_ranks(order, count);
    *indices = tool_allocate(count + 1, sizeof(uint32_t));
    for (size_t i = 0; i < count; i++)
        (*indices)[i] = order[i].index;
    free(order);
    return count;
}

/* Pruning: which nodes and edges stay, and that what stays hangs together.
 *
 * Nodes: the trace is read again, passing over frames of pruned functions. So the edge from a kept
 * function to its closest kept caller is exact, call by call, and no edge joins what no stack
 * joined: each stands for a path of the complete graph, therefore no cycle is new. The own time of
 * pruned functions is their closest kept caller's below_ns.
 *
 * Edges: those below the limits are left out, but for the heaviest that keep every node connected
 * with the start. What they carried stays in the nodes' counts. */
#include <stdlib.h>

#include "tools/calls/ranks.h"
#include "tools/command/tool.h"
#include "tools/graph/graph_model.h"

double tool_graph_share(const struct tool_graph *graph, int64_t time_ns, uint64_t calls)
{
    if (graph->has_times)
        return graph->span_ns > 0 ? (double)time_ns / (double)graph->span_ns : 0;
    return graph->call_count > 0 ? (double)calls / (double)graph->call_count : 0;
}

static bool reaches(const struct tool_graph *graph, const struct tool_graph_limits *limits,
                    int64_t time_ns, uint64_t calls)
{
    if (tool_graph_share(graph, time_ns, calls) < limits->min_share || calls < limits->min_calls)
        return false;
    return !graph->has_times || limits->min_ns == 0 ||
           (time_ns >= 0 && (uint64_t)time_ns >= limits->min_ns);
}

/* ---- nodes ---- */

/* The `top` hottest of the nodes that are kept, by their own time. */
static void keep_top(struct tool_graph *graph, uint64_t top)
{
    struct tool_rank *order = tool_allocate(graph->node_count, sizeof(*order));
    size_t count = 0;
    for (size_t i = 1; i < graph->node_count; i++) {
        const struct tool_graph_node *node = &graph->nodes[i];
        if (node->is_kept)
            order[count++] = (struct tool_rank){.index = (uint32_t)i,
                                                .weight = tool_weight_of_ns(node->sum.self_ns),
                                                .calls = node->sum.calls};
    }
    tool_sort_ranks(order, count);
    for (uint64_t i = top; i < count; i++)
        graph->nodes[order[i].index].is_kept = false;
    free(order);
}

uint64_t tool_graph_choose(struct tool_graph *graph, const struct tool_graph_limits *limits)
{
    uint64_t left_out = 0;
    for (size_t i = 1; i < graph->node_count; i++) {
        struct tool_graph_node *node = &graph->nodes[i];
        int64_t time_ns = limits->by_self ? node->sum.self_ns : node->sum.total_ns;
        node->is_kept = reaches(graph, limits, time_ns, node->sum.calls);
    }
    if (limits->top > 0)
        keep_top(graph, limits->top);
    for (size_t i = 1; i < graph->node_count; i++)
        left_out += !graph->nodes[i].is_kept;
    return left_out;
}

/* ---- edges ---- */

static bool is_heavier(const struct tool_graph *graph, uint32_t one, uint32_t two)
{
    const struct tool_graph_counts *a = &graph->edges[one].sum, *b = &graph->edges[two].sum;
    return a->total_ns != b->total_ns ? a->total_ns > b->total_ns : a->calls > b->calls;
}

/* Marks what kept edges lead to from what is marked; `todo` holds nodes just marked. */
static void spread(const struct tool_graph *graph, const uint32_t *first, const uint32_t *outgoing,
                   bool *is_marked, uint32_t *todo, size_t todo_count)
{
    while (todo_count > 0) {
        uint32_t node = todo[--todo_count];
        for (uint32_t i = first[node]; i < first[node + 1]; i++) {
            const struct tool_graph_edge *edge = &graph->edges[outgoing[i]];
            if (edge->is_kept && !is_marked[edge->to]) {
                is_marked[edge->to] = true;
                todo[todo_count++] = edge->to;
            }
        }
    }
}

/* The heaviest edge from what is connected to what is not. */
static uint32_t bridge(const struct tool_graph *graph, const bool *is_marked)
{
    uint32_t best = TTAPE_NONE;
    for (uint32_t i = 0; i < graph->edge_count; i++) {
        const struct tool_graph_edge *edge = &graph->edges[i];
        if (is_marked[edge->from] && !is_marked[edge->to] &&
            (best == TTAPE_NONE || is_heavier(graph, i, best)))
            best = i;
    }
    return best;
}

static void connect(struct tool_graph *graph)
{
    uint32_t *first = tool_allocate(graph->node_count + 2, sizeof(uint32_t));
    uint32_t *outgoing = tool_allocate(graph->edge_count + 1, sizeof(uint32_t));
    uint32_t *todo = tool_allocate(graph->node_count + 1, sizeof(uint32_t));
    bool *is_marked = tool_allocate(graph->node_count, sizeof(bool));
    for (size_t i = 0; i < graph->edge_count; i++)
        first[graph->edges[i].from + 2]++;
    for (size_t i = 0; i < graph->node_count; i++)
        first[i + 1] += first[i];
    for (uint32_t i = 0; i < graph->edge_count; i++)
        outgoing[first[graph->edges[i].from + 1]++] = i;
    uint32_t reached = TOOL_GRAPH_START;
    for (uint32_t edge; reached != TTAPE_NONE;
         reached = edge != TTAPE_NONE ? graph->edges[edge].to : TTAPE_NONE) {
        is_marked[reached] = true;
        todo[0] = reached;
        spread(graph, first, outgoing, is_marked, todo, 1);
        edge = bridge(graph, is_marked);
        if (edge != TTAPE_NONE)
            graph->edges[edge].is_kept = true;
    }
    free(first);
    free(outgoing);
    free(todo);
    free(is_marked);
}

void tool_graph_thin(struct tool_graph *graph, const struct tool_graph_limits *limits)
{
    for (size_t i = 0; i < graph->edge_count; i++) {
        struct tool_graph_edge *edge = &graph->edges[i];
        edge->is_kept = tool_graph_is_recursion(edge) ||
                        reaches(graph, limits, edge->sum.total_ns, edge->sum.calls);
    }
    connect(graph);
    graph->pruned_edges = 0;
    for (size_t i = 0; i < graph->edge_count; i++)
        graph->pruned_edges += !graph->edges[i].is_kept;
}

int tool_graph_prune(struct tool_graph *graph, const struct tool_graph_limits *limits)
{
    int status = TOOL_OK;
    graph->pruned_nodes = tool_graph_choose(graph, limits);
    graph->pruned_calls = 0;
    for (size_t i = 1; i < graph->node_count; i++)
        graph->pruned_calls += graph->nodes[i].is_kept ? 0 : graph->nodes[i].sum.calls;
    if (graph->pruned_nodes > 0)
        status = tool_graph_remake(graph);
    tool_graph_thin(graph, limits);
    return status;
}

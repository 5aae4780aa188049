/* Pruning: which nodes and edges stay, and that what stays hangs together.
 *
 * Nodes: the trace is read again, passing over frames of pruned functions. So the edge from a kept
 * function to its closest kept caller is exact, call by call, and no edge joins what no stack
 * joined: each stands for a path of the complete graph, therefore no cycle is new. The own time of
 * pruned functions is their closest kept caller's below_ns.
 *
 * Edges: those below the limits are left out, but for the heaviest that keep every node connected
 * with the start. What they carried stays in the nodes' counts. */
#include "answers/graph/graph_internal.h"
#include "base/sort.h"

static bool reaches(const struct ttape_graph *graph, int64_t time_ns, uint64_t calls)
{
    const ttape_graph_options *o = &graph->options;
    if (ttape_graph_share(&graph->info, time_ns, calls) < o->min_share || calls < o->min_calls)
        return false;
    return !graph->info.has_times || o->min_ns == 0 ||
           (time_ns >= 0 && (uint64_t)time_ns >= o->min_ns);
}

/* ---- nodes ---- */

static bool is_hotter(const void *context, uint32_t a, uint32_t b)
{
    const ttape_graph_node *nodes = context;
    const ttape_graph_counts *one = &nodes[a].sum, *two = &nodes[b].sum;
    if (one->self_ns != two->self_ns)
        return one->self_ns > two->self_ns;
    return one->call_count != two->call_count ? one->call_count > two->call_count : a < b;
}

/* The `top` hottest of the nodes that are kept, by their own time. */
static void keep_top(struct ttape_graph *graph)
{
    uint32_t count = 0, *order = ttp_graph_take(graph, graph->info.node_count, sizeof *order);
    if (order == NULL)
        return;
    for (uint32_t i = 1; i < graph->info.node_count; i++)
        if (graph->nodes[i].is_kept)
            order[count++] = i;
    ttp_sort(order, count, is_hotter, graph->nodes);
    for (uint64_t i = graph->options.top; i < count; i++)
        graph->nodes[order[i]].is_kept = false;
    ttp_memory_give(&graph->memory, order, graph->info.node_count, sizeof *order);
}

bool ttp_graph_choose(struct ttape_graph *graph)
{
    for (uint32_t i = 1; i < graph->info.node_count; i++) {
        ttape_graph_node *node = &graph->nodes[i];
        int64_t time_ns = graph->options.by_self ? node->sum.self_ns : node->sum.total_ns;
        node->is_kept = reaches(graph, time_ns, node->sum.call_count);
    }
    if (graph->options.top > 0)
        keep_top(graph);
    for (uint32_t i = 1; i < graph->info.node_count; i++) {
        bool is_kept = graph->nodes[i].is_kept;
        graph->info.pruned_node_count += !is_kept;
        graph->info.pruned_call_count += is_kept ? 0 : graph->nodes[i].sum.call_count;
    }
    return graph->info.pruned_node_count > 0;
}

/* ---- edges ---- */

static bool is_heavier(const struct ttape_graph *graph, uint32_t one, uint32_t two)
{
    const ttape_graph_counts *a = &graph->edges[one].sum, *b = &graph->edges[two].sum;
    return a->total_ns != b->total_ns ? a->total_ns > b->total_ns : a->call_count > b->call_count;
}

/* Marks what kept edges lead to from what is marked; `todo` holds nodes just marked. */
static void spread(const struct ttape_graph *graph, const uint32_t *first, const uint32_t *outgoing,
                   bool *is_marked, uint32_t *todo, uint32_t todo_count)
{
    while (todo_count > 0) {
        uint32_t node = todo[--todo_count];
        for (uint32_t i = first[node]; i < first[node + 1]; i++) {
            const ttape_graph_edge *edge = &graph->edges[outgoing[i]];
            if (edge->is_kept && !is_marked[edge->to]) {
                is_marked[edge->to] = true;
                todo[todo_count++] = edge->to;
            }
        }
    }
}

/* The heaviest edge from what is connected to what is not. */
static uint32_t bridge(const struct ttape_graph *graph, const bool *is_marked)
{
    uint32_t best = TTAPE_NONE;
    for (uint32_t i = 0; i < graph->info.edge_count; i++) {
        const ttape_graph_edge *edge = &graph->edges[i];
        if (is_marked[edge->from] && !is_marked[edge->to] &&
            (best == TTAPE_NONE || is_heavier(graph, i, best)))
            best = i;
    }
    return best;
}

/* Edges by the node at one of their ends, in the arrays that were taken: edges of a node are at
 * first[node] to first[node + 1]. kept: only those that are. */
static void group_edges(const struct ttape_graph *graph, bool by_from, bool kept, uint32_t *edges,
                        uint32_t *first)
{
    for (uint32_t i = 0; i < graph->info.edge_count; i++) {
        const ttape_graph_edge *edge = &graph->edges[i];
        if (!kept || edge->is_kept)
            first[by_from ? edge->from : edge->to]++;
    }
    for (uint32_t i = 0, end = 0; i <= graph->info.node_count; i++)
        first[i] = end += i < graph->info.node_count ? first[i] : 0;
    for (uint32_t i = graph->info.edge_count; i-- > 0;) {
        const ttape_graph_edge *edge = &graph->edges[i];
        if (!kept || edge->is_kept)
            edges[--first[by_from ? edge->from : edge->to]] = i;
    }
}

static void connect(struct ttape_graph *graph)
{
    uint32_t nodes = graph->info.node_count, edges = graph->info.edge_count;
    uint32_t *first = ttp_graph_take(graph, nodes + 1u, sizeof *first);
    uint32_t *outgoing = ttp_graph_take(graph, edges, sizeof *outgoing);
    uint32_t *todo = ttp_graph_take(graph, nodes, sizeof *todo);
    bool *is_marked = ttp_graph_take(graph, nodes, sizeof *is_marked);
    uint32_t reached = graph->status == TTAPE_OK ? TTAPE_GRAPH_START : TTAPE_NONE;
    if (reached != TTAPE_NONE)
        group_edges(graph, true, false, outgoing, first);
    for (uint32_t edge; reached != TTAPE_NONE;
         reached = edge != TTAPE_NONE ? graph->edges[edge].to : TTAPE_NONE) {
        is_marked[reached] = true;
        todo[0] = reached;
        spread(graph, first, outgoing, is_marked, todo, 1);
        edge = bridge(graph, is_marked);
        if (edge != TTAPE_NONE)
            graph->edges[edge].is_kept = true;
    }
    ttp_memory_give(&graph->memory, first, nodes + 1u, sizeof *first);
    ttp_memory_give(&graph->memory, outgoing, edges, sizeof *outgoing);
    ttp_memory_give(&graph->memory, todo, nodes, sizeof *todo);
    ttp_memory_give(&graph->memory, is_marked, nodes, sizeof *is_marked);
}

void ttp_graph_thin(struct ttape_graph *graph)
{
    for (uint32_t i = 0; i < graph->info.edge_count; i++) {
        ttape_graph_edge *edge = &graph->edges[i];
        edge->is_kept =
            edge->from == edge->to || reaches(graph, edge->sum.total_ns, edge->sum.call_count);
    }
    connect(graph);
    for (uint32_t i = 0; i < graph->info.edge_count; i++)
        graph->info.pruned_edge_count += !graph->edges[i].is_kept;
}

/* ---- callers and callees ---- */

static bool is_shown_before(const void *context, uint32_t a, uint32_t b)
{
    const struct ttape_graph *graph = context;
    return is_heavier(graph, a, b) || (!is_heavier(graph, b, a) && a < b);
}

void ttp_graph_order(struct ttape_graph *graph)
{
    graph->order_count = graph->info.edge_count;
    for (int i = 0; i < 2; i++) {
        uint32_t *edges = ttp_graph_take(graph, graph->order_count, sizeof *edges);
        uint32_t *first = ttp_graph_take(graph, graph->info.node_count + 1u, sizeof *first);
        graph->edge_order[i] = edges;
        graph->edge_first[i] = first;
        if (edges == NULL || first == NULL)
            return;
        group_edges(graph, i == 1, true, edges, first);
        for (uint32_t node = 0; node < graph->info.node_count; node++)
            ttp_sort(&edges[first[node]], first[node + 1] - first[node], is_shown_before, graph);
    }
}

/* A graph for programs: one object with threads, nodes, edges and, on demand, contexts and the
 * summary. Nodes are named by their place in `nodes` of the complete graph. */
#include <stdlib.h>

#include "tools/calls/json_place.h"
#include "tools/calls/losses.h"
#include "tools/graph/graph_view.h"
#include "tools/io/json.h"

static void put_threads(struct tool_graph_view *view, struct tool_json *json)
{
    const struct tool_graph *graph = view->graph;
    tool_json_begin(json, "threads", '[');
    for (uint32_t i = 0; i < graph->info.thread_count; i++) {
        const ttape_graph_thread *thread = &graph->threads[i];
        tool_json_begin(json, NULL, '{');
        tool_json_number(json, "thread", i);
        tool_json_number(json, "stream", thread->stream);
        tool_json_number(json, "pid", thread->pid);
        tool_json_number(json, "tid", thread->tid);
        tool_json_number(json, "start_ns", thread->start_ns);
        tool_json_number(json, "level", thread->level);
        tool_json_text(json, "known_by", tool_spawn_names[thread->source]);
        if (thread->parent != TTAPE_NONE) {
            tool_json_number(json, "started_by", thread->parent);
            tool_json_number(json, "started_in", thread->start_node);
        } else {
            tool_json_null(json, "started_by");
            tool_json_null(json, "started_in");
        }
        tool_json_number(json, "calls", thread->call_count);
        tool_json_number(json, "events", thread->event_count);
        tool_json_signed(json, "span_ns", thread->span_ns);
        tool_json_signed(json, "idle_ns",
                         tool_graph_idle(view->graph, thread->idle_ns, thread->blocked_ns));
        tool_json_end(json, '}');
    }
    tool_json_end(json, ']');
}

static void put_contexts(struct tool_graph_view *view, struct tool_json *json,
                         struct tool_graph_contexts which)
{
    const struct tool_graph *graph = view->graph;
    if (which.first == which.end)
        return;
    tool_json_begin(json, "contexts", '[');
    for (size_t i = which.first; i < which.end; i++) {
        const ttape_graph_context *context = &graph->contexts[view->order[i]];
        uint32_t parent = graph->threads[context->thread].parent;
        tool_json_begin(json, NULL, '{');
        tool_json_number(json, "thread", context->thread);
        if (context->is_edge && context->counts.start_count > 0 && parent != TTAPE_NONE)
            tool_json_number(json, "started_by", parent);
        tool_json_number(json, "calls", context->counts.call_count);
        tool_json_signed(json, "total_ns", context->counts.total_ns);
        if (!context->is_edge)
            tool_json_signed(json, "self_ns", context->counts.self_ns);
        tool_json_end(json, '}');
    }
    tool_json_end(json, ']');
}

/* Calls whose ends were not seen: at the earliest when it is said, or at the latest. */
static void put_ends(struct tool_json *json, const ttape_graph_counts *counts)
{
    if (counts->unseen_count != 0)
        tool_json_number(json, "unseen_ends", counts->unseen_count);
    if (counts->late_count != 0)
        tool_json_number(json, "late_ends", counts->late_count);
}

/* Times are those of single calls; null: none has both ends. */
static void put_times(struct tool_json *json, const ttape_graph_times *times)
{
    if (times->count == 0) {
        tool_json_null(json, "call_times");
        return;
    }
    int64_t count = times->count < INT64_MAX ? (int64_t)times->count : INT64_MAX;
    tool_json_begin(json, "call_times", '{');
    tool_json_number(json, "calls", times->count);
    tool_json_signed(json, "mean_ns", times->sum_ns / count);
    tool_json_signed(json, "min_ns", times->min_ns);
    tool_json_signed(json, "max_ns", times->max_ns);
    tool_json_signed(json, "self_mean_ns", times->self_sum_ns / count);
    tool_json_signed(json, "self_min_ns", times->self_min_ns);
    tool_json_signed(json, "self_max_ns", times->self_max_ns);
    tool_json_end(json, '}');
}

static void put_node(struct tool_graph_view *view, struct tool_json *json, uint32_t index)
{
    const struct tool_graph *graph = view->graph;
    const ttape_graph_node *node = &graph->nodes[index];
    const ttape_function *function = &graph->functions[node->function];
    ttape_site site = {0};
    char buffer[TOOL_LABEL_BYTES];
    (void)ttape_reader_get_site(graph->input->reader, function->site, &site);
    tool_json_begin(json, NULL, '{');
    tool_json_number(json, "node", index);
    tool_json_string(json, "name", tool_graph_name(view, index, buffer));
    tool_json_number(json, "level", node->level);
    tool_json_string_if(json, "module", function->module_path);
    tool_json_place(json, graph->input->reader, function->site);
    tool_json_string_if(json, "file", site.file);
    tool_json_number_if(json, "line", site.line > 0, site.line);
    tool_json_number(json, "calls", node->sum.call_count);
    tool_json_number(json, "recursive_calls", node->sum.recursion_count);
    tool_json_number(json, "depth", node->depth);
    tool_json_number(json, "threads", node->thread_count);
    tool_json_signed(json, "self_ns", node->sum.self_ns);
    tool_json_real(json, "self_share",
                   tool_graph_share(graph, node->sum.self_ns, node->sum.call_count));
    tool_json_signed(json, "total_ns", node->sum.total_ns);
    put_times(json, &node->times);
    put_ends(json, &node->sum);
    tool_json_signed(json, "pruned_ns", node->sum.below_ns);
    tool_json_signed(json, "idle_ns",
                     tool_graph_idle(graph, node->sum.idle_ns, node->sum.blocked_ns));
    put_contexts(view, json, tool_graph_node_contexts(view, index));
    tool_json_end(json, '}');
}

static void put_edge(struct tool_graph_view *view, struct tool_json *json, uint32_t index)
{
    const struct tool_graph *graph = view->graph;
    const ttape_graph_edge *edge = &graph->edges[index];
    tool_json_begin(json, NULL, '{');
    tool_json_number(json, "from", edge->from);
    tool_json_number(json, "to", edge->to);
    tool_json_number(json, "calls", edge->sum.call_count);
    tool_json_number(json, "started", edge->sum.start_count);
    tool_json_number(json, "indirect", edge->sum.through_count);
    put_ends(json, &edge->sum);
    tool_json_bool(json, "inferred", edge->is_inferred);
    const char *way = view->ways != NULL ? tool_way_names[view->ways->of_edge[index]] : NULL;
    if (way != NULL)
        tool_json_text(json, "way", way);
    if (tool_graph_is_recursion(edge)) {
        tool_json_number(json, "recursion", edge->sum.call_count);
    } else {
        tool_json_signed(json, "total_ns", edge->sum.total_ns);
        tool_json_real(json, "share",
                       tool_graph_share(graph, edge->sum.total_ns, edge->sum.call_count));
    }
    put_contexts(view, json, tool_graph_edge_contexts(view, index));
    tool_json_end(json, '}');
}

static void put_modules(struct tool_graph_view *view, struct tool_json *json)
{
    struct tool_graph_module *modules;
    size_t count = tool_graph_modules(view->graph, &modules);
    tool_json_begin(json, "modules", '[');
    for (size_t i = 0; i < count; i++) {
        tool_json_begin(json, NULL, '{');
        tool_json_string_if(json, "module", modules[i].path);
        tool_json_number(json, "functions", modules[i].function_count);
        tool_json_number(json, "calls", modules[i].calls);
        tool_json_signed(json, "self_ns", modules[i].self_ns);
        tool_json_real(json, "share",
                       tool_graph_share(view->graph, modules[i].self_ns, modules[i].calls));
        tool_json_end(json, '}');
    }
    tool_json_end(json, ']');
    free(modules);
}

static void put_hottest(struct tool_graph_view *view, struct tool_json *json, bool of_edges,
                        const char *key)
{
    uint32_t *order;
    size_t count = tool_graph_hottest(view->graph, of_edges, &order);
    tool_json_begin(json, key, '[');
    for (size_t i = 0; i < count && i < 5; i++) {
        if (!of_edges) {
            tool_json_number(json, NULL, order[i]);
            continue;
        }
        tool_json_begin(json, NULL, '[');
        tool_json_number(json, NULL, view->graph->edges[order[i]].from);
        tool_json_number(json, NULL, view->graph->edges[order[i]].to);
        tool_json_end(json, ']');
    }
    tool_json_end(json, ']');
    free(order);
}

static void put_ways(const struct tool_graph_ways *ways, struct tool_json *json)
{
    tool_json_begin(json, "direct_calls_by", '{');
    for (int way = TOOL_WAY_NAMED; way < TOOL_WAY_COUNT; way++)
        tool_json_number(json, tool_way_names[way], ways->calls[way]);
    tool_json_number(json, "unknown", ways->calls[TOOL_WAY_UNKNOWN]);
    tool_json_number(json, "missing_files", ways->missing);
    tool_json_end(json, '}');
}

static void put_summary(struct tool_graph_view *view, struct tool_json *json)
{
    struct tool_graph_summary summary;
    tool_graph_summarize(view->graph, &summary);
    tool_json_begin(json, "summary", '{');
    tool_json_number(json, "nodes", summary.node_count);
    tool_json_number(json, "edges", summary.edge_count);
    tool_json_number(json, "direct_calls", summary.direct_calls);
    if (view->ways != NULL)
        put_ways(view->ways, json);
    tool_json_number(json, "indirect_calls",
                     summary.start_calls + summary.spawned_calls + summary.signal_calls +
                         summary.through_calls);
    tool_json_number(json, "start_calls", summary.start_calls);
    tool_json_number(json, "started_calls", summary.spawned_calls);
    tool_json_number(json, "signal_calls", summary.signal_calls);
    tool_json_number(json, "pruned_path_calls", summary.through_calls);
    tool_json_number(json, "recursive_calls", summary.recursive_calls);
    tool_json_number(json, "recursion_depth", summary.recursion_depth);
    tool_json_number(json, "cycles", summary.cycle_count);
    tool_json_number(json, "largest_cycle", summary.largest_cycle);
    tool_json_number(json, "cycles_by_threads", summary.cycles_by_threads);
    tool_json_number(json, "stack_depth", summary.max_depth);
    tool_json_number(json, "processes", summary.process_count);
    tool_json_number(json, "threads", view->graph->info.thread_count);
    tool_json_number(json, "threading_levels", summary.level_count);
    put_hottest(view, json, false, "hottest_nodes");
    put_hottest(view, json, true, "hottest_edges");
    if (view->paths != NULL)
        tool_reach_hottest_json(view->paths, json);
    put_modules(view, json);
    tool_json_end(json, '}');
}

static void put_pruned(const struct tool_graph *graph, struct tool_json *json)
{
    tool_json_begin(json, "pruned", '{');
    tool_json_number(json, "nodes", graph->info.pruned_node_count);
    tool_json_number(json, "calls", graph->info.pruned_call_count);
    tool_json_number(json, "edges", graph->info.pruned_edge_count);
    tool_json_end(json, '}');
}

void tool_graph_json(struct tool_graph_view *view, struct tool_output *out)
{
    const struct tool_graph *graph = view->graph;
    struct tool_json json;
    tool_json_open(&json, out);
    tool_json_begin(&json, NULL, '{');
    tool_json_text(&json, "file", graph->input->name);
    tool_json_bool(&json, "has_times", graph->info.has_times);
    tool_json_signed(&json, "span_ns", graph->info.span_ns);
    tool_json_signed(&json, "idle_ns",
                     tool_graph_idle(graph, graph->info.idle_ns, graph->info.blocked_ns));
    tool_json_text(&json, "idle_source", tool_idle_names[graph->info.idle_source]);
    if (graph->info.has_switches)
        tool_json_signed(&json, "unknown_ns", graph->info.unknown_ns);
    tool_json_number(&json, "calls", graph->info.call_count);
    tool_json_number(&json, "lost_events", tool_lost_events(graph->input->reader));
    put_pruned(graph, &json);
    put_summary(view, &json);
    put_threads(view, &json);
    tool_json_begin(&json, "nodes", '[');
    for (uint32_t i = 0; i < graph->info.node_count && out->failed_errno == 0; i++)
        if (graph->nodes[i].is_kept)
            put_node(view, &json, i);
    tool_json_end(&json, ']');
    tool_json_begin(&json, "edges", '[');
    for (uint32_t i = 0; i < graph->info.edge_count && out->failed_errno == 0; i++)
        if (graph->edges[i].is_kept)
            put_edge(view, &json, i);
    tool_json_end(&json, ']');
    tool_json_end(&json, '}');
}

/* Contexts for people: what each thread has of a node or edge, and which thread is which. "0->1":
 * thread 0 started thread 1. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "tools/command/pager.h"
#include "tools/graph/graph_view.h"
#include "tools/io/table.h"

struct listing {
    struct tool_graph_view *view;
    struct tool_output *out;
    bool *is_shown; /* by thread */
};

static void put_row(struct listing *list, struct tool_table *table,
                    const ttape_graph_context *context)
{
    const struct tool_graph *graph = list->view->graph;
    const ttape_graph_thread *thread = &graph->threads[context->thread];
    const ttape_graph_counts *counts = &context->counts;
    list->is_shown[context->thread] = true;
    if (context->is_edge && counts->start_count > 0 && thread->parent != TTAPE_NONE) {
        list->is_shown[thread->parent] = true;
        tool_table_printf(table, TOOL_PLAIN, "%" PRIu32 "->%" PRIu32, thread->parent,
                          context->thread);
    } else {
        tool_table_printf(table, TOOL_PLAIN, "%" PRIu32, context->thread);
    }
    int64_t time_ns = context->is_edge ? counts->total_ns : counts->self_ns;
    tool_table_count(table, TOOL_PLAIN, counts->call_count);
    tool_table_time(table, TOOL_PLAIN, time_ns);
    tool_table_printf(table, TOOL_PLAIN, "%.2f",
                      100.0 * tool_graph_share(graph, time_ns, counts->call_count));
}

static void put_contexts(struct listing *list, struct tool_graph_contexts which, bool is_edge)
{
    const struct tool_column columns[] = {{"THREAD", .is_text = true},
                                          {"CALLS", .rank = 0},
                                          {is_edge ? "TIME" : "SELF", .rank = 0},
                                          {"SHARE %", .rank = 0}};
    struct tool_table table;
    tool_table_open(&table, columns, 4);
    for (size_t i = which.first; i < which.end; i++)
        put_row(list, &table, &list->view->graph->contexts[list->view->order[i]]);
    tool_table_print(&table, list->out, tool_terminal_columns(), tool_terminal_colours());
    tool_table_close(&table);
}

static void put_threads(struct listing *list)
{
    const struct tool_column columns[] = {{"THREAD", .rank = 0},
                                          {"PID", .rank = 0},
                                          {"TID", .rank = 0},
                                          {"LEVEL", .rank = 0},
                                          {"STARTED BY", .is_text = true}};
    const struct tool_graph *graph = list->view->graph;
    struct tool_table table;
    tool_table_open(&table, columns, 5);
    for (uint32_t i = 0; i < graph->info.thread_count; i++) {
        const ttape_graph_thread *thread = &graph->threads[i];
        if (!list->is_shown[i])
            continue;
        tool_table_printf(&table, TOOL_PLAIN, "%" PRIu32, i);
        tool_table_printf(&table, TOOL_PLAIN, "%" PRIu64, thread->pid);
        tool_table_printf(&table, TOOL_PLAIN, "%" PRIu64, thread->tid);
        tool_table_printf(&table, TOOL_PLAIN, "%" PRIu32, thread->level);
        if (thread->parent == TTAPE_NONE) {
            tool_table_text(&table, TOOL_PLAIN, "-");
        } else {
            tool_table_printf(&table, TOOL_PLAIN, "%" PRIu32 " in %s (%s)", thread->parent,
                              tool_graph_label(list->view, thread->start_node),
                              tool_spawn_names[thread->source]);
        }
    }
    tool_output_text(list->out, "\nThreads\n");
    tool_table_print(&table, list->out, tool_terminal_columns(), tool_terminal_colours());
    tool_table_close(&table);
}

void tool_graph_print_contexts(struct tool_graph_view *view, struct tool_output *out)
{
    const struct tool_graph *graph = view->graph;
    struct listing list = {view, out, tool_allocate(graph->info.thread_count + 1u, sizeof(bool))};
    for (uint32_t i = 0; i < graph->info.node_count; i++) {
        struct tool_graph_contexts which = tool_graph_node_contexts(view, i);
        if (which.first < which.end) {
            tool_output_printf(out, "\nNode %s\n", tool_graph_label(view, i));
            put_contexts(&list, which, false);
        }
    }
    for (uint32_t i = 0; i < graph->info.edge_count; i++) {
        struct tool_graph_contexts which = tool_graph_edge_contexts(view, i);
        if (which.first < which.end) {
            tool_output_printf(out, "\nEdge %s -> ", tool_graph_label(view, graph->edges[i].from));
            tool_output_printf(out, "%s\n", tool_graph_label(view, graph->edges[i].to));
            put_contexts(&list, which, true);
        }
    }
    put_threads(&list);
    free(list.is_shown);
}

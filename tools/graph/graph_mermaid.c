/* A graph in Mermaid's language, which pages of Markdown draw. Names are between quotes; signs of
 * the language's own stand there as numbers. */
#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "tools/graph/graph_view.h"
#include "tools/io/table.h"

#define NAME_COLUMNS 72u

static void put_text(struct tool_output *out, const char *text, size_t size_bytes)
{
    for (size_t i = 0; i < size_bytes; i++) {
        bool is_special = strchr("\"#&<>`\\", text[i]) != NULL;
        if (is_special)
            tool_output_printf(out, "#%d;", text[i]);
        else
            tool_output_bytes(out, &text[i], 1);
    }
}

static void put_counts(const struct tool_graph *graph, struct tool_output *out, uint64_t calls,
                       int64_t time_ns)
{
    char text[40];
    text[tool_put_count(text, calls)] = '\0';
    tool_output_printf(out, "%s", text);
    if (!graph->info.has_times)
        return;
    text[tool_put_time(text, time_ns)] = '\0';
    tool_output_printf(out, ", %s, %.1f%%", text, 100.0 * tool_graph_share(graph, time_ns, calls));
}

static void put_node(struct tool_graph_view *view, struct tool_output *out, uint32_t index)
{
    const ttape_graph_node *node = &view->graph->nodes[index];
    const char *label = tool_graph_label(view, index);
    size_t size = strlen(label), cut = ttp_text_cut(label, size, NAME_COLUMNS);
    tool_output_printf(out, "  n%" PRIu32 "[\"", index);
    put_text(out, label, cut);
    tool_output_text(out, cut < size ? "..." : "");
    if (index != TTAPE_GRAPH_START) {
        tool_output_text(out, "<br/>");
        put_counts(view->graph, out, node->sum.call_count, node->sum.self_ns);
    }
    tool_output_text(out, "\"]\n");
}

/* Threads that are started, and what is guessed: dashed. */
static void put_edge(struct tool_graph_view *view, struct tool_output *out, uint32_t index)
{
    const ttape_graph_edge *edge = &view->graph->edges[index];
    bool is_dashed =
        edge->is_inferred || (edge->sum.start_count > 0 && edge->from != TTAPE_GRAPH_START);
    tool_output_printf(out, "  n%" PRIu32 " %s|\"", edge->from, is_dashed ? "-.->" : "-->");
    if (tool_graph_is_recursion(edge))
        tool_output_printf(out, "rc=%" PRIu64, edge->sum.call_count);
    else
        put_counts(view->graph, out, edge->sum.call_count, edge->sum.total_ns);
    tool_output_printf(out, "\"| n%" PRIu32 "\n", edge->to);
}

void tool_graph_mermaid(struct tool_graph_view *view, struct tool_output *out)
{
    const struct tool_graph *graph = view->graph;
    tool_output_text(out, "flowchart TD\n");
    for (uint32_t i = 0; i < graph->info.node_count && out->failed_errno == 0; i++)
        if (graph->nodes[i].is_kept)
            put_node(view, out, i);
    for (uint32_t i = 0; i < graph->info.edge_count && out->failed_errno == 0; i++)
        if (graph->edges[i].is_kept)
            put_edge(view, out, i);
}

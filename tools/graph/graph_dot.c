/* A graph as a picture in Graphviz's language; graph_svg.c makes SVG of it. Classes are for that:
 * which function it is, and how much of all time it has.
 *
 * Names go into double-quoted strings: controls are escaped as everywhere, then backslashes, quotes
 * and ampersands as DOT has them (a label's "&lt;" is an entity to Graphviz). */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "tools/calls/losses.h"
#include "tools/calls/picture_style.h"
#include "tools/graph/graph_view.h"
#include "tools/io/table.h"

#define DARK_SHARE   0.20
#define LIGHT_SHARE  0.05
#define NAME_COLUMNS 72u
#define CONTEXTS     32u /* vectors in one label */

static void put_text(struct tool_output *out, const char *text, size_t size_bytes)
{
    for (size_t i = 0; i < size_bytes; i++) {
        if (text[i] == '&') {
            tool_output_text(out, "&amp;");
            continue;
        }
        if (text[i] == '"' || text[i] == '\\')
            tool_output_text(out, "\\");
        tool_output_bytes(out, &text[i], 1);
    }
}

void tool_graph_dot_name(struct tool_output *out, const char *label)
{
    size_t size = strlen(label), cut = ttp_text_cut(label, size, NAME_COLUMNS);
    put_text(out, label, cut);
    tool_output_text(out, cut < size ? "..." : "");
}

/* "6 calls, 1.234 ms, 12.34 %" without words: the document's vector. */
static void put_vector(const struct tool_graph *graph, struct tool_output *out, uint64_t calls,
                       int64_t time_ns)
{
    char text[40];
    text[tool_put_count(text, calls)] = '\0';
    tool_output_printf(out, "(%s", text);
    if (graph->info.has_times) {
        text[tool_put_time(text, time_ns)] = '\0';
        tool_output_printf(out, ", %s", text);
    }
    tool_output_printf(out, ", %.2f%%)", 100.0 * tool_graph_share(graph, time_ns, calls));
}

static void put_contexts(struct tool_graph_view *view, struct tool_output *out,
                         struct tool_graph_contexts which)
{
    const struct tool_graph *graph = view->graph;
    for (size_t i = which.first; i < which.end; i++) {
        const ttape_graph_context *context = &graph->contexts[view->order[i]];
        uint32_t parent = graph->threads[context->thread].parent;
        if (i - which.first == CONTEXTS) {
            tool_output_printf(out, "\\n... %zu more", which.end - i);
            return;
        }
        if (context->is_edge && context->counts.start_count > 0 && parent != TTAPE_NONE)
            tool_output_printf(out, "\\n%" PRIu32 "→%" PRIu32 " ", parent, context->thread);
        else
            tool_output_printf(out, "\\n%" PRIu32 " ", context->thread);
        put_vector(graph, out, context->counts.call_count,
                   context->is_edge ? context->counts.total_ns : context->counts.self_ns);
    }
}

static const char *shade(double share)
{
    return share >= DARK_SHARE    ? ", fillcolor=\"#696969\", fontcolor=\"white\""
           : share >= LIGHT_SHARE ? ", fillcolor=\"#d3d3d3\""
                                  : "";
}

void tool_graph_dot_class(struct tool_output *out, uint32_t site, const char *more)
{
    char room[8];
    int64_t fill = site != TTAPE_NONE ? (int64_t)site : TOOL_PICTURE_MIXED;
    tool_output_printf(out, ", class=\"%s%s\"", tool_picture_class(fill, room), more);
}

static void put_node(struct tool_graph_view *view, struct tool_output *out, uint32_t index)
{
    const struct tool_graph *graph = view->graph;
    const ttape_graph_node *node = &graph->nodes[index];
    double share = tool_graph_share(graph, node->sum.self_ns, node->sum.call_count);
    tool_output_printf(out, "  n%" PRIu32 " [label=\"", index);
    tool_graph_dot_name(out, tool_graph_label(view, index));
    if (index != TTAPE_GRAPH_START) {
        tool_output_text(out, "\\n");
        put_vector(graph, out, node->sum.call_count, node->sum.self_ns);
    }
    put_contexts(view, out, tool_graph_node_contexts(view, index));
    tool_output_text(out, "\"");
    tool_output_text(out, index == TTAPE_GRAPH_START ? ", shape=box" : shade(share));
    tool_graph_dot_class(out, index == TTAPE_GRAPH_START ? TTAPE_NONE : node->site,
                         share >= DARK_SHARE    ? " dark"
                         : share >= LIGHT_SHARE ? " light"
                                                : "");
    tool_output_text(out, "];\n");
}

/* Threads that are started: dashed; guessed: dotted; calls through pruned functions: grey. */
static const char *style(const ttape_graph_edge *edge)
{
    if (edge->is_inferred)
        return ", style=dotted";
    if (edge->sum.start_count > 0 && edge->from != TTAPE_GRAPH_START)
        return ", style=dashed";
    return edge->sum.through_count > 0 && edge->sum.through_count == edge->sum.call_count
               ? ", color=\"#909090\", arrowhead=empty, class=\"through\""
               : "";
}

static void put_edge(struct tool_graph_view *view, struct tool_output *out, uint32_t index)
{
    const ttape_graph_edge *edge = &view->graph->edges[index];
    tool_output_printf(out, "  n%" PRIu32 " -> n%" PRIu32 " [label=\" ", edge->from, edge->to);
    if (tool_graph_is_recursion(edge))
        tool_output_printf(out, "rc=%" PRIu64, edge->sum.call_count);
    else
        put_vector(view->graph, out, edge->sum.call_count, edge->sum.total_ns);
    put_contexts(view, out, tool_graph_edge_contexts(view, index));
    tool_output_printf(out, "\"%s];\n", style(edge));
}

void tool_graph_dot_begin(struct tool_output *out, const struct tool_input *input)
{
    struct tool_output name;
    uint64_t lost = tool_lost_events(input->reader);
    const char *title = ttp_base_name(input->name);
    tool_output_text(out, "digraph calls {\n"
                          "  charset=\"UTF-8\";\n"
                          "  node [shape=ellipse, style=filled, fillcolor=\"white\","
                          " fontname=\"monospace\", fontsize=11];\n"
                          "  edge [fontname=\"monospace\", fontsize=9];\n"
                          "  graph [labelloc=t, labeljust=l, fontname=\"sans-serif\", label=\"");
    tool_output_open(&name, -1);
    tool_output_escaped(&name, TTP_ESCAPE_TERMINAL, (ttape_string){title, strlen(title)});
    put_text(out, name.data, name.size_bytes);
    free(name.data);
    if (lost != 0)
        tool_output_printf(out, "\\l%" PRIu64 " events were lost", lost);
    tool_output_printf(out, "\\l\"%s];\n", lost != 0 ? ", fontcolor=\"red\", class=\"lost\"" : "");
}

void tool_graph_dot(struct tool_graph_view *view, struct tool_output *out)
{
    const struct tool_graph *graph = view->graph;
    tool_graph_dot_begin(out, graph->input);
    for (uint32_t i = 0; i < graph->info.node_count && out->failed_errno == 0; i++)
        if (graph->nodes[i].is_kept)
            put_node(view, out, i);
    for (uint32_t i = 0; i < graph->info.edge_count && out->failed_errno == 0; i++)
        if (graph->edges[i].is_kept)
            put_edge(view, out, i);
    tool_output_text(out, "}\n");
}

/* What the printers of a graph share: labels, the order of contexts, which contexts were
 * asked for. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/command/tool.h"
#include "tools/graph/graph_view.h"

#define LABEL_TAIL 24u /* behind a name */

const char *const tool_spawn_names[] = {"start", "recorded", "marker", "fork", "inferred"};
const char *const tool_idle_names[] = {"nothing", "switches", "system calls", "functions"};
const char *const tool_way_names[] = {NULL,        "name",    "inlined",
                                      "tail_call", "pointer", "name_or_pointer"};

/* ---- names ---- */

ttape_string tool_graph_name(const struct tool_graph_view *view, uint32_t node, char *buffer)
{
    const ttape_graph_node *n = &view->graph->nodes[node];
    if (n->kind == TTAPE_GRAPH_START_NODE)
        return (ttape_string){"**START**", 9};
    if (n->kind == TTAPE_GRAPH_SIGNAL) {
        int size = snprintf(buffer, 40, "signal %" PRIu32, n->signal);
        return (ttape_string){buffer, (size_t)size};
    }
    uint32_t site = view->graph->functions[n->function].site;
    return tool_site_word(&view->names, site, buffer);
}

const char *tool_graph_label(struct tool_graph_view *view, uint32_t node)
{
    const ttape_graph_node *n = &view->graph->nodes[node];
    char buffer[TOOL_LABEL_BYTES];
    if (view->labels[node] == NULL) {
        ttape_string plain = tool_graph_name(view, node, buffer);
        const char *name = plain.data;
        size_t size = plain.size_bytes;
        if (n->kind == TTAPE_GRAPH_FUNCTION) { /* escaped, bounded */
            name = tool_site_name(&view->names, view->graph->functions[n->function].site);
            size = strlen(name);
        }
        char *text = tool_allocate(size + LABEL_TAIL, 1);
        memcpy(text, name, size);
        if (n->level > 0)
            snprintf(text + size, LABEL_TAIL, " [%" PRIu32 "]", n->level);
        view->labels[node] = text;
    }
    return view->labels[node];
}

/* ---- contexts ---- */

static bool is_text(ttape_string text, const char *other, size_t size_bytes)
{
    return text.size_bytes == size_bytes && memcmp(text.data, other, size_bytes) == 0;
}

/* A node is meant by its name, or by what it is shown as. */
static bool is_meant(struct tool_graph_view *view, uint32_t node, const char *text,
                     size_t size_bytes)
{
    char buffer[TOOL_LABEL_BYTES];
    const char *label = tool_graph_label(view, node);
    const ttape_graph_node *n = &view->graph->nodes[node];
    if (n->kind == TTAPE_GRAPH_FUNCTION &&
        tool_site_is_called(&view->names, view->graph->functions[n->function].site,
                            (ttape_string){text, size_bytes}))
        return true;
    return is_text(tool_graph_name(view, node, buffer), text, size_bytes) ||
           is_text((ttape_string){label, strlen(label)}, text, size_bytes);
}

static bool is_wanted_node(struct tool_graph_view *view, uint32_t node)
{
    return view->context != NULL && view->graph->nodes[node].is_kept &&
           (strcmp(view->context, "*") == 0 ||
            is_meant(view, node, view->context, strlen(view->context)));
}

static bool is_wanted_edge(struct tool_graph_view *view, uint32_t edge)
{
    const ttape_graph_edge *e = &view->graph->edges[edge];
    const char *text = view->context;
    if (text == NULL || !e->is_kept)
        return false;
    if (strcmp(text, "*") == 0)
        return true;
    /* names may have arrows in them: operator-> */
    for (const char *arrow = strstr(text, "->"); arrow != NULL; arrow = strstr(arrow + 1, "->"))
        if (is_meant(view, e->from, text, (size_t)(arrow - text)) &&
            is_meant(view, e->to, arrow + 2, strlen(arrow + 2)))
            return true;
    return false;
}

struct tool_graph_contexts tool_graph_node_contexts(struct tool_graph_view *view, uint32_t node)
{
    if (!is_wanted_node(view, node))
        return (struct tool_graph_contexts){0, 0};
    return (struct tool_graph_contexts){view->node_at[node], view->node_at[node + 1]};
}

struct tool_graph_contexts tool_graph_edge_contexts(struct tool_graph_view *view, uint32_t edge)
{
    if (!is_wanted_edge(view, edge))
        return (struct tool_graph_contexts){0, 0};
    return (struct tool_graph_contexts){view->edge_at[edge], view->edge_at[edge + 1]};
}

bool tool_graph_has_context(struct tool_graph_view *view)
{
    for (uint32_t i = 0; i < view->graph->info.node_count; i++)
        if (is_wanted_node(view, i))
            return true;
    for (uint32_t i = 0; i < view->graph->info.edge_count; i++)
        if (is_wanted_edge(view, i))
            return true;
    return false;
}

/* Counting sort: contexts come by thread already. */
static void order_contexts(struct tool_graph_view *view)
{
    const struct tool_graph *graph = view->graph;
    size_t nodes = graph->info.node_count, all = nodes + graph->info.edge_count;
    size_t *at = tool_allocate(all + 2, sizeof(size_t));
    view->order = tool_allocate(graph->info.context_count + 1, sizeof(uint32_t));
    for (size_t i = 0; i < graph->info.context_count; i++) {
        const ttape_graph_context *context = &graph->contexts[i];
        at[(context->is_edge ? nodes : 0) + context->index + 2]++;
    }
    for (size_t i = 0; i < all; i++)
        at[i + 1] += at[i];
    for (uint32_t i = 0; i < graph->info.context_count; i++) {
        const ttape_graph_context *context = &graph->contexts[i];
        view->order[at[(context->is_edge ? nodes : 0) + context->index + 1]++] = i;
    }
    view->node_at = at;
    view->edge_at = at + nodes;
}

void tool_graph_view_open(struct tool_graph_view *view, struct tool_graph *graph,
                          const char *context, enum tool_name_style style)
{
    *view = (struct tool_graph_view){.graph = graph, .context = context};
    tool_site_names_open_as(&view->names, graph->input->reader, style);
    view->labels = tool_allocate(graph->info.node_count, sizeof(char *));
    order_contexts(view);
}

void tool_graph_view_close(struct tool_graph_view *view)
{
    for (size_t i = 0; view->labels != NULL && i < view->graph->info.node_count; i++)
        free(view->labels[i]);
    free(view->labels);
    free(view->node_at);
    free(view->order);
    tool_site_names_close(&view->names);
    *view = (struct tool_graph_view){0};
}

/* Graphs as the command shows them: graph_text.c, graph_dot.c and graph_json.c print what
 * verb_graph.c made. */
#ifndef TOOL_GRAPH_VIEW_H
#define TOOL_GRAPH_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/calls/site_name.h"
#include "tools/command/output.h"
#include "tools/graph/graph_model.h"
#include "tools/graph/graph_paths.h"
#include "tools/graph/graph_ways.h"

struct tool_graph_view {
    struct tool_graph *graph;
    struct tool_site_names names;
    const char *context; /* node, edge "A->B", "*", or NULL */
    bool as_list;
    const struct tool_graph_ways *ways; /* for the summary; NULL: not asked for */
    struct tool_paths *paths;           /* of all functions, for the summary; NULL: not asked for */
    char **labels;                      /* by node, made when asked for */
    size_t *node_at, *edge_at;  /* contexts of a node (edge): from here in `order` up to the next */
    uint32_t *order;            /* contexts, by node, then edge, then thread */
    uint32_t *thread_of_stream; /* unused streams: TTAPE_NONE */
};

void tool_graph_view_open(struct tool_graph_view *view, struct tool_graph *graph,
                          const char *context, enum tool_name_style style);
void tool_graph_view_close(struct tool_graph_view *view);

/* "main", "worker [1]" for a first routine of threads of level 1, "**START**"; escaped. */
const char *tool_graph_label(struct tool_graph_view *view, uint32_t node);
/* Its plain name, as tool_site_word has it in `buffer` (TOOL_LABEL_BYTES). */
ttape_string tool_graph_name(const struct tool_graph_view *view, uint32_t node, char *buffer);

/* Contexts that were asked for and that a node or edge has: places first .. end in `order`. */
struct tool_graph_contexts {
    size_t first, end;
};
struct tool_graph_contexts tool_graph_node_contexts(struct tool_graph_view *view, uint32_t node);
struct tool_graph_contexts tool_graph_edge_contexts(struct tool_graph_view *view, uint32_t edge);
/* Is there a node or edge that the context asked for names? */
bool tool_graph_has_context(struct tool_graph_view *view);

/* What a graph is like as a whole, pruned or not. */
struct tool_graph_summary {
    uint64_t node_count, edge_count; /* that are kept; START is one */
    uint64_t direct_calls;           /* by the function below them on the stack */
    uint64_t spawned_calls, signal_calls, start_calls, through_calls; /* all others */
    uint64_t recursive_calls;                     /* while the function was on the stack */
    uint32_t recursion_depth, recursive_node;     /* TTAPE_NONE: nothing is recursive */
    uint32_t max_depth, level_count, cycle_count; /* cycles: strongly connected sets */
    uint32_t largest_cycle, process_count;
    uint32_t cycles_by_threads; /* of them, those that only starting threads closes */
};
void tool_graph_summarize(const struct tool_graph *graph, struct tool_graph_summary *summary);

/* Modules with their shares, hottest first. */
struct tool_graph_module {
    ttape_string path;
    uint64_t calls;
    int64_t self_ns;
    uint32_t function_count;
};
size_t tool_graph_modules(const struct tool_graph *graph, struct tool_graph_module **modules);
/* Kept nodes by own time (edges by time, recursion left out): `count` of them; the caller frees. */
size_t tool_graph_hottest(const struct tool_graph *graph, bool of_edges, uint32_t **indices);

void tool_graph_text(struct tool_graph_view *view, struct tool_output *out);
void tool_graph_print_summary(struct tool_graph_view *view, struct tool_output *out);
void tool_graph_print_contexts(struct tool_graph_view *view, struct tool_output *out);
void tool_graph_json(struct tool_graph_view *view, struct tool_output *out);
void tool_graph_dot(struct tool_graph_view *view, struct tool_output *out);
void tool_graph_mermaid(struct tool_graph_view *view, struct tool_output *out);
/* What begins any picture; a node's name in a label. */
void tool_graph_dot_begin(struct tool_output *out, const struct tool_input *input);
void tool_graph_dot_name(struct tool_output *out, const char *label);
/* What SVG looks like; site: TTAPE_NONE, if it is no function. `more`: " dark". */
void tool_graph_dot_class(struct tool_output *out, uint32_t site, const char *more);
/* The picture that `put` describes on standard output, by Graphviz. Returns a tool_exit. */
int tool_graph_draw(void (*put)(void *context, struct tool_output *out), void *context);

extern const char *const tool_spawn_names[]; /* by ttape_graph_source */
extern const char *const tool_idle_names[];  /* by ttape_idle_source */
extern const char *const tool_way_names[];   /* by tool_call_way; NULL: not known */

#endif

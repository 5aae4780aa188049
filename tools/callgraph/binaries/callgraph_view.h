/* What `tracetape callgraph` shows. */
#ifndef TOOL_CALLGRAPH_VIEW_H
#define TOOL_CALLGRAPH_VIEW_H

#include "program/callgraph/binary_graph.h"
#include "tools/command/output.h"

struct tool_callgraph {
    struct tool_edges edges;
    struct tool_binary_graph binaries;
    bool *recursive; /* by function: it may be called again before it returns */
    bool with_functions, with_edges, with_branches, has_seen;
};

/* Which functions are in a circle of calls. */
void tool_callgraph_find_recursion(struct tool_callgraph *graph);
/* The kinds of an edge in words: "direct, inlined". */
#define TOOL_CALLGRAPH_KIND_BYTES 120u
const char *tool_callgraph_kinds(uint32_t kinds, char text[TOOL_CALLGRAPH_KIND_BYTES]);

void tool_callgraph_text(struct tool_callgraph *graph, struct tool_output *out);
void tool_callgraph_json(struct tool_callgraph *graph, struct tool_output *out);
void tool_callgraph_dot(struct tool_callgraph *graph, struct tool_output *out);

#endif

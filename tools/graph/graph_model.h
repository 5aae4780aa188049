/* The graph that the library makes, as its printers use it. */
#ifndef TOOL_GRAPH_MODEL_H
#define TOOL_GRAPH_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include <tracetape/graph.h>

#include "tools/calls/below.h"
#include "tools/calls/stream_choice.h"
#include "tools/io/input.h"

struct tool_graph {
    const struct tool_input *input;
    const struct tool_selection *selection;
    ttape_graph *made;
    ttape_graph_info info;
    const ttape_graph_node *nodes;
    const ttape_graph_edge *edges;
    const ttape_graph_thread *threads;
    const ttape_graph_context *contexts;
    const ttape_function *functions; /* by a node's function */
    struct tool_below *below;        /* or NULL: of all that ran */
    uint64_t error_count;
    int status; /* damage that was met is a loss */
};

/* What is shown; by_self: share and time of nodes are their own instead of all below. */
struct tool_graph_limits {
    double min_share; /* 0 .. 1 */
    uint64_t min_ns, min_calls, top;
    bool by_self, whole; /* whole: nothing is pruned */
};

struct tool_graph_shape {
    bool split_levels, contexts;
    struct tool_below *below; /* whose functions it is of; NULL: of all that ran */
    ttape_functions_by by;    /* which functions are one */
};

/* Returns a tool_exit; TOOL_LOSS: complete but for what could not be read. */
int tool_graph_make(struct tool_graph *graph, const struct tool_input *input,
                    const struct tool_selection *selection, const struct tool_graph_limits *limits,
                    const struct tool_graph_shape *shape);
void tool_graph_close(struct tool_graph *graph);

/* Idle times of these counts: spec F-SWI-07. */
static inline int64_t tool_graph_idle(const struct tool_graph *graph, int64_t idle_ns,
                                      int64_t blocked_ns)
{
    return graph->info.has_switches ? blocked_ns : idle_ns;
}

static inline double tool_graph_share(const struct tool_graph *graph, int64_t time_ns,
                                      uint64_t calls)
{
    return ttape_graph_share(&graph->info, time_ns, calls);
}

static inline bool tool_graph_is_recursion(const ttape_graph_edge *edge)
{
    return edge->from == edge->to;
}

#endif

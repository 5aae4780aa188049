/* The call graph: nodes, edges, threads, and what each thread added to them.
 *
 *   threads in the order of their start -> calls (graph_calls.h) -> a thread's counts
 *                                       -> merged into nodes and edges, kept as contexts
 *
 * Who started a thread: graph_spawn.c. A thread's first routines are nodes of their own for each
 * nesting level of threads above 0, so that merging makes no cycles that no run had; every other
 * call of a function is one node, whatever thread made it. */
#ifndef TOOL_GRAPH_MODEL_H
#define TOOL_GRAPH_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include <tracetape/report.h>

#include "tools/callgraph/graph_calls.h"
#include "tools/callgraph/graph_functions.h"
#include "tools/callgraph/graph_map.h"
#include "tools/calls/selection.h"
#include "tools/io/input.h"

#define TOOL_GRAPH_START 0u /* node: what nothing in the trace called */

enum tool_node_kind { TOOL_NODE_FUNCTION, TOOL_NODE_START, TOOL_NODE_SIGNAL };

/* Of a node or an edge, by all threads or by one. */
struct tool_graph_counts {
    uint64_t calls;
    uint64_t recursion; /* nodes: calls while the node was on the stack */
    uint64_t spawned;   /* edges: calls that begin a thread, a stack or a signal's handler */
    uint64_t through;   /* edges: calls through functions that were pruned */
    int64_t total_ns;   /* with everything below; a moment counts once on a stack */
    int64_t self_ns;    /* nodes */
    int64_t below_ns;   /* nodes: own time of pruned functions that hang here now */
    int64_t idle_ns;    /* nodes: part of self in blocking calls, by their kind or names */
    int64_t blocked_ns; /* nodes: part of self in which the thread was seen to be blocked */
    uint64_t unseen;    /* calls whose ends were not seen: times are least values; */
    uint64_t late;      /* that ended at the latest when it is said */
};

struct tool_graph_node {
    uint32_t kind;     /* tool_node_kind */
    uint32_t function; /* of the graph's functions */
    uint32_t level;    /* of a thread's first routine; otherwise 0 */
    uint32_t signal;
    uint32_t depth; /* most times on one stack at once */
    uint32_t active;
    uint32_t thread_count; /* in which it ran */
    bool is_touched, is_kept;
    struct tool_graph_counts sum, now; /* now: of the thread at hand */
};

struct tool_graph_edge {
    uint32_t from, to;
    uint32_t active;
    bool is_touched, is_kept;
    bool is_inferred; /* that `from` started the thread is a guess */
    struct tool_graph_counts sum, now;
};

/* The source that says which thread started a thread. */
enum tool_spawn_how {
    TOOL_SPAWN_START,    /* no thread of the trace did */
    TOOL_SPAWN_RECORDED, /* the recorder saw it */
    TOOL_SPAWN_MARKER,   /* the program told of it */
    TOOL_SPAWN_FORK,     /* its process was forked: the frames that were open say where */
    TOOL_SPAWN_INFERRED  /* by what other threads were doing when it started */
};

/* Where calls that nothing on their stack made hang. */
struct tool_graph_origin {
    uint32_t node; /* shown */
    uint32_t through;
    uint32_t level;
    bool is_inferred;
    bool is_path; /* a frame that was seen, in the same thread */
};

/* What an event carries that may be a fact (spec/facts.md). */
struct tool_spawn_carried {
    uint64_t first, second, time_ns;
    bool is_there, is_fact;
};

struct tool_graph_thread {
    uint32_t stream, process;
    uint64_t pid, tid, start_ns;
    uint32_t level;
    uint32_t parent; /* thread, or TTAPE_NONE */
    struct tool_spawn_carried start;
    uint32_t how; /* tool_spawn_how */
    struct tool_graph_origin first,
        open; /* of first routines; of frames that were open at the start */
    /* while threads are visited: what may have started it */
    uint32_t guess, guess_score;
    struct tool_graph_origin guess_first, guess_open;
    uint64_t call_count, event_count;
    int64_t span_ns, idle_ns, blocked_ns;
};

/* What one thread has of a node or edge. */
struct tool_graph_context {
    uint32_t thread, index;
    bool is_edge;
    struct tool_graph_counts counts;
};

struct tool_graph {
    const struct tool_input *input;
    const struct tool_selection *selection;
    struct tool_functions functions;
    bool *is_idle; /* by function: it blocks */
    bool has_times, split_levels, keep_contexts;
    bool is_pruned; /* nodes that are not kept are passed over */

    struct tool_graph_node *nodes;
    struct tool_graph_edge *edges;
    size_t node_count, node_capacity, edge_count, edge_capacity;
    struct tool_map node_map, edge_map, active_map;
    uint32_t *plain;  /* by function: its node without level, or TTAPE_NONE */
    uint32_t *frames; /* of a path, outermost first */
    size_t frame_capacity;
    bool has_paths;
    uint32_t *touched;
    size_t touched_count, touched_capacity;
    struct tool_graph_context *contexts;
    size_t context_count, context_capacity;

    struct tool_graph_thread *threads;
    uint32_t thread_count, current;
    struct tool_spawns *spawns; /* graph_spawn.c */

    uint64_t call_count;
    int64_t span_ns, idle_ns, blocked_ns;
    int64_t unknown_ns;                  /* where nothing is known of switches; has_switches only */
    bool asks_switches, has_switches;    /* has: something is known of them */
    bool has_idle_calls, has_idle_names; /* functions: blocking system calls, or blocking names */
    uint64_t pruned_nodes, pruned_edges, pruned_calls; /* calls: of pruned nodes */
    uint32_t max_depth;                                /* frames on one stack */
    int status, peek_status; /* peek_status: of looks into streams, beside the walk */
};

/* Reads the selection. The graph is complete: nothing is pruned. Returns a tool_exit; TOOL_LOSS:
 * complete but for what could not be read. */
int tool_graph_make(struct tool_graph *graph, const struct tool_input *input,
                    const struct tool_selection *selection);
void tool_graph_close(struct tool_graph *graph);
/* A look into a stream, beside the walk, failed. What is wrong with the bytes the walk tells; for
 * want of memory, or of bytes, the graph would silently be another. */
void tool_graph_peek_failed(struct tool_graph *graph, const ttape_error *err);

/* Reads again, passing over nodes that are not is_kept: what they called hangs below their closest
 * kept callers. */
int tool_graph_remake(struct tool_graph *graph);

/* ---- graph_prune.c ---- */

struct tool_graph_limits {
    double min_share; /* 0 .. 1 */
    uint64_t min_ns, min_calls, top;
    bool by_self; /* share and time of nodes: their own instead of all below */
};

int tool_graph_prune(struct tool_graph *graph, const struct tool_graph_limits *limits);
/* Decides is_kept of nodes; returns how many are not. */
uint64_t tool_graph_choose(struct tool_graph *graph, const struct tool_graph_limits *limits);
/* Decides is_kept of edges; every node stays connected with the start. */
void tool_graph_thin(struct tool_graph *graph, const struct tool_graph_limits *limits);

/* What idle times are made of, and how many of them there are of these counts: spec F-SWI-07. */
ttape_idle_source tool_graph_idle_source(const struct tool_graph *graph);
const char *tool_graph_idle_word(const struct tool_graph *graph);
static inline int64_t tool_graph_idle(const struct tool_graph *graph, int64_t idle_ns,
                                      int64_t blocked_ns)
{
    return graph->has_switches ? blocked_ns : idle_ns;
}

/* The share of the run that a time is; of all calls where there are no times. */
double tool_graph_share(const struct tool_graph *graph, int64_t time_ns, uint64_t calls);
static inline bool tool_graph_is_recursion(const struct tool_graph_edge *edge)
{
    return edge->from == edge->to;
}

/* ---- graph_walk.c ---- */

uint32_t tool_graph_new_node(struct tool_graph *graph, const struct tool_graph_node *node,
                             uint64_t key);
void tool_graph_walk(struct tool_graph *graph, struct tool_calls *calls);
/* The state of the thread at hand as an origin of another. */
struct tool_graph_origin tool_graph_here(const struct tool_graph *graph,
                                         const struct tool_call_stack *stack);

/* ---- graph_spawn.c ---- */

/* Reads the first fact or marker of each thread that says what started it. */
void tool_spawn_read_starts(struct tool_graph *graph);
void tool_spawn_open(struct tool_graph *graph);
void tool_spawn_close(struct tool_graph *graph);
/* Decides which thread started this one; returns its first alarm. */
uint64_t tool_spawn_begin(struct tool_graph *graph, uint32_t thread);
void tool_spawn_alarm(struct tool_graph *graph, struct tool_calls *calls);
void tool_spawn_leaf(struct tool_graph *graph, const struct tool_calls *calls,
                     const ttape_event *event);

#endif

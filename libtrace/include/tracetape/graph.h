/* The call graph: who called whom, of all threads and processes in one, with calls, times,
 * recursion, and which thread started which.
 *
 *   node     a function, wherever it was called; the start, which is below all that nothing in the
 *            trace called; a signal. The first routine of a thread that another thread started is a
 *            node of its own for each nesting level of threads, so that no cycle comes into being
 *            that no run had
 *   edge     from caller to callee: calls on one stack, and the starts of threads and stacks
 *   context  what one thread has of a node or an edge
 *
 * The selection is read once, and once more where nodes are pruned. A pruned function is passed
 * over: what it called hangs below its closest caller that is kept, call by call, so that an edge
 * never joins what no stack joined. Pruned nodes and edges stay in the arrays and are not is_kept.
 *
 * Times are in nanoseconds, by the conventions of tracetape/calls.h. Sums wrap around at 64 bits.
 *
 * Threads: an answer is made by one thread and does not change afterwards: any thread may read it.
 * The reader must not be used while it is made, and must outlive it. */
#ifndef TRACETAPE_GRAPH_H
#define TRACETAPE_GRAPH_H

#include <stdbool.h>

#include <tracetape/error.h>
#include <tracetape/functions.h>
#include <tracetape/reader.h>
#include <tracetape/report.h>
#include <tracetape/types.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ttape_graph ttape_graph;

#define TTAPE_GRAPH_START 0u /* the node below what nothing in the trace called */

/* Zero means the default everywhere. */
typedef struct ttape_graph_options {
    size_t size;             /* sizeof(ttape_graph_options) */
    const uint32_t *streams; /* only these, each once; NULL: all. Borrowed for the call */
    uint32_t stream_count;
    bool has_range; /* only [from_ns, to_ns); a to_ns of UINT64_MAX: to the end */
    uint64_t from_ns, to_ns;
    uint64_t memory_bytes; /* of the answer; default 256 MiB. What is open while streams are read
                            * has its own limit, the default of a call cursor */
    bool split_levels;     /* all functions of started threads are nodes of their own, not only the
                            * first routines */
    bool contexts;         /* keep what each thread has */
    bool prunes;           /* by these limits: nodes and edges below one of them are not kept, */
    bool by_self;          /* of nodes by their own time, not by their total one */
    double min_share;      /* of the run's time; of all calls where there are no times: 0 .. 1 */
    uint64_t min_ns, min_calls;
    uint64_t top; /* only so many functions, those with most own time; 0: all */
    /* A damaged place of a stream that is left out; NULL: the call fails. */
    void (*damage)(void *context, uint32_t stream, const ttape_error *error);
    /* Asked now and then; false: the call ends with TTAPE_E_STATE. Events are those of the selected
     * streams, twice as many where something is pruned. */
    bool (*goes_on)(void *context, uint64_t event_count);
    void *context; /* of all three, which are called from the calling thread */
    /* Only calls of such functions, and what they call on their stacks: these calls hang below the
     * start, and the run's time is theirs. NULL: everything. */
    bool (*below)(void *context, uint32_t site);
    ttape_functions_by by; /* which functions of scopes are one */
} ttape_graph_options;

typedef struct ttape_graph_counts {
    uint64_t call_count;
    uint64_t recursion_count; /* nodes: calls while the node was on the stack */
    uint64_t start_count;     /* edges: calls that begin a thread, a stack or a signal's handler */
    uint64_t through_count;   /* edges: calls through functions that were pruned */
    int64_t total_ns;         /* with everything below; a moment counts once on a stack */
    int64_t self_ns;          /* nodes */
    int64_t below_ns;         /* nodes: own time of pruned functions that hang here now */
    int64_t idle_ns;          /* nodes: the share of self in blocking calls, by kind or name */
    int64_t blocked_ns;       /* nodes: the share of self in which the thread was seen blocked */
    uint64_t unseen_count;    /* calls whose ends were not seen: times are least values; */
    uint64_t late_count;      /* that ended at the latest when it is said */
} ttape_graph_counts;

typedef enum ttape_graph_kind {
    TTAPE_GRAPH_FUNCTION = 0,
    TTAPE_GRAPH_START_NODE = 1,
    TTAPE_GRAPH_SIGNAL = 2
} ttape_graph_kind;

/* Single calls of a node, of which both ends were read and seen. */
typedef struct ttape_graph_times {
    uint64_t count;
    int64_t sum_ns, min_ns, max_ns;                /* with everything below, time that was read */
    int64_t self_sum_ns, self_min_ns, self_max_ns; /* on top */
} ttape_graph_times;

typedef struct ttape_graph_node {
    ttape_graph_kind kind;
    uint32_t function; /* row of ttape_graph_get_functions; of no function: the last one */
    uint32_t site;     /* its first site, or TTAPE_NONE */
    uint32_t level;    /* of a started thread's first routine; otherwise 0 */
    uint32_t signal;
    uint32_t depth;        /* most times on one stack at once */
    uint32_t thread_count; /* in which it ran */
    bool is_kept;
    ttape_graph_counts sum;
    ttape_graph_times times;
} ttape_graph_node;

typedef struct ttape_graph_edge {
    uint32_t from, to; /* nodes; equal ones: recursion */
    bool is_kept;
    bool is_inferred; /* that `from` started the thread is a guess */
    ttape_graph_counts sum;
} ttape_graph_edge;

/* The source that says which thread started a thread. */
typedef enum ttape_graph_source {
    TTAPE_GRAPH_BY_NOTHING = 0,  /* no thread of the trace did */
    TTAPE_GRAPH_BY_RECORDER = 1, /* the recorder saw it */
    TTAPE_GRAPH_BY_MARKER = 2,   /* the program marked it */
    TTAPE_GRAPH_BY_FORK = 3,     /* its process was forked: the frames that were open say where */
    TTAPE_GRAPH_BY_GUESS = 4     /* by what other threads were doing when it started */
} ttape_graph_source;

typedef struct ttape_graph_thread {
    uint32_t stream, process;
    uint64_t pid, tid, start_ns;
    uint32_t level;
    uint32_t parent; /* thread that started it, or TTAPE_NONE */
    ttape_graph_source source;
    uint32_t start_node; /* that it was started in */
    uint64_t call_count, event_count;
    int64_t span_ns, idle_ns, blocked_ns; /* waits for the recorder are in its node's alone */
} ttape_graph_thread;

/* What one thread has of a node or an edge. */
typedef struct ttape_graph_context {
    uint32_t thread, index;
    bool is_edge;
    ttape_graph_counts counts;
} ttape_graph_context;

typedef struct ttape_graph_info {
    uint32_t node_count, edge_count, thread_count, context_count;
    uint32_t max_depth; /* frames on one stack */
    ttape_idle_source idle_source;
    bool has_times;    /* without, all times are 0 */
    bool has_switches; /* something is known of them: idle is blocked_ns then, otherwise idle_ns */
    uint64_t call_count;
    int64_t span_ns; /* of all threads together */
    int64_t idle_ns, blocked_ns;
    int64_t unknown_ns; /* where nothing is known of switches; has_switches only */
    uint64_t pruned_node_count, pruned_edge_count, pruned_call_count; /* calls: of pruned nodes */
    uint64_t damaged_count; /* shifts that were left out */
    uint64_t reserved[4];
} ttape_graph_info;

/* *out is NULL on failure. Limits: TTAPE_E_LIMIT past memory_bytes. */
TTAPE_API ttape_status ttape_graph_make(ttape_graph **out, ttape_reader *reader,
                                        const ttape_graph_options *options, ttape_error *err);
TTAPE_API void ttape_graph_close(ttape_graph *graph);

TTAPE_API void ttape_graph_get_info(const ttape_graph *graph, ttape_graph_info *info);
/* All arrays live as long as the answer; of NULL they are none. Nodes by when they were met, the
 * start first. */
TTAPE_API const ttape_graph_node *ttape_graph_get_nodes(const ttape_graph *graph, uint32_t *count);
TTAPE_API const ttape_graph_edge *ttape_graph_get_edges(const ttape_graph *graph, uint32_t *count);
/* The threads, by when they started. */
TTAPE_API const ttape_graph_thread *ttape_graph_get_threads(const ttape_graph *graph,
                                                            uint32_t *count);
/* The counts of each thread, by thread, then in no order; none without `contexts`. */
TTAPE_API const ttape_graph_context *ttape_graph_get_contexts(const ttape_graph *graph,
                                                              uint32_t *count);
/* The kept edges to a node, and from it: that with most time first. */
TTAPE_API const uint32_t *ttape_graph_get_callers(const ttape_graph *graph, uint32_t node,
                                                  uint32_t *count);
TTAPE_API const uint32_t *ttape_graph_get_callees(const ttape_graph *graph, uint32_t node,
                                                  uint32_t *count);
/* The functions that nodes are, by path; they live as long as the answer. */
TTAPE_API const ttape_functions *ttape_graph_get_functions(const ttape_graph *graph);
/* The share of the run that a time is; of all calls where there are no times. */
TTAPE_API double ttape_graph_share(const ttape_graph_info *info, int64_t time_ns,
                                   uint64_t call_count);

#ifdef __cplusplus
}
#endif
#endif

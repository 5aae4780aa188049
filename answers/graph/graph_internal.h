/* The call graph: what its files share.
 *
 *   threads in the order of their start -> call cursor -> graph_calls.c: calls on stacks
 *                                       -> graph_walk.c: a thread's counts of nodes and edges
 *                                       -> merged into those of all, kept as contexts
 *   graph_spawn.c: which thread started a thread    graph_prune.c: which nodes and edges are kept
 *
 * Making a graph fails as a whole: the first failure stays in graph->status, what is looked up
 * after it is some place that can be written, and the walk ends with the next step. */
#ifndef TTP_ANSWERS_GRAPH_INTERNAL_H
#define TTP_ANSWERS_GRAPH_INTERNAL_H

#include <tracetape/calls.h>
#include <tracetape/graph.h>

#include "base/key_map.h"
#include "reader/reader_internal.h"

static inline void ttp_graph_add_ns(int64_t *sum, int64_t time_ns)
{
    *sum = (int64_t)((uint64_t)*sum + (uint64_t)time_ns);
}

/* The counts of a node or an edge, while a thread is read. */
struct ttp_graph_now {
    ttape_graph_counts counts;
    uint32_t active;              /* how often it is on the first stack */
    uint32_t from, edge_plus_one; /* of a node: the edge that led to it last */
    bool is_touched;
};

/* Where calls that nothing on their stack made hang. */
struct ttp_graph_origin {
    uint32_t node; /* shown */
    uint32_t through;
    uint32_t level;
    bool is_inferred;
    bool is_path; /* a frame that was seen, in the same thread */
};

/* What an event carries that may be a fact (spec/facts.md). */
struct ttp_graph_carried {
    uint64_t first, second, time_ns;
    bool is_there, is_fact;
};

struct ttp_graph_thread {
    ttape_graph_thread shown;
    struct ttp_graph_carried start;
    struct ttp_graph_origin first, open; /* of first routines; of frames open at the start */
    /* while threads are visited: what may have started it */
    uint32_t guess, guess_score;
    struct ttp_graph_origin guess_first, guess_open;
};

/* What is kept in the words of a call. */
enum ttp_graph_word { TTP_CALL_NODE, TTP_CALL_SHOWN, TTP_CALL_EDGE, TTP_CALL_FLAGS };

static inline uint32_t ttp_graph_word(const ttape_call *call, enum ttp_graph_word word)
{
    return (uint32_t)call->user[word];
}

/* A stack of the thread at hand. */
struct ttp_graph_stack {
    ttape_call *calls; /* outermost first */
    uint32_t count, number;
    bool is_known;            /* it was the current one before */
    uint32_t origin, through; /* of the switch to it */
};

struct ttape_graph {
    struct ttp_memory memory;
    ttape_reader *reader;
    ttape_graph_options options;
    ttape_graph_info info;
    ttape_status status; /* the first failure, of which `err` says more */
    ttape_error err;

    ttape_functions *functions;
    const ttape_function *rows; /* of functions */
    const uint32_t *row_of;     /* by site */
    uint32_t row_count, site_count;
    bool *is_idle;  /* by row: it blocks */
    bool *is_below; /* by row: what is below it counts; NULL: all does */

    ttape_graph_node *nodes; /* info.node_count */
    struct ttp_graph_now *nodes_now;
    uint32_t node_capacity, node_now_capacity;
    ttape_graph_edge *edges;
    struct ttp_graph_now *edges_now;
    uint32_t edge_capacity, edge_now_capacity;
    struct ttp_key_map node_map, edge_map, active_map;
    uint32_t *plain;  /* by row: its node without level, or TTAPE_NONE */
    uint32_t *frames; /* of a path, outermost first */
    uint32_t frame_capacity;
    uint32_t *touched;
    uint32_t touched_count, touched_capacity;
    ttape_graph_context *contexts;
    uint32_t context_capacity;
    uint32_t *edge_order[2], *edge_first[2]; /* of callers, of callees: graph_prune.c */
    uint32_t order_count;

    struct ttp_graph_thread *threads;
    ttape_graph_thread *shown_threads;
    uint32_t thread_capacity, current;
    struct ttp_graph_spawns *spawns; /* graph_spawn.c */

    /* the thread at hand: graph_calls.c */
    struct ttp_graph_stack *stacks;
    struct ttp_key_map stack_map; /* by their numbers, but for the first */
    uint32_t stack_count, stack_capacity, current_stack;
    uint64_t alarm_ns, event_count;
    int64_t span_ns, outside_ns; /* time; of it that with no frame on the current stack */
    int64_t within_ns;           /* where is_below chooses: of calls that count */
    uint64_t all_event_count;    /* since the call began */

    bool has_paths, asks_switches;
    bool is_again; /* nodes that are not kept are passed over */
};

/* Notes a failure, where there was none. */
void ttp_graph_fail(struct ttape_graph *graph, ttape_status status, const ttape_error *err);
/* A look into a stream, beside the walk, failed. What is wrong with the bytes the walk finds; for
 * want of memory, or of bytes, the graph would silently be another. */
void ttp_graph_peek_failed(struct ttape_graph *graph, const ttape_error *err);
/* Zeros; NULL: that is noted. */
void *ttp_graph_take(struct ttape_graph *graph, uint64_t count, size_t item_bytes);
/* Makes room in the array whose pointer is at `array`; false: that is noted. */
bool ttp_graph_reserve(struct ttape_graph *graph, void *array, uint32_t *capacity, uint64_t wanted,
                       size_t item_bytes);
/* A number's place in a map, or one that is nobody's: that is noted. */
static inline uint32_t *ttp_graph_at(struct ttape_graph *graph, struct ttp_key_map *map,
                                     uint64_t key, uint32_t missing)
{
    if (__builtin_expect(ttp_key_map_is_full(map), 0)) {
        ttape_error err = {0};
        ttape_status status = ttp_key_map_grow(map, &graph->memory, &err);
        if (status != TTAPE_OK) {
            ttp_graph_fail(graph, status, &err);
            map->lost = missing;
            return &map->lost;
        }
    }
    return ttp_key_map_at(map, key, missing);
}

static inline uint32_t ttp_graph_row(const struct ttape_graph *graph, uint32_t site)
{
    return site < graph->site_count ? graph->row_of[site] : graph->row_count - 1;
}

/* ---- graph_calls.c ---- */

/* Reads a thread, event by event: ttp_graph_enter and the others are called. */
void ttp_graph_read(struct ttape_graph *graph, uint32_t stream, uint64_t alarm_ns);

/* ---- graph_walk.c ---- */

uint32_t ttp_graph_new_node(struct ttape_graph *graph, const ttape_graph_node *node, uint64_t key);
/* Reads all threads into empty counts. */
void ttp_graph_walk(struct ttape_graph *graph);
/* `call` is the top of the stack. */
void ttp_graph_enter(struct ttape_graph *graph, struct ttp_graph_stack *stack, ttape_call *call);
void ttp_graph_leave(struct ttape_graph *graph, struct ttp_graph_stack *stack, ttape_call *call);
/* A stack is run for the first time. */
void ttp_graph_change(struct ttape_graph *graph, const struct ttp_graph_stack *from,
                      struct ttp_graph_stack *to);
/* Time in which the thread was blocked. top: the call that it belongs to, or NULL. */
void ttp_graph_block(struct ttape_graph *graph, const ttape_call *top, int64_t blocked_ns);
/* The state of the thread at hand as an origin of another. */
struct ttp_graph_origin ttp_graph_here(const struct ttape_graph *graph,
                                       const struct ttp_graph_stack *stack);

/* ---- graph_spawn.c ---- */

/* Reads the first fact or marker of each thread that says what started it. */
void ttp_spawn_read_starts(struct ttape_graph *graph);
void ttp_spawn_open(struct ttape_graph *graph);
void ttp_spawn_close(struct ttape_graph *graph);
/* Decides which thread started this one; returns its first alarm. */
uint64_t ttp_spawn_begin(struct ttape_graph *graph, uint32_t thread);
/* Before the first event at or after graph->alarm_ns; sets another (UINT64_MAX: none). */
void ttp_spawn_alarm(struct ttape_graph *graph);
/* `number`: of the event in its stream. */
void ttp_spawn_leaf(struct ttape_graph *graph, uint64_t number, const ttape_event *event);

/* ---- graph_prune.c ---- */

/* Decides is_kept of nodes; false: all are. */
bool ttp_graph_choose(struct ttape_graph *graph);
/* Decides is_kept of edges; every node stays connected with the start. */
void ttp_graph_thin(struct ttape_graph *graph);
/* Callers and callees of kept edges. */
void ttp_graph_order(struct ttape_graph *graph);

#endif

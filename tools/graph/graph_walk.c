/* Calls become counts of nodes and edges, thread by thread: each thread's are added up apart, and
 * merged when it is through. */
#include <stdlib.h>

#include "tools/calls/time_sum.h"
#include "tools/command/tool.h"
#include "tools/graph/graph_model.h"

#define CALL_THROUGH 1u /* no node shows the top of the stack */
#define CALL_IDLE    2u
#define KEY_SIGNAL   (UINT64_C(1) << 62)
#define LEVEL_SHIFT  32u
#define LEVEL_MOST   0x1FFFFFFFu
#define IS_EDGE      0x80000000u

uint32_t tool_graph_new_node(struct tool_graph *graph, const struct tool_graph_node *node,
                             uint64_t key)
{
    tool_grow((void **)&graph->nodes, &graph->node_capacity, graph->node_count + 1, sizeof(*node));
    graph->nodes[graph->node_count] = *node;
    graph->nodes[graph->node_count].is_kept = true;
    *tool_map_at(&graph->node_map, key, TTAPE_NONE) = (uint32_t)graph->node_count;
    return (uint32_t)graph->node_count++;
}

static uint32_t signal_node(struct tool_graph *graph, uint32_t number)
{
    uint64_t key = KEY_SIGNAL | number;
    uint32_t found = *tool_map_at(&graph->node_map, key, TTAPE_NONE);
    return found != TTAPE_NONE ? found
                               : tool_graph_new_node(graph,
                                                     &(struct tool_graph_node){
                                                         .kind = TOOL_NODE_SIGNAL,
                                                         .function = graph->functions.count - 1,
                                                         .signal = number},
                                                     key);
}

static uint32_t function_node(struct tool_graph *graph, uint32_t function, uint32_t level)
{
    if (level == 0 && graph->plain[function] != TTAPE_NONE)
        return graph->plain[function];
    uint64_t key = (uint64_t)level << LEVEL_SHIFT | function;
    uint32_t found = *tool_map_at(&graph->node_map, key, TTAPE_NONE);
    if (found == TTAPE_NONE) {
        found = tool_graph_new_node(graph,
                                    &(struct tool_graph_node){.kind = TOOL_NODE_FUNCTION,
                                                              .function = function,
                                                              .level = level},
                                    key);
        if (level == 0)
            graph->plain[function] = found;
    }
    return found;
}

static uint32_t find_edge(struct tool_graph *graph, uint32_t from, uint32_t to)
{
    uint32_t *place = tool_map_at(&graph->edge_map, (uint64_t)from << 32 | to, TTAPE_NONE);
    if (*place == TTAPE_NONE) {
        *place = (uint32_t)graph->edge_count;
        tool_grow((void **)&graph->edges, &graph->edge_capacity, graph->edge_count + 1,
                  sizeof(*graph->edges));
        graph->edges[graph->edge_count++] =
            (struct tool_graph_edge){.from = from, .to = to, .is_kept = true};
    }
    return *place;
}

static void touch(struct tool_graph *graph, uint32_t what)
{
    tool_grow((void **)&graph->touched, &graph->touched_capacity, graph->touched_count + 1,
              sizeof(*graph->touched));
    graph->touched[graph->touched_count++] = what;
}

static inline struct tool_graph_node *touch_node(struct tool_graph *graph, uint32_t index)
{
    struct tool_graph_node *node = &graph->nodes[index];
    if (!node->is_touched) {
        node->is_touched = true;
        touch(graph, index);
    }
    return node;
}

static inline struct tool_graph_edge *touch_edge(struct tool_graph *graph, uint32_t index)
{
    struct tool_graph_edge *edge = &graph->edges[index];
    if (!edge->is_touched) {
        edge->is_touched = true;
        touch(graph, IS_EDGE | index);
    }
    return edge;
}

/* How often a node or edge is on a stack: where there are several, each has its own count. */
static inline uint32_t *active_of(struct tool_graph *graph, uint32_t stack, uint32_t what,
                                  uint32_t *own)
{
    return stack == 0 ? own : tool_map_at(&graph->active_map, (uint64_t)stack << 32 | what, 0);
}

/* ---- calls ---- */

static uint32_t level_of(const struct tool_graph_thread *thread,
                         const struct tool_call_stack *stack, const ttape_call *call)
{
    if (call->kind == TTAPE_EVENT_OPEN)
        return thread->open.level;
    return stack->number != 0 && stack->origin != 0 ? thread->level + 1 : thread->level;
}

/* A first routine that calls itself stays in its node. No other call above it is a first one. */
static uint32_t node_of(struct tool_graph *graph, const struct tool_call_stack *stack,
                        const ttape_call *call)
{
    const struct tool_graph_thread *thread = &graph->threads[graph->current];
    if (call->kind == TTAPE_EVENT_SIGNAL_BEGIN)
        return signal_node(graph, call->argument);
    uint32_t function = tool_function_of(&graph->functions, call->site);
    uint32_t level = level_of(thread, stack, call);
    level = level < LEVEL_MOST ? level : LEVEL_MOST;
    if (stack->count == 1 || graph->split_levels)
        return function_node(graph, function, level);
    const struct tool_graph_node *bottom =
        &graph->nodes[tool_call_word(&stack->calls[0], TOOL_CALL_NODE)];
    if (bottom->kind == TOOL_NODE_FUNCTION && bottom->function == function)
        return tool_call_word(&stack->calls[0], TOOL_CALL_NODE);
    return function_node(graph, function, 0);
}

/* What a call hangs below. */
static struct tool_graph_origin origin_of(const struct tool_graph *graph,
                                          const struct tool_call_stack *stack,
                                          const ttape_call *call)
{
    const struct tool_graph_thread *thread = &graph->threads[graph->current];
    if (call->kind == TTAPE_EVENT_SIGNAL_BEGIN)
        return (struct tool_graph_origin){.node = TOOL_GRAPH_START};
    if (stack->count > 1) {
        return (struct tool_graph_origin){.node = tool_call_word(&call[-1], TOOL_CALL_SHOWN),
                                          .through = tool_call_word(&call[-1], TOOL_CALL_FLAGS) &
                                                     CALL_THROUGH};
    }
    if (call->kind == TTAPE_EVENT_OPEN)
        return thread->open;
    if (stack->number != 0 && stack->origin != 0)
        return (struct tool_graph_origin){.node = stack->origin - 1, .through = stack->through};
    return thread->first;
}

static uint32_t enter_edge(struct tool_graph *graph, const struct tool_call_stack *stack,
                           const ttape_call *call, uint32_t node,
                           const struct tool_graph_origin *origin)
{
    uint32_t index = find_edge(graph, origin->node, node);
    struct tool_graph_edge *edge = touch_edge(graph, index);
    ++*active_of(graph, stack->number, IS_EDGE | index, &edge->active);
    edge->is_inferred = edge->is_inferred || origin->is_inferred;
    if (tool_call_counts(call)) {
        bool is_spawned =
            (stack->count == 1 && !origin->is_path) || call->kind == TTAPE_EVENT_SIGNAL_BEGIN;
        edge->now.calls++;
        edge->now.spawned += is_spawned;
        edge->now.through += !is_spawned && origin->through != 0;
    }
    return index;
}

/* The frames that led to an outermost call, which nobody saw entered: graph->frames. */
static uint32_t find_path(struct tool_graph *graph, const struct tool_call_stack *stack,
                          const ttape_call *call)
{
    const ttape_reader *reader = graph->input->reader;
    ttape_site site;
    ttape_path step;
    if (!graph->has_paths || stack->count != 1 ||
        ttape_reader_get_site(reader, call->site, &site) != TTAPE_OK ||
        ttape_reader_get_path(reader, site.path, &step) != TTAPE_OK)
        return 0;
    uint32_t count = step.depth, at = count;
    tool_grow((void **)&graph->frames, &graph->frame_capacity, count, sizeof(uint32_t));
    for (uint32_t path = site.path; ttape_reader_get_path(reader, path, &step) == TTAPE_OK;
         path = step.parent)
        graph->frames[--at] = step.site;
    return count;
}

/* Nodes and edges of the frames are on the stack with the call, without a call of their own. */
static void enter_path(struct tool_graph *graph, const struct tool_call_stack *stack,
                       const ttape_call *call, struct tool_graph_origin *origin)
{
    uint32_t level = level_of(&graph->threads[graph->current], stack, call);
    uint32_t count = find_path(graph, stack, call);
    for (uint32_t i = 0; i < count; i++) {
        if (graph->frames[i] == TTAPE_NONE)
            continue;
        uint32_t function = tool_function_of(&graph->functions, graph->frames[i]);
        uint32_t index = function_node(graph, function, level < LEVEL_MOST ? level : LEVEL_MOST);
        struct tool_graph_node *node = touch_node(graph, index);
        uint32_t active = ++*active_of(graph, stack->number, index, &node->active);
        node->depth = active > node->depth ? active : node->depth;
        if (!node->is_kept)
            continue;
        uint32_t edge_index = find_edge(graph, origin->node, index);
        struct tool_graph_edge *edge = touch_edge(graph, edge_index);
        ++*active_of(graph, stack->number, IS_EDGE | edge_index, &edge->active);
        edge->is_inferred = edge->is_inferred || origin->is_inferred;
        *origin = (struct tool_graph_origin){.node = index, .is_path = true};
    }
}

static void leave_path(struct tool_graph *graph, const struct tool_call_stack *stack,
                       const ttape_call *call)
{
    uint32_t level = level_of(&graph->threads[graph->current], stack, call);
    uint32_t count = find_path(graph, stack, call);
    uint32_t from = count != 0 ? origin_of(graph, stack, call).node : TOOL_GRAPH_START;
    for (uint32_t i = 0; i < count; i++) {
        if (graph->frames[i] == TTAPE_NONE)
            continue;
        uint32_t function = tool_function_of(&graph->functions, graph->frames[i]);
        uint32_t index = function_node(graph, function, level < LEVEL_MOST ? level : LEVEL_MOST);
        struct tool_graph_node *node = touch_node(graph, index);
        if (--*active_of(graph, stack->number, index, &node->active) == 0)
            tool_add_ns(&node->now.total_ns, call->total_ns);
        if (!node->is_kept)
            continue;
        uint32_t edge_index = find_edge(graph, from, index);
        struct tool_graph_edge *edge = touch_edge(graph, edge_index);
        if (--*active_of(graph, stack->number, IS_EDGE | edge_index, &edge->active) == 0)
            tool_add_ns(&edge->now.total_ns, call->total_ns);
        from = index;
    }
}

static void enter(void *context, struct tool_call_stack *stack, ttape_call *call)
{
    struct tool_graph *graph = context;
    uint32_t index = node_of(graph, stack, call);
    struct tool_graph_origin origin = origin_of(graph, stack, call);
    enter_path(graph, stack, call, &origin);
    struct tool_graph_node *node = touch_node(graph, index);
    bool is_idle = graph->is_idle[node->function];
    is_idle = is_idle ||
              (stack->count > 1 && (tool_call_word(&call[-1], TOOL_CALL_FLAGS) & CALL_IDLE) != 0);
    uint32_t active = ++*active_of(graph, stack->number, index, &node->active);
    node->depth = active > node->depth ? active : node->depth;
    graph->max_depth = stack->count > graph->max_depth ? (uint32_t)stack->count : graph->max_depth;
    if (tool_call_counts(call)) {
        node->now.calls++;
        node->now.recursion += active > 1;
    }
    call->user[TOOL_CALL_NODE] = index;
    call->user[TOOL_CALL_FLAGS] = (is_idle ? CALL_IDLE : 0) | (node->is_kept ? 0 : CALL_THROUGH);
    call->user[TOOL_CALL_SHOWN] = node->is_kept ? index : origin.node;
    call->user[TOOL_CALL_EDGE] =
        node->is_kept ? enter_edge(graph, stack, call, index, &origin) : TTAPE_NONE;
}

/* Of an outermost call: what is known of it is known of all above it. */
static void note_known(struct tool_graph *graph, const ttape_call *call)
{
    tool_add_ns(&graph->unknown_ns, call->unknown_ns);
    graph->has_switches =
        graph->has_switches || (graph->asks_switches && call->unknown_ns < call->total_ns);
}

static void off_cpu(void *context, ttape_call *top, int64_t preempted_ns, int64_t blocked_ns)
{
    struct tool_graph *graph = context;
    uint32_t index = top != NULL ? tool_call_word(top, TOOL_CALL_NODE) : TOOL_GRAPH_START;
    (void)preempted_ns;
    tool_add_ns(&touch_node(graph, index)->now.blocked_ns, blocked_ns);
}

static void count_end(struct tool_graph_counts *counts, const ttape_call *call)
{
    counts->unseen += call->end == TTAPE_CALL_UNSEEN;
    counts->late += call->end == TTAPE_CALL_LATE;
}

static void leave(void *context, struct tool_call_stack *stack, ttape_call *call)
{
    struct tool_graph *graph = context;
    uint32_t index = tool_call_word(call, TOOL_CALL_NODE);
    uint32_t edge_index = tool_call_word(call, TOOL_CALL_EDGE);
    struct tool_graph_node *node = touch_node(graph, index);
    bool is_idle = (call->user[TOOL_CALL_FLAGS] & CALL_IDLE) != 0;
    if (stack->count == 1)
        note_known(graph, call);
    count_end(&node->now, call);
    tool_add_ns(&node->now.self_ns, call->self_ns);
    tool_add_ns(&node->now.idle_ns, is_idle ? call->self_ns : 0);
    if (--*active_of(graph, stack->number, index, &node->active) == 0)
        tool_add_ns(&node->now.total_ns, call->total_ns);
    if (edge_index == TTAPE_NONE) {
        uint32_t shown = tool_call_word(call, TOOL_CALL_SHOWN);
        tool_add_ns(&touch_node(graph, shown)->now.below_ns, call->self_ns);
        leave_path(graph, stack, call);
        return;
    }
    struct tool_graph_edge *edge = touch_edge(graph, edge_index);
    count_end(&edge->now, call);
    if (--*active_of(graph, stack->number, IS_EDGE | edge_index, &edge->active) == 0)
        tool_add_ns(&edge->now.total_ns, call->total_ns);
    leave_path(graph, stack, call);
}

struct tool_graph_origin tool_graph_here(const struct tool_graph *graph,
                                         const struct tool_call_stack *stack)
{
    const struct tool_graph_thread *thread = &graph->threads[graph->current];
    if (stack->count == 0)
        return thread->first;
    const ttape_call *top = &stack->calls[stack->count - 1];
    return (struct tool_graph_origin){.node = tool_call_word(top, TOOL_CALL_SHOWN),
                                      .through =
                                          tool_call_word(top, TOOL_CALL_FLAGS) & CALL_THROUGH};
}

static void change(void *context, const struct tool_call_stack *from, struct tool_call_stack *to)
{
    struct tool_graph_origin here = tool_graph_here(context, from);
    to->origin = here.node + 1;
    to->through = here.through;
}

static void leaf(void *context, struct tool_calls *calls, const ttape_event *event)
{
    tool_spawn_leaf(context, calls, event);
}

static void ring(void *context, struct tool_calls *calls) { tool_spawn_alarm(context, calls); }

/* ---- threads ---- */

static void add_counts(struct tool_graph_counts *to, const struct tool_graph_counts *from)
{
    to->calls += from->calls;
    to->recursion += from->recursion;
    to->spawned += from->spawned;
    to->through += from->through;
    to->unseen += from->unseen;
    to->late += from->late;
    tool_add_ns(&to->total_ns, from->total_ns);
    tool_add_ns(&to->self_ns, from->self_ns);
    tool_add_ns(&to->below_ns, from->below_ns);
    tool_add_ns(&to->idle_ns, from->idle_ns);
    tool_add_ns(&to->blocked_ns, from->blocked_ns);
}

static void keep_context(struct tool_graph *graph, uint32_t index, bool is_edge,
                         const struct tool_graph_counts *counts)
{
    if (!graph->keep_contexts)
        return;
    tool_grow((void **)&graph->contexts, &graph->context_capacity, graph->context_count + 1,
              sizeof(*graph->contexts));
    graph->contexts[graph->context_count++] =
        (struct tool_graph_context){graph->current, index, is_edge, *counts};
}

/* The thread's model joins that of all. */
static void merge(struct tool_graph *graph)
{
    struct tool_graph_thread *thread = &graph->threads[graph->current];
    for (size_t i = 0; i < graph->touched_count; i++) {
        uint32_t index = graph->touched[i] & ~IS_EDGE;
        if ((graph->touched[i] & IS_EDGE) != 0) {
            struct tool_graph_edge *edge = &graph->edges[index];
            add_counts(&edge->sum, &edge->now);
            keep_context(graph, index, true, &edge->now);
            edge->now = (struct tool_graph_counts){0};
            edge->is_touched = false;
        } else {
            struct tool_graph_node *node = &graph->nodes[index];
            add_counts(&node->sum, &node->now);
            node->thread_count++;
            keep_context(graph, index, false, &node->now);
            thread->call_count += node->kind == TOOL_NODE_FUNCTION ? node->now.calls : 0;
            tool_add_ns(&thread->idle_ns, node->now.idle_ns);
            tool_add_ns(&thread->blocked_ns, node->now.blocked_ns);
            node->now = (struct tool_graph_counts){0};
            node->is_touched = false;
        }
    }
    graph->touched_count = 0;
    graph->call_count += thread->call_count;
    tool_add_ns(&graph->idle_ns, thread->idle_ns);
    tool_add_ns(&graph->blocked_ns, thread->blocked_ns);
}

void tool_graph_walk(struct tool_graph *graph, struct tool_calls *calls)
{
    static const struct tool_calls_handler handler = {enter, leave, change, leaf, off_cpu, ring};
    tool_calls_open(calls, graph->input, graph->selection, &handler, graph);
    graph->asks_switches = calls->switches;
    graph->has_paths = ttape_reader_path_count(graph->input->reader) != 0;
    for (uint32_t i = 0; i < graph->thread_count && calls->status != TOOL_CANNOT; i++) {
        struct tool_graph_thread *thread = &graph->threads[i];
        graph->current = i;
        thread->call_count = 0;
        thread->idle_ns = thread->blocked_ns = 0;
        uint64_t alarm_ns = tool_spawn_begin(graph, i);
        tool_calls_stream(calls, thread->stream, alarm_ns);
        thread->event_count = calls->event_count;
        thread->span_ns = calls->span_ns;
        tool_add_ns(&touch_node(graph, TOOL_GRAPH_START)->now.self_ns, calls->outside_ns);
        tool_add_ns(&graph->span_ns, calls->span_ns);
        merge(graph);
    }
}

/* Calls become counts of nodes and edges, thread by thread: each thread's are added up apart, and
 * merged when it is through. */
#include "answers/graph/graph_internal.h"

#define CALL_THROUGH 1u /* no node shows the top of the stack */
#define CALL_IDLE    2u
#define CALL_WITHIN  4u /* what is asked about; all calls, where nothing special is */
#define KEY_SIGNAL   (UINT64_C(1) << 62)
#define LEVEL_SHIFT  32u
#define LEVEL_MOST   0x1FFFFFFFu
#define IS_EDGE      0x80000000u

/* The start where there is no memory. */
uint32_t ttp_graph_new_node(struct ttape_graph *graph, const ttape_graph_node *node, uint64_t key)
{
    uint32_t count = graph->info.node_count;
    if (!ttp_graph_reserve(graph, &graph->nodes, &graph->node_capacity, (uint64_t)count + 1,
                           sizeof *graph->nodes) ||
        !ttp_graph_reserve(graph, &graph->nodes_now, &graph->node_now_capacity, (uint64_t)count + 1,
                           sizeof *graph->nodes_now))
        return TTAPE_GRAPH_START;
    graph->nodes[count] = *node;
    graph->nodes[count].is_kept = true;
    graph->nodes_now[count] = (struct ttp_graph_now){0};
    *ttp_graph_at(graph, &graph->node_map, key, TTAPE_NONE) = count;
    return graph->info.node_count++;
}

static uint32_t signal_node(struct ttape_graph *graph, uint32_t number)
{
    uint64_t key = KEY_SIGNAL | number;
    uint32_t found = *ttp_graph_at(graph, &graph->node_map, key, TTAPE_NONE);
    return found != TTAPE_NONE
               ? found
               : ttp_graph_new_node(graph,
                                    &(ttape_graph_node){.kind = TTAPE_GRAPH_SIGNAL,
                                                        .function = graph->row_count - 1,
                                                        .site = TTAPE_NONE,
                                                        .signal = number},
                                    key);
}

static uint32_t function_node(struct ttape_graph *graph, uint32_t function, uint32_t level)
{
    if (level == 0 && graph->plain[function] != TTAPE_NONE)
        return graph->plain[function];
    uint64_t key = (uint64_t)level << LEVEL_SHIFT | function;
    uint32_t found = *ttp_graph_at(graph, &graph->node_map, key, TTAPE_NONE);
    if (found == TTAPE_NONE) {
        found = ttp_graph_new_node(graph,
                                   &(ttape_graph_node){.kind = TTAPE_GRAPH_FUNCTION,
                                                       .function = function,
                                                       .site = graph->rows[function].site,
                                                       .level = level},
                                   key);
        if (level == 0)
            graph->plain[function] = found;
    }
    return found;
}

static uint32_t look_up_edge(struct ttape_graph *graph, uint32_t from, uint32_t to)
{
    uint32_t count = graph->info.edge_count;
    uint32_t *place = ttp_graph_at(graph, &graph->edge_map, (uint64_t)from << 32 | to, TTAPE_NONE);
    if (*place != TTAPE_NONE)
        return *place;
    if (!ttp_graph_reserve(graph, &graph->edges, &graph->edge_capacity, (uint64_t)count + 1,
                           sizeof *graph->edges) ||
        !ttp_graph_reserve(graph, &graph->edges_now, &graph->edge_now_capacity, (uint64_t)count + 1,
                           sizeof *graph->edges_now))
        return 0;
    graph->edges[count] = (ttape_graph_edge){.from = from, .to = to, .is_kept = true};
    graph->edges_now[count] = (struct ttp_graph_now){0};
    graph->info.edge_count++;
    return *place = count;
}

/* Most calls come from where the last one of the function came from. */
static inline uint32_t find_edge(struct ttape_graph *graph, uint32_t from, uint32_t to)
{
    struct ttp_graph_now *now = &graph->nodes_now[to];
    if (__builtin_expect(now->from != from || now->edge_plus_one == 0, 0)) {
        now->from = from;
        now->edge_plus_one = look_up_edge(graph, from, to) + 1;
    }
    return now->edge_plus_one - 1;
}

static void touch(struct ttape_graph *graph, uint32_t what)
{
    if (ttp_graph_reserve(graph, &graph->touched, &graph->touched_capacity,
                          (uint64_t)graph->touched_count + 1, sizeof *graph->touched))
        graph->touched[graph->touched_count++] = what;
}

static inline struct ttp_graph_now *touch_node(struct ttape_graph *graph, uint32_t index)
{
    struct ttp_graph_now *now = &graph->nodes_now[index];
    if (!now->is_touched) {
        now->is_touched = true;
        touch(graph, index);
    }
    return now;
}

static inline struct ttp_graph_now *touch_edge(struct ttape_graph *graph, uint32_t index)
{
    struct ttp_graph_now *now = &graph->edges_now[index];
    if (!now->is_touched) {
        now->is_touched = true;
        touch(graph, IS_EDGE | index);
    }
    return now;
}

/* How often a node or edge is on a stack: where there are several, each has its own count. */
static inline uint32_t *active_of(struct ttape_graph *graph, uint32_t stack, uint32_t what,
                                  uint32_t *own)
{
    return stack == 0 ? own
                      : ttp_graph_at(graph, &graph->active_map, (uint64_t)stack << 32 | what, 0);
}

/* ---- calls ---- */

/* It was made in what is read: an enter of the selection. */
static inline bool is_counted(const ttape_call *call)
{
    return call->kind != TTAPE_EVENT_OPEN && !call->is_found;
}

static uint32_t level_of(const struct ttp_graph_thread *thread, const struct ttp_graph_stack *stack,
                         const ttape_call *call)
{
    if (call->kind == TTAPE_EVENT_OPEN)
        return thread->open.level;
    return stack->number != 0 && stack->origin != 0 ? thread->shown.level + 1 : thread->shown.level;
}

/* A first routine that calls itself stays in its node. No other call above it is a first one. */
static uint32_t node_of(struct ttape_graph *graph, const struct ttp_graph_stack *stack,
                        const ttape_call *call)
{
    const struct ttp_graph_thread *thread = &graph->threads[graph->current];
    if (call->kind == TTAPE_EVENT_SIGNAL_BEGIN)
        return signal_node(graph, call->argument);
    uint32_t function = ttp_graph_row(graph, call->site);
    uint32_t level = level_of(thread, stack, call);
    level = level < LEVEL_MOST ? level : LEVEL_MOST;
    if (stack->count == 1 || graph->options.split_levels)
        return function_node(graph, function, level);
    const ttape_graph_node *bottom = &graph->nodes[ttp_graph_word(&stack->calls[0], TTP_CALL_NODE)];
    if (bottom->kind == TTAPE_GRAPH_FUNCTION && bottom->function == function)
        return ttp_graph_word(&stack->calls[0], TTP_CALL_NODE);
    return function_node(graph, function, 0);
}

/* What a call hangs below. */
static struct ttp_graph_origin origin_of(const struct ttape_graph *graph,
                                         const struct ttp_graph_stack *stack,
                                         const ttape_call *call)
{
    const struct ttp_graph_thread *thread = &graph->threads[graph->current];
    if (call->kind == TTAPE_EVENT_SIGNAL_BEGIN)
        return (struct ttp_graph_origin){.node = TTAPE_GRAPH_START};
    if (stack->count > 1) {
        return (struct ttp_graph_origin){.node = ttp_graph_word(&call[-1], TTP_CALL_SHOWN),
                                         .through = ttp_graph_word(&call[-1], TTP_CALL_FLAGS) &
                                                    CALL_THROUGH};
    }
    if (call->kind == TTAPE_EVENT_OPEN)
        return thread->open;
    if (stack->number != 0 && stack->origin != 0)
        return (struct ttp_graph_origin){.node = stack->origin - 1, .through = stack->through};
    return thread->first;
}

static uint32_t enter_edge(struct ttape_graph *graph, const struct ttp_graph_stack *stack,
                           const ttape_call *call, uint32_t node,
                           const struct ttp_graph_origin *origin)
{
    uint32_t index = find_edge(graph, origin->node, node);
    struct ttp_graph_now *edge = touch_edge(graph, index);
    ++*active_of(graph, stack->number, IS_EDGE | index, &edge->active);
    graph->edges[index].is_inferred |= origin->is_inferred;
    if (is_counted(call)) {
        bool is_spawned =
            (stack->count == 1 && !origin->is_path) || call->kind == TTAPE_EVENT_SIGNAL_BEGIN;
        edge->counts.call_count++;
        edge->counts.start_count += is_spawned;
        edge->counts.through_count += !is_spawned && origin->through != 0;
    }
    return index;
}

/* The frames that led to an outermost call, which nobody saw entered: graph->frames. */
static uint32_t find_path(struct ttape_graph *graph, const struct ttp_graph_stack *stack,
                          const ttape_call *call)
{
    ttape_reader *reader = graph->reader;
    ttape_site site;
    ttape_path step;
    if (!graph->has_paths || stack->count != 1 ||
        ttape_reader_get_site(reader, call->site, &site) != TTAPE_OK ||
        ttape_reader_get_path(reader, site.path, &step) != TTAPE_OK)
        return 0;
    uint32_t count = step.depth, at = count;
    if (!ttp_graph_reserve(graph, &graph->frames, &graph->frame_capacity, count,
                           sizeof *graph->frames))
        return 0;
    for (uint32_t path = site.path; ttape_reader_get_path(reader, path, &step) == TTAPE_OK;
         path = step.parent)
        graph->frames[--at] = step.site;
    return count;
}

/* The first of so many frames that is asked about; `count` where none is. */
static uint32_t first_within(const struct ttape_graph *graph, uint32_t count)
{
    uint32_t i = 0;
    while (graph->is_below != NULL && i < count &&
           !graph->is_below[ttp_graph_row(graph, graph->frames[i])])
        i++;
    return i;
}

static inline bool is_parent_within(const struct ttp_graph_stack *stack, const ttape_call *call)
{
    return stack->count > 1 && (ttp_graph_word(&call[-1], TTP_CALL_FLAGS) & CALL_WITHIN) != 0;
}

static bool is_within(struct ttape_graph *graph, const struct ttp_graph_stack *stack,
                      const ttape_call *call)
{
    if (graph->is_below == NULL || is_parent_within(stack, call) ||
        graph->is_below[ttp_graph_row(graph, call->site)])
        return true;
    uint32_t count = find_path(graph, stack, call);
    return first_within(graph, count) < count;
}

/* Nodes and edges of the frames are on the stack with the call, without a call of their own. */
static void enter_path(struct ttape_graph *graph, const struct ttp_graph_stack *stack,
                       const ttape_call *call, struct ttp_graph_origin *origin)
{
    uint32_t level = level_of(&graph->threads[graph->current], stack, call);
    uint32_t count = find_path(graph, stack, call);
    for (uint32_t i = first_within(graph, count); i < count; i++) {
        if (graph->frames[i] == TTAPE_NONE)
            continue;
        uint32_t function = ttp_graph_row(graph, graph->frames[i]);
        uint32_t index = function_node(graph, function, level < LEVEL_MOST ? level : LEVEL_MOST);
        struct ttp_graph_now *now = touch_node(graph, index);
        ttape_graph_node *node = &graph->nodes[index];
        uint32_t active = ++*active_of(graph, stack->number, index, &now->active);
        node->depth = active > node->depth ? active : node->depth;
        if (!node->is_kept)
            continue;
        uint32_t edge_index = find_edge(graph, origin->node, index);
        struct ttp_graph_now *edge = touch_edge(graph, edge_index);
        ++*active_of(graph, stack->number, IS_EDGE | edge_index, &edge->active);
        graph->edges[edge_index].is_inferred |= origin->is_inferred;
        *origin = (struct ttp_graph_origin){.node = index, .is_path = true};
    }
}

static void leave_path(struct ttape_graph *graph, const struct ttp_graph_stack *stack,
                       const ttape_call *call)
{
    uint32_t level = level_of(&graph->threads[graph->current], stack, call);
    uint32_t count = find_path(graph, stack, call);
    uint32_t from = count != 0 ? origin_of(graph, stack, call).node : TTAPE_GRAPH_START;
    for (uint32_t i = first_within(graph, count); i < count; i++) {
        if (graph->frames[i] == TTAPE_NONE)
            continue;
        uint32_t function = ttp_graph_row(graph, graph->frames[i]);
        uint32_t index = function_node(graph, function, level < LEVEL_MOST ? level : LEVEL_MOST);
        struct ttp_graph_now *now = touch_node(graph, index);
        ttape_graph_node *node = &graph->nodes[index];
        if (--*active_of(graph, stack->number, index, &now->active) == 0)
            ttp_graph_add_ns(&now->counts.total_ns, call->total_ns);
        if (!node->is_kept)
            continue;
        uint32_t edge_index = find_edge(graph, from, index);
        struct ttp_graph_now *edge = touch_edge(graph, edge_index);
        if (--*active_of(graph, stack->number, IS_EDGE | edge_index, &edge->active) == 0)
            ttp_graph_add_ns(&edge->counts.total_ns, call->total_ns);
        from = index;
    }
}

void ttp_graph_enter(struct ttape_graph *graph, struct ttp_graph_stack *stack, ttape_call *call)
{
    if (!is_within(graph, stack, call)) {
        call->user[TTP_CALL_NODE] = call->user[TTP_CALL_SHOWN] = TTAPE_GRAPH_START;
        call->user[TTP_CALL_FLAGS] = 0;
        call->user[TTP_CALL_EDGE] = TTAPE_NONE;
        return;
    }
    uint32_t index = node_of(graph, stack, call);
    struct ttp_graph_origin origin = origin_of(graph, stack, call);
    if (__builtin_expect(graph->has_paths, 0))
        enter_path(graph, stack, call, &origin);
    struct ttp_graph_now *now = touch_node(graph, index);
    ttape_graph_node *node = &graph->nodes[index];
    bool is_idle = graph->is_idle[node->function];
    is_idle = is_idle ||
              (stack->count > 1 && (ttp_graph_word(&call[-1], TTP_CALL_FLAGS) & CALL_IDLE) != 0);
    uint32_t active = ++*active_of(graph, stack->number, index, &now->active);
    node->depth = active > node->depth ? active : node->depth;
    graph->info.max_depth =
        stack->count > graph->info.max_depth ? (uint32_t)stack->count : graph->info.max_depth;
    if (is_counted(call)) {
        now->counts.call_count++;
        now->counts.recursion_count += active > 1;
    }
    call->user[TTP_CALL_NODE] = index;
    call->user[TTP_CALL_FLAGS] =
        CALL_WITHIN | (is_idle ? CALL_IDLE : 0) | (node->is_kept ? 0 : CALL_THROUGH);
    call->user[TTP_CALL_SHOWN] = node->is_kept ? index : origin.node;
    call->user[TTP_CALL_EDGE] =
        node->is_kept ? enter_edge(graph, stack, call, index, &origin) : TTAPE_NONE;
}

/* What is known of an outermost call is known of all above it. */
static void note_known(struct ttape_graph *graph, const ttape_call *call)
{
    ttp_graph_add_ns(&graph->info.unknown_ns, call->unknown_ns);
    graph->info.has_switches =
        graph->info.has_switches || (graph->asks_switches && call->unknown_ns < call->total_ns);
}

/* Threads wait for the recorder in that site: this is no waiting of the program's. */
static bool is_recorder(const struct ttape_graph *graph, uint32_t site)
{
    const struct ttp_definition_tables *d = &graph->reader->definitions;
    return site < d->site_count && ttp_read_site_is_recorder(&d->sites[site]);
}

void ttp_graph_block(struct ttape_graph *graph, const ttape_call *top, int64_t blocked_ns)
{
    if (graph->is_below != NULL &&
        (top == NULL || (ttp_graph_word(top, TTP_CALL_FLAGS) & CALL_WITHIN) == 0))
        return;
    uint32_t index = top != NULL ? ttp_graph_word(top, TTP_CALL_NODE) : TTAPE_GRAPH_START;
    if (top != NULL && is_recorder(graph, top->site) &&
        !is_recorder(graph, graph->nodes[index].site))
        return; /* its own node is pruned */
    ttp_graph_add_ns(&touch_node(graph, index)->counts.blocked_ns, blocked_ns);
}

static void count_end(ttape_graph_counts *counts, const ttape_call *call)
{
    counts->unseen_count += call->end == TTAPE_CALL_UNSEEN;
    counts->late_count += call->end == TTAPE_CALL_LATE;
}

static void add_extremes(int64_t *sum, int64_t *min, int64_t *max, int64_t time_ns, bool is_first)
{
    ttp_graph_add_ns(sum, time_ns);
    *min = is_first || time_ns < *min ? time_ns : *min;
    *max = is_first || time_ns > *max ? time_ns : *max;
}

/* How long one call took is known where both of its ends are. */
static void note_times(ttape_graph_times *times, const ttape_call *call)
{
    bool is_first = times->count == 0;
    if (call->is_found || (call->end != TTAPE_CALL_RETURNED && call->end != TTAPE_CALL_UNWOUND))
        return;
    times->count++;
    add_extremes(&times->sum_ns, &times->min_ns, &times->max_ns, call->total_ns, is_first);
    add_extremes(&times->self_sum_ns, &times->self_min_ns, &times->self_max_ns, call->self_ns,
                 is_first);
}

void ttp_graph_leave(struct ttape_graph *graph, struct ttp_graph_stack *stack, ttape_call *call)
{
    uint32_t index = ttp_graph_word(call, TTP_CALL_NODE);
    uint32_t edge_index = ttp_graph_word(call, TTP_CALL_EDGE);
    if ((call->user[TTP_CALL_FLAGS] & CALL_WITHIN) == 0)
        return;
    struct ttp_graph_now *now = touch_node(graph, index);
    bool is_idle = (call->user[TTP_CALL_FLAGS] & CALL_IDLE) != 0;
    if (!is_parent_within(stack, call)) {
        note_known(graph, call);
        ttp_graph_add_ns(&graph->within_ns, call->total_ns);
    }
    count_end(&now->counts, call);
    note_times(&graph->nodes[index].times, call);
    ttp_graph_add_ns(&now->counts.self_ns, call->self_ns);
    ttp_graph_add_ns(&now->counts.idle_ns, is_idle ? call->self_ns : 0);
    if (--*active_of(graph, stack->number, index, &now->active) == 0)
        ttp_graph_add_ns(&now->counts.total_ns, call->total_ns);
    if (edge_index == TTAPE_NONE) {
        uint32_t shown = ttp_graph_word(call, TTP_CALL_SHOWN);
        ttp_graph_add_ns(&touch_node(graph, shown)->counts.below_ns, call->self_ns);
        if (graph->has_paths)
            leave_path(graph, stack, call);
        return;
    }
    struct ttp_graph_now *edge = touch_edge(graph, edge_index);
    count_end(&edge->counts, call);
    if (--*active_of(graph, stack->number, IS_EDGE | edge_index, &edge->active) == 0)
        ttp_graph_add_ns(&edge->counts.total_ns, call->total_ns);
    if (__builtin_expect(graph->has_paths, 0))
        leave_path(graph, stack, call);
}

struct ttp_graph_origin ttp_graph_here(const struct ttape_graph *graph,
                                       const struct ttp_graph_stack *stack)
{
    const struct ttp_graph_thread *thread = &graph->threads[graph->current];
    if (stack->count == 0)
        return thread->first;
    const ttape_call *top = &stack->calls[stack->count - 1];
    return (struct ttp_graph_origin){.node = ttp_graph_word(top, TTP_CALL_SHOWN),
                                     .through = ttp_graph_word(top, TTP_CALL_FLAGS) & CALL_THROUGH};
}

void ttp_graph_change(struct ttape_graph *graph, const struct ttp_graph_stack *from,
                      struct ttp_graph_stack *to)
{
    struct ttp_graph_origin here = ttp_graph_here(graph, from);
    to->origin = here.node + 1;
    to->through = here.through;
}

/* ---- threads ---- */

static void add_counts(ttape_graph_counts *to, const ttape_graph_counts *from)
{
    to->call_count += from->call_count;
    to->recursion_count += from->recursion_count;
    to->start_count += from->start_count;
    to->through_count += from->through_count;
    to->unseen_count += from->unseen_count;
    to->late_count += from->late_count;
    ttp_graph_add_ns(&to->total_ns, from->total_ns);
    ttp_graph_add_ns(&to->self_ns, from->self_ns);
    ttp_graph_add_ns(&to->below_ns, from->below_ns);
    ttp_graph_add_ns(&to->idle_ns, from->idle_ns);
    ttp_graph_add_ns(&to->blocked_ns, from->blocked_ns);
}

static void keep_context(struct ttape_graph *graph, uint32_t index, bool is_edge,
                         const ttape_graph_counts *counts)
{
    uint32_t count = graph->info.context_count;
    if (!graph->options.contexts ||
        !ttp_graph_reserve(graph, &graph->contexts, &graph->context_capacity, (uint64_t)count + 1,
                           sizeof *graph->contexts))
        return;
    graph->contexts[graph->info.context_count++] =
        (ttape_graph_context){graph->current, index, is_edge, *counts};
}

/* The thread's model joins that of all. */
static void merge(struct ttape_graph *graph)
{
    ttape_graph_thread *thread = &graph->threads[graph->current].shown;
    for (uint32_t i = 0; i < graph->touched_count; i++) {
        uint32_t index = graph->touched[i] & ~IS_EDGE;
        bool is_edge = (graph->touched[i] & IS_EDGE) != 0;
        struct ttp_graph_now *now = is_edge ? &graph->edges_now[index] : &graph->nodes_now[index];
        add_counts(is_edge ? &graph->edges[index].sum : &graph->nodes[index].sum, &now->counts);
        keep_context(graph, index, is_edge, &now->counts);
        if (!is_edge) {
            ttape_graph_node *node = &graph->nodes[index];
            bool is_function = node->kind == TTAPE_GRAPH_FUNCTION;
            node->thread_count++;
            thread->call_count += is_function ? now->counts.call_count : 0;
            ttp_graph_add_ns(&thread->idle_ns, now->counts.idle_ns);
            ttp_graph_add_ns(&thread->blocked_ns,
                             is_recorder(graph, node->site) ? 0 : now->counts.blocked_ns);
        }
        now->counts = (ttape_graph_counts){0};
        now->is_touched = false;
    }
    graph->touched_count = 0;
    graph->info.call_count += thread->call_count;
    ttp_graph_add_ns(&graph->info.idle_ns, thread->idle_ns);
    ttp_graph_add_ns(&graph->info.blocked_ns, thread->blocked_ns);
}

void ttp_graph_walk(struct ttape_graph *graph)
{
    for (uint32_t i = 0; i < graph->info.thread_count && graph->status == TTAPE_OK; i++) {
        ttape_graph_thread *thread = &graph->threads[i].shown;
        graph->current = i;
        thread->call_count = 0;
        thread->idle_ns = thread->blocked_ns = 0;
        uint64_t alarm_ns = ttp_spawn_begin(graph, i);
        ttp_graph_read(graph, thread->stream, alarm_ns);
        thread->event_count = graph->event_count;
        bool is_whole = graph->is_below == NULL;
        thread->span_ns = is_whole ? graph->span_ns : graph->within_ns;
        ttp_graph_add_ns(&touch_node(graph, TTAPE_GRAPH_START)->counts.self_ns,
                         is_whole ? graph->outside_ns : 0);
        ttp_graph_add_ns(&graph->info.span_ns, thread->span_ns);
        merge(graph);
    }
}

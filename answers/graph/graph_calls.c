/* One thread's steps as calls that begin and end on stacks. Stacks are kept from thread to thread,
 * so that hundreds of short threads take little memory anew. */
#include <string.h>

#include "answers/graph/graph_internal.h"

#define EVENTS_BETWEEN (1u << 14) /* two questions whether to go on */

/* The place of a stack; the first one where there is no memory. It may move all others. */
static uint32_t stack_of(struct ttape_graph *graph, uint32_t number)
{
    if (number == 0 && graph->stack_count > 0)
        return 0;
    uint32_t *place = number == 0 ? &graph->stack_map.lost
                                  : ttp_graph_at(graph, &graph->stack_map, number, TTAPE_NONE);
    if (number != 0 && *place != TTAPE_NONE)
        return *place;
    if (graph->status != TTAPE_OK ||
        !ttp_graph_reserve(graph, &graph->stacks, &graph->stack_capacity,
                           (uint64_t)graph->stack_count + 1, sizeof *graph->stacks))
        return 0;
    graph->stacks[graph->stack_count] = (struct ttp_graph_stack){.number = number};
    return *place = graph->stack_count++;
}

static void forget_stacks(struct ttape_graph *graph)
{
    struct ttp_key_map *map = &graph->stack_map;
    graph->stack_count = 0;
    if (map->used_count != 0)
        memset(map->slots, 0, (size_t)map->slot_count * sizeof *map->slots);
    map->used_count = 0;
    graph->current_stack = stack_of(graph, 0);
    if (graph->status == TTAPE_OK)
        graph->stacks[0].is_known = true;
}

/* ---- steps ---- */

static inline void end_call(struct ttape_graph *graph, struct ttp_graph_stack *stack,
                            const ttape_call_step *step)
{
    for (uint32_t i = step->ended_count; i-- > 0;) {
        ttp_graph_leave(graph, stack, &step->ended[i]);
        stack->count--;
    }
}

static void change(struct ttape_graph *graph, uint32_t number)
{
    uint32_t place = stack_of(graph, number);
    struct ttp_graph_stack *from = &graph->stacks[graph->current_stack];
    struct ttp_graph_stack *to = &graph->stacks[place];
    if (!to->is_known)
        ttp_graph_change(graph, from, to);
    to->is_known = true;
    graph->current_stack = place;
}

static inline void pass_time(struct ttape_graph *graph, const ttape_call_step *step)
{
    const struct ttp_graph_stack *stack = &graph->stacks[graph->current_stack];
    ttp_graph_add_ns(&graph->span_ns, step->elapsed_ns);
    if (stack->count == 0)
        ttp_graph_add_ns(&graph->outside_ns, step->elapsed_ns);
    if (__builtin_expect((step->preempted_ns | step->blocked_ns) != 0, 0))
        ttp_graph_block(graph, stack->count > 0 ? &stack->calls[stack->count - 1] : NULL,
                        step->blocked_ns);
}

/* Alarms see the stack as it is before the event. */
static inline void take_event(struct ttape_graph *graph, const ttape_call_step *step)
{
    const ttape_event *event = step->event;
    struct ttp_graph_stack *stack = &graph->stacks[graph->current_stack];
    if (step->began_count > 0) /* the stack may have moved */
        stack->calls = step->began - stack->count;
    while (__builtin_expect(step->time_ns >= graph->alarm_ns, 0) && graph->alarm_ns != UINT64_MAX)
        ttp_spawn_alarm(graph);
    pass_time(graph, step);
    graph->event_count++;
    if (step->began_count > 0) {
        stack->count++;
        ttp_graph_enter(graph, stack, step->began);
    } else if (step->ended_count > 0) {
        end_call(graph, stack, step);
    } else if (event->kind == TTAPE_EVENT_SWITCH) {
        change(graph, event->argument);
    } else if (event->kind == TTAPE_EVENT_LEAF) {
        ttp_spawn_leaf(graph, step->number, event);
    }
}

/* Where reading begins, goes on behind missing events, and stops: what is open then stays so, and
 * alarms see what it is. */
static void take_other(struct ttape_graph *graph, const ttape_call_step *step)
{
    uint32_t place = stack_of(graph, step->stack);
    struct ttp_graph_stack *stack = &graph->stacks[place];
    switch (step->kind) {
    case TTAPE_STEP_FOUND:
        stack->is_known = true;
        stack->calls = step->began - stack->count;
        for (uint32_t i = 0; i < step->began_count; i++) {
            stack->count++;
            ttp_graph_enter(graph, stack, &step->began[i]);
        }
        break;
    case TTAPE_STEP_START:
        stack->is_known = true;
        graph->current_stack = place;
        break;
    case TTAPE_STEP_STOP:
        pass_time(graph, step);
        while (graph->alarm_ns != UINT64_MAX)
            ttp_spawn_alarm(graph);
        break;
    default: end_call(graph, stack, step); break;
    }
}

/* ---- a stream ---- */

/* What was read before damage stays; it is not reported a second time. */
static void pass_damage(struct ttape_graph *graph, uint32_t stream, const ttape_error *err)
{
    const ttape_graph_options *o = &graph->options;
    if (err->status < TTAPE_E_TRUNCATED || o->damage == NULL) {
        ttp_graph_fail(graph, err->status, err);
    } else if (!graph->is_again) {
        graph->info.damaged_count++;
        o->damage(o->context, stream, err);
    }
}

static void ask(struct ttape_graph *graph)
{
    const ttape_graph_options *o = &graph->options;
    ttape_error err = {0};
    if (o->goes_on == NULL || o->goes_on(o->context, graph->all_event_count))
        return;
    ttape_status status = ttp_fail(&err, TTAPE_E_STATE, "", TTAPE_ERROR_NO_OFFSET,
                                   "stopped: the caller does not want to go on");
    ttp_graph_fail(graph, status, &err);
}

static void read_steps(struct ttape_graph *graph, ttape_call_cursor *cursor, uint32_t stream)
{
    ttape_error err = {0};
    const ttape_call_step *step;
    while (graph->status == TTAPE_OK) {
        ttape_status status = ttape_call_cursor_step(cursor, &step, &err);
        if (__builtin_expect(status != TTAPE_OK, 0)) {
            if (status == TTAPE_END)
                return;
            pass_damage(graph, stream, &err);
        } else if (__builtin_expect(step->kind == TTAPE_STEP_EVENT, 1)) {
            take_event(graph, step);
            if (__builtin_expect(++graph->all_event_count % EVENTS_BETWEEN == 0, 0))
                ask(graph);
        } else {
            take_other(graph, step);
        }
    }
}

void ttp_graph_read(struct ttape_graph *graph, uint32_t stream, uint64_t alarm_ns)
{
    const ttape_call_options options = {.size = sizeof options,
                                        .streams = &stream,
                                        .stream_count = 1,
                                        .has_range = graph->options.has_range,
                                        .from_ns = graph->options.from_ns,
                                        .to_ns = graph->options.to_ns,
                                        .switches = graph->asks_switches};
    ttape_error err = {0};
    ttape_call_cursor *cursor;
    graph->alarm_ns = alarm_ns;
    graph->event_count = 0;
    graph->span_ns = graph->outside_ns = graph->within_ns = 0;
    forget_stacks(graph);
    ask(graph);
    if (graph->status != TTAPE_OK)
        return;
    if (ttape_call_cursor_open(&cursor, graph->reader, &options, &err) == TTAPE_OK)
        read_steps(graph, cursor, stream);
    else
        pass_damage(graph, stream, &err);
    ttape_call_cursor_close(cursor);
}

/* Stacks are kept from stream to stream, so that hundreds of short threads allocate little. */
#include "tools/callgraph/graph_calls.h"
#include "tools/calls/time_sum.h"

#include <stdlib.h>
#include <string.h>

#include "tools/command/tool.h"

#define SWITCHES_EVENTS 30000000u /* as in report: a second or two */

static struct tool_call_stack *stack_of(struct tool_calls *calls, uint32_t number)
{
    if (number >= calls->stack_count) {
        size_t capacity = calls->stack_count, old = calls->stack_count;
        tool_grow((void **)&calls->stacks, &capacity, (size_t)number + 1, sizeof(void *));
        memset(&calls->stacks[old], 0, (capacity - old) * sizeof(void *));
        calls->stack_count = capacity;
    }
    if (calls->stacks[number] == NULL) {
        calls->stacks[number] = tool_allocate(1, sizeof(struct tool_call_stack));
        calls->stacks[number]->number = number;
    }
    return calls->stacks[number];
}

/* ---- steps ---- */

static inline void end(struct tool_calls *calls, struct tool_call_stack *stack,
                       const ttape_call_step *step)
{
    for (uint32_t i = step->ended_count; i-- > 0;) {
        calls->handler->leave(calls->context, stack, &step->ended[i]);
        stack->count--;
    }
}

static void change(struct tool_calls *calls, uint32_t number)
{
    struct tool_call_stack *from = calls->current, *to = stack_of(calls, number);
    if (!to->is_known && calls->handler->change != NULL)
        calls->handler->change(calls->context, from, to);
    to->is_known = true;
    calls->current = to;
}

static inline void pass_time(struct tool_calls *calls, const ttape_call_step *step)
{
    struct tool_call_stack *stack = calls->current;
    tool_add_ns(&calls->span_ns, step->elapsed_ns);
    if (stack->count == 0)
        tool_add_ns(&calls->outside_ns, step->elapsed_ns);
    if (__builtin_expect((step->preempted_ns | step->blocked_ns) != 0, 0))
        calls->handler->off(calls->context,
                            stack->count > 0 ? &stack->calls[stack->count - 1] : NULL,
                            step->preempted_ns, step->blocked_ns);
}

/* The handler of alarms sees the stack as it is before the event. */
static inline void take(struct tool_calls *calls, const ttape_call_step *step)
{
    const ttape_event *event = step->event;
    struct tool_call_stack *stack = calls->current;
    if (step->began_count > 0) /* the stack may have moved */
        stack->calls = step->began - stack->count;
    while (__builtin_expect(step->time_ns >= calls->alarm_ns, 0) && calls->alarm_ns != UINT64_MAX)
        calls->handler->alarm(calls->context, calls);
    pass_time(calls, step);
    calls->event_count++;
    if (step->began_count > 0) {
        stack->count++;
        calls->handler->enter(calls->context, stack, step->began);
    } else if (step->ended_count > 0) {
        end(calls, stack, step);
    } else if (event->kind == TTAPE_EVENT_SWITCH) {
        change(calls, event->argument);
    } else if (event->kind == TTAPE_EVENT_LEAF && calls->handler->leaf != NULL) {
        calls->number = step->number;
        calls->handler->leaf(calls->context, calls, event);
    }
}

/* Where reading begins, goes on behind missing events, and stops: what is open then stays so, and
 * alarms see what it is. */
static void take_other(struct tool_calls *calls, const ttape_call_step *step)
{
    struct tool_call_stack *stack = stack_of(calls, step->stack);
    switch (step->kind) {
    case TTAPE_STEP_FOUND:
        stack->is_known = true;
        stack->calls = step->began - stack->count;
        for (uint32_t i = 0; i < step->began_count; i++) {
            stack->count++;
            calls->handler->enter(calls->context, stack, &step->began[i]);
        }
        break;
    case TTAPE_STEP_START:
        stack->is_known = true;
        calls->current = stack;
        break;
    case TTAPE_STEP_STOP:
        pass_time(calls, step);
        while (calls->alarm_ns != UINT64_MAX)
            calls->handler->alarm(calls->context, calls);
        break;
    default: end(calls, stack, step); break;
    }
}

/* ---- a stream ---- */

/* After a failed call. False: the stream is not worth going on with. */
static bool go_on(struct tool_calls *calls, const ttape_error *err)
{
    return tool_input_go_on(calls->input, err, &calls->error_count, &calls->status);
}

static void forget_stacks(struct tool_calls *calls)
{
    for (size_t i = 0; i < calls->stack_count; i++)
        if (calls->stacks[i] != NULL)
            *calls->stacks[i] = (struct tool_call_stack){.number = (uint32_t)i};
    calls->current = stack_of(calls, 0);
    calls->current->is_known = true;
}

static void read_steps(struct tool_calls *calls, ttape_call_cursor *cursor)
{
    ttape_error err = {0};
    const ttape_call_step *step;
    for (;;) {
        ttape_status status = ttape_call_cursor_step(cursor, &step, &err);
        if (__builtin_expect(status != TTAPE_OK, 0)) {
            if (status == TTAPE_END || !go_on(calls, &err))
                return;
        } else if (__builtin_expect(step->kind == TTAPE_STEP_EVENT, 1)) {
            take(calls, step);
        } else {
            take_other(calls, step);
        }
    }
}

void tool_calls_stream(struct tool_calls *calls, uint32_t stream, uint64_t alarm_ns)
{
    const struct tool_selection *selection = calls->selection;
    const ttape_call_options options = {.size = sizeof(options),
                                        .streams = &stream,
                                        .stream_count = 1,
                                        .has_range = selection->has_range,
                                        .from_ns = selection->from_ns,
                                        .to_ns = selection->to_ns,
                                        .switches = calls->switches};
    ttape_error err = {0};
    ttape_call_cursor *cursor;
    calls->stream = stream;
    calls->alarm_ns = alarm_ns;
    calls->event_count = 0;
    calls->span_ns = calls->outside_ns = 0;
    forget_stacks(calls);
    if (ttape_call_cursor_open(&cursor, calls->input->reader, &options, &err) == TTAPE_OK)
        read_steps(calls, cursor);
    else
        (void)go_on(calls, &err);
    ttape_call_cursor_close(cursor);
}

void tool_calls_open(struct tool_calls *calls, const struct tool_input *input,
                     const struct tool_selection *selection,
                     const struct tool_calls_handler *handler, void *context)
{
    ttape_info info;
    ttape_reader_get_info(input->reader, &info);
    *calls = (struct tool_calls){
        .input = input, .selection = selection, .handler = handler, .context = context};
    calls->switches = handler->off != NULL && info.event_count <= SWITCHES_EVENTS;
}

void tool_calls_close(struct tool_calls *calls)
{
    for (size_t i = 0; i < calls->stack_count; i++)
        free(calls->stacks[i]);
    free(calls->stacks);
    *calls = (struct tool_calls){0};
}

int tool_calls_status(const struct tool_calls *calls) { return calls->status; }

/* Stacks are kept from stream to stream, so that hundreds of short threads allocate little. */
#include "tools/callgraph/calls_walk.h"

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
    if (calls->stacks[number] == NULL)
        calls->stacks[number] = tool_allocate(1, sizeof(struct tool_call_stack));
    return calls->stacks[number];
}

/* ---- steps ---- */

static inline void end(struct tool_calls *calls, struct tool_call_stack *stack,
                       const ttape_call_step *step)
{
    for (uint32_t i = step->ended_count; i-- > 0;) {
        if (calls->handler->leave != NULL)
            calls->handler->leave(calls->context, stack, &step->ended[i]);
        stack->count--;
    }
}

static inline void pass_time(struct tool_calls *calls, const ttape_call_step *step)
{
    struct tool_call_stack *stack = calls->current;
    if (__builtin_expect((step->preempted_ns | step->blocked_ns) != 0, 0))
        calls->handler->off(calls->context,
                            stack->count > 0 ? &stack->calls[stack->count - 1] : NULL,
                            step->preempted_ns, step->blocked_ns);
}

static inline void take(struct tool_calls *calls, const ttape_call_step *step)
{
    const ttape_event *event = step->event;
    struct tool_call_stack *stack = calls->current;
    if (step->began_count > 0) /* the stack may have moved */
        stack->calls = step->began - stack->count;
    pass_time(calls, step);
    if (step->began_count > 0) {
        stack->count++;
        calls->handler->enter(calls->context, stack, step->began);
    } else if (step->ended_count > 0) {
        end(calls, stack, step);
    } else if (event->kind == TTAPE_EVENT_SWITCH) {
        calls->current = stack_of(calls, event->argument);
    }
}

/* Where reading begins, goes on behind missing events, and stops: what is open then stays so. */
static void take_other(struct tool_calls *calls, const ttape_call_step *step)
{
    struct tool_call_stack *stack = stack_of(calls, step->stack);
    switch (step->kind) {
    case TTAPE_STEP_FOUND:
        stack->calls = step->began - stack->count;
        for (uint32_t i = 0; i < step->began_count; i++) {
            stack->count++;
            calls->handler->enter(calls->context, stack, &step->began[i]);
        }
        break;
    case TTAPE_STEP_START: calls->current = stack; break;
    case TTAPE_STEP_STOP: pass_time(calls, step); break;
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
            *calls->stacks[i] = (struct tool_call_stack){0};
    calls->current = stack_of(calls, 0);
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

void tool_calls_stream(struct tool_calls *calls, uint32_t stream)
{
    const ttape_call_options options = {.size = sizeof(options),
                                        .streams = &stream,
                                        .stream_count = 1,
                                        .switches = calls->switches};
    ttape_error err = {0};
    ttape_call_cursor *cursor;
    forget_stacks(calls);
    if (ttape_call_cursor_open(&cursor, calls->input->reader, &options, &err) == TTAPE_OK)
        read_steps(calls, cursor);
    else
        (void)go_on(calls, &err);
    ttape_call_cursor_close(cursor);
}

void tool_calls_open(struct tool_calls *calls, const struct tool_input *input,
                     const struct tool_calls_handler *handler, void *context)
{
    ttape_info info;
    ttape_reader_get_info(input->reader, &info);
    *calls = (struct tool_calls){.input = input, .handler = handler, .context = context};
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

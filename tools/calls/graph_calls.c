/* Stacks are kept from stream to stream, so that hundreds of short threads allocate nothing. */
#include "tools/calls/graph_calls.h"
#include "tools/calls/time_sum.h"

#include <stdlib.h>
#include <string.h>

#include "tools/command/tool.h"

#define BATCH_EVENTS 4096u
#define ERRORS_SHOWN 20u

/* ---- stacks ---- */

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

static void push(struct tool_calls *calls, struct tool_call_stack *stack,
                 const struct tool_call *call)
{
    if (stack->count == stack->capacity)
        tool_grow((void **)&stack->calls, &stack->capacity, stack->count + 1, sizeof(*call));
    struct tool_call *top = &stack->calls[stack->count++];
    *top = *call;
    top->clock = stack->clock;
    calls->handler->enter(calls->context, calls, stack, top);
}

static void pop(struct tool_calls *calls, struct tool_call_stack *stack)
{
    if (stack->count > 0) {
        struct tool_call *top = &stack->calls[stack->count - 1];
        int64_t total_ns = (int64_t)(stack->clock - top->clock);
        calls->handler->leave(calls->context, calls, stack, top, total_ns);
        stack->count--;
    }
}

static void pop_many(struct tool_calls *calls, uint32_t count)
{
    for (; count > 0 && calls->current->count > 0; count--)
        pop(calls, calls->current);
}

static void change(struct tool_calls *calls, uint32_t number)
{
    uint32_t from = calls->current->number;
    if (number == from)
        return;
    struct tool_call_stack *to = stack_of(calls, number);
    if (!to->is_known) {
        to->is_known = true;
        if (calls->handler->change != NULL)
            calls->handler->change(calls->context, calls, calls->stacks[from], to);
    }
    calls->current = to;
}

/* ---- events ---- */

static inline void pass_time(struct tool_calls *calls, uint64_t time_ns)
{
    struct tool_call_stack *stack = calls->current;
    uint64_t step = time_ns - calls->now_ns;
    calls->now_ns = time_ns;
    tool_add_ns(&calls->span_ns, (int64_t)step);
    stack->clock += step;
    if (stack->count > 0)
        tool_add_ns(&stack->calls[stack->count - 1].self_ns, (int64_t)step);
    else
        tool_add_ns(&calls->outside_ns, (int64_t)step);
}

static inline void take(struct tool_calls *calls, const ttape_event *event)
{
    while (__builtin_expect(event->time_ns >= calls->alarm_ns, 0) && calls->alarm_ns != UINT64_MAX)
        calls->handler->alarm(calls->context, calls);
    pass_time(calls, event->time_ns);
    calls->event_count++;
    switch (event->kind) {
    case TTAPE_EVENT_ENTER:
    case TTAPE_EVENT_OPEN:
    case TTAPE_EVENT_SIGNAL_BEGIN:
        push(calls, calls->current,
             &(struct tool_call){.kind = event->kind,
                                 .site = event->kind == TTAPE_EVENT_SIGNAL_BEGIN ? TTAPE_NONE
                                                                                 : event->site,
                                 .argument = event->argument,
                                 .counts = event->kind != TTAPE_EVENT_OPEN,
                                 .enter_ns = event->time_ns});
        break;
    case TTAPE_EVENT_EXIT:
    case TTAPE_EVENT_SIGNAL_END: pop(calls, calls->current); break;
    case TTAPE_EVENT_UNWIND: pop_many(calls, event->argument); break;
    case TTAPE_EVENT_EXIT_ACROSS:
        pop_many(calls, event->argument);
        pop(calls, calls->current);
        break;
    case TTAPE_EVENT_SWITCH: change(calls, event->argument); break;
    case TTAPE_EVENT_LEAF:
        if (calls->handler->leaf != NULL)
            calls->handler->leaf(calls->context, calls, event);
        break;
    default: break;
    }
    calls->number++;
}

/* ---- edges: where reading begins, and behind what cannot be read ---- */

static bool is_frame(const struct tool_call *call, const ttape_open_frame *open)
{
    return call->kind == open->kind && call->enter_ns == open->enter_time_ns &&
           (call->kind == TTAPE_EVENT_SIGNAL_BEGIN ? call->argument == open->argument
                                                   : call->site == open->site);
}

/* Makes the stacks what the edge has. */
static void settle(struct tool_calls *calls, const ttape_edge *edge)
{
    for (size_t i = 0; i < calls->stack_count; i++) {
        struct tool_call_stack *stack = calls->stacks[i];
        size_t kept = 0;
        for (uint32_t j = 0; stack != NULL && j < edge->frame_count && kept < stack->count; j++) {
            if (edge->frames[j].stack == i) {
                if (!is_frame(&stack->calls[kept], &edge->frames[j]))
                    break;
                kept++;
            }
        }
        while (stack != NULL && stack->count > kept)
            pop(calls, stack);
    }
    size_t place = 0;
    for (uint32_t i = 0; i < edge->frame_count; i++) {
        const ttape_open_frame *open = &edge->frames[i];
        struct tool_call_stack *stack = stack_of(calls, open->stack);
        stack->is_known = true;
        place = i > 0 && edge->frames[i - 1].stack == open->stack ? place + 1 : 0;
        if (place >= stack->count) {
            push(calls, stack,
                 &(struct tool_call){.kind = open->kind,
                                     .site = open->site,
                                     .argument = open->argument,
                                     .enter_ns = open->enter_time_ns});
        }
    }
    calls->current = stack_of(calls, edge->stack);
    calls->current->is_known = true;
    calls->number = edge->event_number;
}

/* After a failed call. False: the stream is not worth going on with. */
static bool note_error(struct tool_calls *calls, const ttape_error *err)
{
    if (err->status < TTAPE_E_TRUNCATED) {
        tool_fail_error(calls->input->name, err);
        calls->failed = true;
        return false;
    }
    if (calls->error_count++ < ERRORS_SHOWN)
        tool_fail_error(calls->input->name, err);
    return true;
}

/* Behind a hole the time goes on where events do: nothing is known of the time in it. */
static void resettle(struct tool_calls *calls)
{
    ttape_error err = {0};
    ttape_edge edge;
    if (ttape_cursor_get_open_frames(calls->cursor, &edge, &err) == TTAPE_OK) {
        if (edge.event_number > calls->number)
            calls->now_ns = edge.time_ns;
        settle(calls, &edge);
    }
}

/* ---- a stream ---- */

static bool is_behind(const struct tool_calls *calls, const ttape_event *event)
{
    return calls->selection->has_range && event->time_ns >= calls->selection->to_ns;
}

/* Nothing is missing: batches. True: the selection ends before the stream does. */
static bool read_batches(struct tool_calls *calls)
{
    ttape_error err = {0};
    bool damaged = false;
    for (;;) {
        size_t count = 0;
        if (damaged) {
            resettle(calls);
            damaged = false;
        }
        ttape_status status =
            ttape_cursor_next_events(calls->cursor, calls->events, BATCH_EVENTS, &count, &err);
        if (status == TTAPE_END)
            return false;
        for (size_t i = 0; i < count; i++) {
            if (is_behind(calls, &calls->events[i]))
                return true;
            take(calls, &calls->events[i]);
        }
        if (status != TTAPE_OK) {
            if (!note_error(calls, &err))
                return false;
            damaged = true;
        }
    }
}

/* Events are missing: one by one, since only their numbers tell where. */
static bool read_items(struct tool_calls *calls)
{
    ttape_error err = {0};
    ttape_event_item item;
    for (;;) {
        ttape_status status = ttape_cursor_next(calls->cursor, &item, &err);
        if (status == TTAPE_OK && item.number != calls->number) {
            status = ttape_cursor_seek_event(calls->cursor, item.number, &err);
            if (status == TTAPE_OK) {
                resettle(calls);
                status = ttape_cursor_next(calls->cursor, &item, &err);
            }
        }
        if (status == TTAPE_END)
            return false;
        if (status != TTAPE_OK) {
            if (!note_error(calls, &err))
                return false;
            continue;
        }
        if (is_behind(calls, &item.event))
            return true;
        take(calls, &item.event);
    }
}

static bool begin(struct tool_calls *calls, const ttape_stream_info *info)
{
    const struct tool_selection *selection = calls->selection;
    ttape_error err = {0};
    ttape_edge edge = {.event_number = info->first_event};
    ttape_status status =
        ttape_cursor_open(&calls->cursor, calls->input->reader, calls->stream, &err);
    if (status != TTAPE_OK) {
        (void)note_error(calls, &err);
        return false;
    }
    if (selection->has_range)
        status = ttape_cursor_seek_time(calls->cursor, selection->from_ns, &err);
    if (status == TTAPE_OK)
        status = ttape_cursor_get_open_frames(calls->cursor, &edge, &err);
    if (status == TTAPE_END)
        return false; /* nothing of it is in the range */
    if (status != TTAPE_OK && !note_error(calls, &err))
        return false;
    calls->now_ns = edge.time_ns;
    if (selection->has_range && calls->now_ns < selection->from_ns)
        calls->now_ns = selection->from_ns;
    settle(calls, &edge);
    return true;
}

static void finish(struct tool_calls *calls, bool is_cut)
{
    if (is_cut && calls->selection->to_ns > calls->now_ns)
        pass_time(calls, calls->selection->to_ns);
    while (calls->alarm_ns != UINT64_MAX) /* what is open stays so: see what it is */
        calls->handler->alarm(calls->context, calls);
    for (size_t i = 0; i < calls->stack_count; i++) {
        struct tool_call_stack *stack = calls->stacks[i];
        while (stack != NULL && stack->count > 0)
            pop(calls, stack);
        if (stack != NULL) {
            stack->clock = 0;
            stack->is_known = false;
            stack->origin = stack->through = 0;
        }
    }
}

void tool_calls_stream(struct tool_calls *calls, uint32_t stream, uint64_t alarm_ns)
{
    ttape_stream_info info = {0};
    (void)ttape_reader_get_stream(calls->input->reader, stream, &info);
    calls->stream = stream;
    calls->alarm_ns = alarm_ns;
    calls->now_ns = 0;
    calls->event_count = 0;
    calls->span_ns = calls->outside_ns = 0;
    calls->current = stack_of(calls, 0);
    calls->current->is_known = true;
    bool is_cut = false;
    if (begin(calls, &info))
        is_cut = info.missing_count > 0 ? read_items(calls) : read_batches(calls);
    finish(calls, is_cut);
    ttape_cursor_close(calls->cursor);
    calls->cursor = NULL;
}

void tool_calls_open(struct tool_calls *calls, const struct tool_input *input,
                     const struct tool_selection *selection,
                     const struct tool_calls_handler *handler, void *context)
{
    *calls = (struct tool_calls){
        .input = input, .selection = selection, .handler = handler, .context = context};
    calls->events = tool_allocate(BATCH_EVENTS, sizeof(ttape_event));
}

void tool_calls_close(struct tool_calls *calls)
{
    for (size_t i = 0; i < calls->stack_count; i++) {
        if (calls->stacks[i] != NULL) {
            free(calls->stacks[i]->calls);
            free(calls->stacks[i]);
        }
    }
    free(calls->stacks);
    free(calls->events);
    *calls = (struct tool_calls){0};
}

int tool_calls_status(const struct tool_calls *calls)
{
    return calls->failed ? TOOL_CANNOT : calls->error_count > 0 ? TOOL_LOSS : TOOL_OK;
}

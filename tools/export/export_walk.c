/* The walk: one stream's events become frames that begin and end, each inside the one below it,
 * whatever the recording did: unwinding ends frames one by one, stacks are kept apart, a cut begins
 * what was open, missing events end what they hide, and short frames never show.
 *
 * A frame that must have some length to show waits: begin is called once it is long enough, with
 * its own start, outermost frame first. So times never step back within a stream all the same. */
#include <stdlib.h>
#include <string.h>

#include "tools/command/progress.h"
#include "tools/export/export.h"

#define BATCH_EVENTS 4096u

static struct tool_stack *stack_of(struct tool_walk *walk, uint32_t number)
{
    size_t old = walk->stack_capacity;
    tool_grow((void **)&walk->stacks, &walk->stack_capacity, (size_t)number + 1,
              sizeof(struct tool_stack *));
    for (size_t i = old; i < walk->stack_capacity; i++)
        walk->stacks[i] = NULL;
    if (walk->stacks[number] == NULL)
        walk->stacks[number] = tool_allocate(1, sizeof(struct tool_stack));
    return walk->stacks[number];
}

/* ---- values of frames that wait ---- */

static struct tool_kept_values *keep_values(const ttape_value *values, uint32_t count)
{
    size_t bytes = 0;
    for (uint32_t i = 0; i < count; i++)
        bytes += values[i].bytes.size_bytes;
    struct tool_kept_values *kept =
        tool_allocate(sizeof(*kept) + count * sizeof(ttape_value) + bytes, 1);
    char *at = (char *)&kept->values[count];
    kept->count = count;
    memcpy(kept->values, values, count * sizeof(ttape_value));
    for (uint32_t i = 0; i < count; i++) {
        ttape_string *text = &kept->values[i].bytes;
        if (text->size_bytes > 0) {
            memcpy(at, text->data, text->size_bytes);
            text->data = at;
            at += text->size_bytes;
        }
    }
    return kept;
}

/* ---- frames ---- */

static void begin_next(struct tool_walk *walk, struct tool_stack *stack)
{
    struct tool_frame *frame = &stack->frames[stack->shown++];
    struct tool_moment moment = {.time_ns = frame->start_ns};
    if (frame->kept != NULL) {
        moment.values = frame->kept->values;
        moment.value_count = frame->kept->count;
    }
    walk->calls->begin(walk->context, walk, frame, &moment);
    free(frame->kept);
    frame->kept = NULL;
}

static void show_all(struct tool_walk *walk)
{
    struct tool_stack *stack = tool_walk_stack(walk);
    while (stack->shown < stack->count)
        begin_next(walk, stack);
}

void tool_walk_show(struct tool_walk *walk, uint64_t time_ns)
{
    struct tool_stack *stack = tool_walk_stack(walk);
    while (stack->shown < stack->count) {
        uint64_t enter_ns = stack->frames[stack->shown].enter_ns;
        if (time_ns < enter_ns || time_ns - enter_ns < walk->export->min_ns)
            return;
        begin_next(walk, stack);
    }
}

/* A new frame on top, all zero but for what every frame has. */
static inline struct tool_frame *push_frame(struct tool_walk *walk, uint32_t kind, uint32_t site,
                                            uint64_t time_ns)
{
    struct tool_stack *stack = tool_walk_stack(walk);
    if (__builtin_expect(stack->count == stack->capacity, 0)) {
        tool_grow((void **)&stack->frames, &stack->capacity, stack->count + 1,
                  sizeof(struct tool_frame));
    }
    struct tool_frame *frame = &stack->frames[stack->count++];
    *frame =
        (struct tool_frame){.enter_ns = time_ns, .start_ns = time_ns, .kind = kind, .site = site};
    return frame;
}

static inline void enter_site(struct tool_walk *walk, uint32_t kind, uint32_t site, uint32_t signal,
                              const struct tool_moment *now)
{
    struct tool_frame *frame = push_frame(walk, kind, site, now->time_ns);
    frame->signal = signal;
    if (__builtin_expect(walk->export->min_ns == 0, 1)) {
        tool_walk_stack(walk)->shown++;
        walk->calls->begin(walk->context, walk, frame, now);
    } else if (now->value_count > 0) {
        frame->kept = keep_values(now->values, now->value_count);
    }
}

static inline void leave_call(struct tool_walk *walk, const struct tool_moment *now,
                              enum tool_ending ending)
{
    struct tool_stack *stack = tool_walk_stack(walk);
    if (stack->count == 0)
        return;
    struct tool_frame *frame = &stack->frames[stack->count - 1];
    if (stack->shown == stack->count) {
        walk->calls->end(walk->context, walk, frame, now, ending);
        stack->shown--;
    }
    if (__builtin_expect(frame->kept != NULL, 0)) {
        free(frame->kept);
        frame->kept = NULL;
    }
    stack->count--;
}

static void change(struct tool_walk *walk, uint32_t stack, const struct tool_moment *now)
{
    uint32_t from = walk->active;
    if (stack == from)
        return;
    show_all(walk); /* their stack may never come back: frames on it do not wait */
    (void)stack_of(walk, stack);
    walk->active = walk->stack = stack;
    if (walk->calls->changed != NULL)
        walk->calls->changed(walk->context, walk, from, now);
}

static void pass(struct tool_walk *walk, const struct tool_moment *now)
{
    if (walk->export->min_ns > 0) {
        if (now->event->kind != TTAPE_EVENT_GAP)
            return;
        show_all(walk); /* frames that miss events are kept: their length is not theirs */
    }
    if (walk->calls->point != NULL)
        walk->calls->point(walk->context, walk, now);
}

/* ---- steps ---- */

/* Shows what was found open: on stacks that wait in any case, other frames when long enough. */
static void show_found(struct tool_walk *walk)
{
    for (uint32_t i = 0; i < walk->stack_capacity; i++) {
        if (walk->stacks[i] == NULL)
            continue;
        walk->stack = i;
        if (i != walk->active || walk->export->min_ns == 0)
            show_all(walk);
        else
            tool_walk_show(walk, walk->now_ns);
    }
    walk->stack = walk->active;
}

void tool_walk_announce(struct tool_walk *walk)
{
    walk->started = true;
    if (walk->calls->stream != NULL)
        walk->calls->stream(walk->context, walk);
    show_found(walk);
}

void tool_walk_open(struct tool_walk *walk, struct tool_export *export,
                    const struct tool_export_stream *stream, const struct tool_export_calls *calls,
                    void *context)
{
    *walk =
        (struct tool_walk){.export = export, .stream = stream, .calls = calls, .context = context};
    (void)stack_of(walk, 0);
}

/* Where reading begins, or goes on: behind missing events time has passed. */
static void arrive(struct tool_walk *walk, const ttape_call_step *step)
{
    uint64_t time_ns = walk->export->has_times ? step->time_ns : step->number;
    time_ns = time_ns > walk->now_ns ? time_ns : walk->now_ns;
    if (walk->is_missing && walk->calls->skip != NULL)
        walk->calls->skip(walk->context, walk, time_ns);
    walk->is_missing = false;
    walk->now_ns = time_ns;
}

/* They begin when they are shown. */
static void find_thread(struct tool_walk *walk, const ttape_call_step *step)
{
    arrive(walk, step);
    walk->stack = step->stack;
    (void)stack_of(walk, step->stack);
    for (uint32_t i = 0; i < step->began_count; i++) {
        const ttape_call *call = &step->began[i];
        struct tool_frame *frame = push_frame(walk, call->kind, call->site, walk->now_ns);
        if (walk->export->has_times)
            frame->enter_ns = call->enter_ns;
        frame->signal = call->argument;
        frame->is_cut = true;
    }
    walk->stack = walk->active;
}

static void start_call(struct tool_walk *walk, const ttape_call_step *step)
{
    arrive(walk, step);
    const struct tool_moment now = {.time_ns = walk->now_ns};
    if (walk->started) {
        change(walk, step->stack, &now);
        show_found(walk);
    } else {
        (void)stack_of(walk, step->stack);
        walk->active = walk->stack = step->stack;
    }
}

static void miss(struct tool_walk *walk, const ttape_call_step *step)
{
    const struct tool_moment now = {.time_ns = walk->now_ns, .event = step->event};
    if (!walk->started)
        tool_walk_announce(walk);
    pass(walk, &now);
    walk->is_missing = true;
}

/* Calls end on a stack where no event ends them. */
static void drop(struct tool_walk *walk, const ttape_call_step *step, enum tool_ending ending)
{
    const struct tool_moment now = {.time_ns = walk->now_ns};
    walk->stack = step->stack;
    for (uint32_t i = 0; i < step->ended_count; i++)
        leave_call(walk, &now, ending);
    walk->stack = walk->active;
}

static enum tool_ending ending_of(const ttape_call *call)
{
    switch (call->end) {
    case TTAPE_CALL_RETURNED: return TOOL_ENDING_EXIT;
    case TTAPE_CALL_UNSEEN: return TOOL_ENDING_UNSEEN;
    case TTAPE_CALL_LATE: return TOOL_ENDING_LATE;
    case TTAPE_CALL_LOST: return TOOL_ENDING_LOST;
    default: return TOOL_ENDING_UNWIND;
    }
}

static inline void take_step(struct tool_walk *walk, const ttape_call_step *step)
{
    struct tool_export *export = walk->export;
    const ttape_event *event = step->event;
    uint64_t time_ns = export->has_times ? step->time_ns : step->number;
    if (__builtin_expect(!walk->started, 0))
        tool_walk_announce(walk);
    if (__builtin_expect(time_ns < walk->now_ns, 0)) {
        export->stepped_count++;
        time_ns = walk->now_ns;
    }
    walk->now_ns = time_ns;
    const struct tool_moment now = {time_ns, event, step->values, step->value_count};
    if (export->min_ns > 0)
        tool_walk_show(walk, time_ns);
    if (step->began_count > 0) {
        enter_site(walk, event->kind, step->began->site, step->began->argument, &now);
        return;
    }
    for (uint32_t i = step->ended_count; i-- > 0;)
        leave_call(walk, &now, ending_of(&step->ended[i]));
    if (step->ended_count > 0)
        return;
    if (event->kind == TTAPE_EVENT_SWITCH)
        change(walk, event->argument, &now);
    else if (event->kind == TTAPE_EVENT_LEAF || event->kind == TTAPE_EVENT_GAP ||
             event->kind == TTAPE_EVENT_EXIT_UNSEEN)
        pass(walk, &now);
}

/* A stream of which nothing was read does not show, but for what is open up to the selection's end.
 */
static void stop(struct tool_walk *walk, const ttape_call_step *step)
{
    uint64_t time_ns = walk->export->has_times ? step->time_ns : 0;
    walk->is_over = walk->started || (step->is_cut && tool_walk_stack(walk)->count > 0);
    if (!walk->is_over)
        return;
    if (!walk->started)
        tool_walk_announce(walk);
    walk->now_ns = time_ns > walk->now_ns ? time_ns : walk->now_ns;
    tool_walk_show(walk, walk->now_ns);
}

void tool_walk_step(struct tool_walk *walk, const ttape_call_step *step)
{
    switch (step->kind) {
    case TTAPE_STEP_EVENT: take_step(walk, step); break;
    case TTAPE_STEP_FOUND: find_thread(walk, step); break;
    case TTAPE_STEP_START: start_call(walk, step); break;
    case TTAPE_STEP_MISSING: miss(walk, step); break;
    case TTAPE_STEP_LOST: drop(walk, step, TOOL_ENDING_LOST); break;
    case TTAPE_STEP_STOP: stop(walk, step); break;
    case TTAPE_STEP_LEFT:
        if (walk->is_over)
            drop(walk, step, TOOL_ENDING_OPEN);
        break;
    }
}

void tool_walk_close(struct tool_walk *walk)
{
    for (size_t i = 0; i < walk->stack_capacity; i++) {
        struct tool_stack *stack = walk->stacks[i];
        for (size_t j = 0; stack != NULL && j < stack->count; j++)
            free(stack->frames[j].kept);
        if (stack != NULL) {
            free(stack->frames);
            free(stack);
        }
    }
    free(walk->stacks);
    *walk = (struct tool_walk){0};
}

/* ---- stream after stream ---- */

static bool is_stopped(const struct tool_export *export)
{
    return export->out.failed_errno != 0 || export->status == TOOL_CANNOT;
}

static void count_events(struct tool_export *export, size_t count)
{
    export->event_count += count;
    double share = export->info.event_count > 0
                       ? (double)export->event_count / (double)export->info.event_count
                       : 0;
    tool_progress_update((uint64_t)(share * (double)export->info.file_bytes),
                         export->info.file_bytes, export->event_count);
}

ttape_status tool_export_open_calls(const struct tool_export *export, const uint32_t *streams,
                                    uint32_t count, ttape_call_cursor **out, ttape_error *err)
{
    const ttape_call_options options = {.size = sizeof(options),
                                        .streams = streams,
                                        .stream_count = count,
                                        .has_range = export->has_from || export->has_to,
                                        .values = export->info.bytes.values > 0,
                                        .from_ns = export->has_from ? export->from_ns : 0,
                                        .to_ns = export->has_to ? export->to_ns : UINT64_MAX};
    return ttape_call_cursor_open(out, export->reader, &options, err);
}

static void read_stream(struct tool_walk *walk, ttape_call_cursor *cursor)
{
    struct tool_export *export = walk->export;
    ttape_error err = {0};
    const ttape_call_step *step;
    for (uint32_t done = 1; done % BATCH_EVENTS != 0 || !is_stopped(export); done++) {
        ttape_status status = ttape_call_cursor_step(cursor, &step, &err);
        if (__builtin_expect(status == TTAPE_OK, 1) && step->kind == TTAPE_STEP_EVENT) {
            take_step(walk, step);
            if (done % BATCH_EVENTS == 0)
                count_events(export, BATCH_EVENTS);
            continue;
        }
        if (status == TTAPE_END) {
            if (walk->is_over && walk->calls->stream_end != NULL)
                walk->calls->stream_end(walk->context, walk, walk->now_ns);
            return;
        }
        if (status == TTAPE_OK)
            tool_walk_step(walk, step);
        else if (!tool_export_go_on(export, &err))
            return;
    }
}

void tool_export_walk(struct tool_export *export, const struct tool_export_calls *calls,
                      void *context)
{
    for (uint32_t i = 0; i < export->stream_count && !is_stopped(export); i++) {
        struct tool_walk walk;
        ttape_error err = {0};
        ttape_call_cursor *cursor;
        tool_walk_open(&walk, export, &export->streams[i], calls, context);
        if (tool_export_open_calls(export, &walk.stream->stream, 1, &cursor, &err) == TTAPE_OK)
            read_stream(&walk, cursor);
        else
            (void)tool_export_go_on(export, &err);
        tool_walk_close(&walk);
        ttape_call_cursor_close(cursor);
    }
}

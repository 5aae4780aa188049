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

static struct tool_kept_values *keep(const ttape_value *values, uint32_t count)
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
static inline struct tool_frame *push(struct tool_walk *walk, uint32_t kind, uint32_t site,
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

static inline void enter(struct tool_walk *walk, uint32_t kind, uint32_t site, uint32_t signal,
                         const struct tool_moment *now)
{
    struct tool_frame *frame = push(walk, kind, site, now->time_ns);
    frame->signal = signal;
    if (__builtin_expect(walk->export->min_ns == 0, 1)) {
        tool_walk_stack(walk)->shown++;
        walk->calls->begin(walk->context, walk, frame, now);
    } else if (now->value_count > 0) {
        frame->kept = keep(now->values, now->value_count);
    }
}

static inline void leave(struct tool_walk *walk, const struct tool_moment *now,
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
    free(frame->kept);
    frame->kept = NULL;
    stack->count--;
}

static void leave_many(struct tool_walk *walk, const struct tool_moment *now, uint32_t count)
{
    for (; count > 0 && tool_walk_stack(walk)->count > 0; count--)
        leave(walk, now, TOOL_ENDING_UNWIND);
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

/* ---- from an edge ---- */

/* Frames of the edge that the walk has not got yet; they begin when they are shown. */
static void push_missing(struct tool_walk *walk, const ttape_edge *edge, uint64_t time_ns)
{
    size_t place = 0;
    for (uint32_t i = 0; i < edge->frame_count; i++) {
        const ttape_open_frame *open = &edge->frames[i];
        place = i > 0 && edge->frames[i - 1].stack == open->stack ? place + 1 : 0;
        walk->stack = open->stack;
        if (place >= stack_of(walk, open->stack)->count) {
            struct tool_frame *frame = push(walk, open->kind, open->site, time_ns);
            frame->enter_ns = walk->export->has_times ? open->enter_time_ns : time_ns;
            frame->signal = open->argument;
            frame->is_cut = true;
        }
    }
    walk->stack = walk->active;
}

/* Shows what was pushed: frames on stacks that wait in any case, the others when long enough. */
static void show_pushed(struct tool_walk *walk)
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
    show_pushed(walk);
}

void tool_walk_open(struct tool_walk *walk, struct tool_export *export,
                    const struct tool_export_stream *stream, const struct tool_export_calls *calls,
                    void *context)
{
    *walk =
        (struct tool_walk){.export = export, .stream = stream, .calls = calls, .context = context};
}

void tool_walk_start(struct tool_walk *walk, const ttape_edge *edge)
{
    const struct tool_export *export = walk->export;
    walk->number = edge->event_number;
    walk->now_ns = export->has_times ? edge->time_ns : edge->event_number;
    if (export->has_from && walk->now_ns < export->from_ns)
        walk->now_ns = export->from_ns;
    walk->active = walk->stack = edge->stack;
    (void)stack_of(walk, edge->stack);
    push_missing(walk, edge, walk->now_ns);
}

/* How many frames of a stack are still the ones that the edge has there. */
static size_t common(const ttape_edge *edge, uint32_t number, const struct tool_stack *stack)
{
    size_t count = 0;
    for (uint32_t i = 0; i < edge->frame_count && count < stack->count; i++) {
        const ttape_open_frame *open = &edge->frames[i];
        const struct tool_frame *frame = &stack->frames[count];
        if (open->stack != number)
            continue;
        if (open->kind != frame->kind || open->site != frame->site ||
            open->argument != frame->signal || open->enter_time_ns != frame->enter_ns)
            break;
        count++;
    }
    return count;
}

void tool_walk_resume(struct tool_walk *walk, const ttape_edge *edge, uint32_t reason)
{
    uint64_t missing = edge->event_number > walk->number ? edge->event_number - walk->number : 0;
    ttape_event gap = {.time_ns = walk->now_ns,
                       .lost_count = missing,
                       .kind = TTAPE_EVENT_GAP,
                       .site = TTAPE_NONE,
                       .argument = reason,
                       .depth = (uint32_t)tool_walk_stack(walk)->count};
    struct tool_moment now = {.time_ns = walk->now_ns, .event = &gap};
    if (!walk->started)
        tool_walk_announce(walk);
    pass(walk, &now);
    now.event = NULL;
    for (uint32_t i = 0; i < walk->stack_capacity; i++) {
        walk->stack = i;
        for (size_t left = walk->stacks[i] != NULL ? common(edge, i, walk->stacks[i]) : SIZE_MAX;
             left != SIZE_MAX && walk->stacks[i]->count > left;)
            leave(walk, &now, TOOL_ENDING_LOST);
    }
    walk->stack = walk->active;
    uint64_t time_ns = walk->export->has_times ? edge->time_ns : edge->event_number;
    time_ns = time_ns > walk->now_ns ? time_ns : walk->now_ns;
    if (walk->calls->skip != NULL)
        walk->calls->skip(walk->context, walk, time_ns);
    now.time_ns = walk->now_ns = time_ns;
    walk->number = edge->event_number;
    push_missing(walk, edge, walk->now_ns);
    change(walk, edge->stack, &now);
    show_pushed(walk);
}

/* ---- events ---- */

static inline void take(struct tool_walk *walk, const ttape_event *event, const ttape_value *values,
                        uint32_t value_count)
{
    struct tool_export *export = walk->export;
    uint64_t time_ns = export->has_times ? event->time_ns : walk->number;
    if (__builtin_expect(!walk->started, 0))
        tool_walk_announce(walk);
    walk->number++;
    if (__builtin_expect(time_ns < walk->now_ns, 0)) {
        export->stepped_count++;
        time_ns = walk->now_ns;
    }
    walk->now_ns = time_ns;
    const struct tool_moment now = {time_ns, event, values, value_count};
    if (export->min_ns > 0)
        tool_walk_show(walk, time_ns);
    switch (event->kind) {
    case TTAPE_EVENT_ENTER:
    case TTAPE_EVENT_OPEN: enter(walk, event->kind, event->site, 0, &now); break;
    case TTAPE_EVENT_SIGNAL_BEGIN:
        enter(walk, TTAPE_EVENT_SIGNAL_BEGIN, TTAPE_NONE, event->argument, &now);
        break;
    case TTAPE_EVENT_SIGNAL_END:
    case TTAPE_EVENT_EXIT: leave(walk, &now, TOOL_ENDING_EXIT); break;
    case TTAPE_EVENT_UNWIND: leave_many(walk, &now, event->argument); break;
    case TTAPE_EVENT_EXIT_ACROSS:
        leave_many(walk, &now, event->argument);
        leave(walk, &now, TOOL_ENDING_EXIT);
        break;
    case TTAPE_EVENT_SWITCH: change(walk, event->argument, &now); break;
    default: pass(walk, &now); break;
    }
}

void tool_walk_event(struct tool_walk *walk, const ttape_event_item *item)
{
    take(walk, &item->event, item->values, item->value_count);
}

void tool_walk_finish(struct tool_walk *walk, uint64_t time_ns)
{
    const struct tool_moment now = {.time_ns = time_ns > walk->now_ns ? time_ns : walk->now_ns};
    if (!walk->started)
        tool_walk_announce(walk);
    walk->now_ns = now.time_ns;
    tool_walk_show(walk, now.time_ns);
    while (tool_walk_stack(walk)->count > 0)
        leave(walk, &now, TOOL_ENDING_OPEN);
    for (uint32_t i = 0; i < walk->stack_capacity; i++) {
        walk->stack = i;
        while (walk->stacks[i] != NULL && walk->stacks[i]->count > 0)
            leave(walk, &now, TOOL_ENDING_OPEN);
    }
    walk->stack = walk->active;
    if (walk->calls->stream_end != NULL)
        walk->calls->stream_end(walk->context, walk, now.time_ns);
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

/* What the reading of a stream came to. */
enum reading_end {
    READING_ENDED, /* the stream's end */
    READING_CUT,   /* the selection's end: the stream goes on */
    READING_FAILED
};

struct reading {
    struct tool_export *export;
    struct tool_walk walk;
    ttape_cursor *cursor;
    ttape_event *events;
    bool resync; /* behind damage: what is open is not known yet */
};

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

/* After a failed call. False: not worth going on. */
static bool recover(struct reading *r, const ttape_error *err)
{
    r->resync = true;
    return tool_export_go_on(r->export, err);
}

static void resync(struct reading *r)
{
    ttape_error err = {0};
    ttape_edge edge;
    if (ttape_cursor_get_open_frames(r->cursor, &edge, &err) == TTAPE_OK) {
        tool_walk_resume(&r->walk, &edge, TTAPE_GAP_REASON_DAMAGE);
        r->resync = false;
    }
}

/* The fast way: no values, nothing missing. */
static enum reading_end read_batches(struct reading *r)
{
    struct tool_export *export = r->export;
    ttape_error err = {0};
    uint64_t to_ns = export->has_to ? export->to_ns : UINT64_MAX;
    while (!is_stopped(export)) {
        size_t count = 0;
        if (r->resync)
            resync(r);
        ttape_status status =
            ttape_cursor_next_events(r->cursor, r->events, BATCH_EVENTS, &count, &err);
        if (status == TTAPE_END)
            return READING_ENDED;
        if (status != TTAPE_OK && !recover(r, &err))
            return READING_FAILED;
        for (size_t i = 0; i < count; i++) {
            if (r->events[i].time_ns >= to_ns && export->has_to)
                return READING_CUT;
            take(&r->walk, &r->events[i], NULL, 0);
        }
        count_events(export, count);
    }
    return READING_FAILED;
}

/* Where event numbers jump, the edge says what is open: the cursor goes back to the item. */
static ttape_status jump(struct reading *r, ttape_event_item *item, ttape_error *err)
{
    ttape_edge edge;
    ttape_status status = ttape_cursor_seek_event(r->cursor, item->number, err);
    if (status == TTAPE_OK)
        status = ttape_cursor_get_open_frames(r->cursor, &edge, err);
    if (status == TTAPE_OK) {
        tool_walk_resume(&r->walk, &edge,
                         r->resync ? TTAPE_GAP_REASON_DAMAGE : TTAPE_GAP_REASON_CUT);
        r->resync = false;
        status = ttape_cursor_next(r->cursor, item, err);
    }
    return status;
}

/* One by one, with values. */
static enum reading_end read_items(struct reading *r)
{
    struct tool_export *export = r->export;
    ttape_error err = {0};
    ttape_event_item item;
    for (uint32_t done = 0; !is_stopped(export); done++) {
        ttape_status status = ttape_cursor_next(r->cursor, &item, &err);
        if (status == TTAPE_OK && item.number != r->walk.number)
            status = jump(r, &item, &err);
        if (status == TTAPE_END)
            return READING_ENDED;
        if (status != TTAPE_OK) {
            if (!recover(r, &err))
                return READING_FAILED;
            continue;
        }
        if (export->has_to && item.event.time_ns >= export->to_ns)
            return READING_CUT;
        take(&r->walk, &item.event, item.values, item.value_count);
        if (done % BATCH_EVENTS == 0)
            count_events(export, done > 0 ? BATCH_EVENTS : 0);
    }
    return READING_FAILED;
}

static ttape_status find_start(struct reading *r, uint32_t stream, ttape_edge *edge,
                               ttape_error *err)
{
    struct tool_export *export = r->export;
    ttape_status status = ttape_cursor_open(&r->cursor, export->reader, stream, err);
    if (status == TTAPE_OK && export->has_from) {
        status = ttape_cursor_seek_time(r->cursor, export->from_ns, err);
        status = status == TTAPE_END ? TTAPE_OK : status;
    }
    return status == TTAPE_OK ? ttape_cursor_get_open_frames(r->cursor, edge, err) : status;
}

static void read_stream(struct reading *r, const struct tool_export_stream *stream)
{
    ttape_error err = {0};
    ttape_edge edge = {0};
    ttape_stream_info info = {0};
    struct tool_export *export = r->export;
    (void)ttape_reader_get_stream(export->reader, stream->stream, &info);
    r->resync = false;
    r->cursor = NULL;
    if (find_start(r, stream->stream, &edge, &err) != TTAPE_OK) {
        if (!recover(r, &err) || r->cursor == NULL)
            return;
        edge = (ttape_edge){.event_number = info.first_event};
    }
    tool_walk_start(&r->walk, &edge);
    enum reading_end end =
        export->info.bytes.values > 0 || info.missing_count > 0 ? read_items(r) : read_batches(r);
    bool has_frames = tool_walk_stack(&r->walk)->count > 0;
    if (r->walk.started || (end == READING_CUT && has_frames))
        tool_walk_finish(&r->walk, end == READING_CUT ? export->to_ns : 0);
}

void tool_export_walk(struct tool_export *export, const struct tool_export_calls *calls,
                      void *context)
{
    struct reading r = {.export = export,
                        .events = tool_allocate(BATCH_EVENTS, sizeof(ttape_event))};
    for (uint32_t i = 0; i < export->stream_count && !is_stopped(export); i++) {
        tool_walk_open(&r.walk, export, &export->streams[i], calls, context);
        read_stream(&r, &export->streams[i]);
        tool_walk_close(&r.walk);
        ttape_cursor_close(r.cursor);
        r.cursor = NULL;
    }
    free(r.events);
}

/* The order of time over all threads. Where short frames are left out, a frame shows later than it
 * begins: records wait in a heap until no thread can come up with an earlier one. Threads whose
 * frames wait to become long enough are woken by a heap of deadlines, not by their next event. */
#include <stdlib.h>
#include <string.h>

#include "base/ordered.h"
#include "tools/command/progress.h"
#include "tools/export/export_merged.h"

#define PROGRESS_EVENTS 4096u

struct merged_stream {
    struct tool_walk walk;
    uint64_t end_number;  /* behind the stream's last event */
    uint32_t shown_stack; /* that its last record was about */
    bool is_finished, has_deadline;
};

struct deadline {
    uint64_t time_ns;
    uint32_t stream;
};

struct tool_merged {
    struct tool_export *export;
    struct merged_stream *streams;
    uint32_t *index_of; /* by stream number */
    ttape_call_cursor *cursor;
    struct ttp_heap records, deadlines;
    size_t record_capacity, deadline_capacity;
    uint64_t sequence, now_ns;
    uint64_t last_ns; /* of the last record that was taken */
    bool ended;
    struct tool_buffer text;
};

/* ---- the heap of records ---- */

static bool is_before(const void *context, const void *one, const void *two)
{
    const struct tool_record *a = one, *b = two;
    (void)context;
    return a->time_ns != b->time_ns ? a->time_ns < b->time_ns : a->sequence < b->sequence;
}

static void add_record(struct tool_merged *merged, struct tool_record record)
{
    record.sequence = merged->sequence++;
    /* what missing events hid ended before, but that has been passed */
    record.time_ns = record.time_ns > merged->last_ns ? record.time_ns : merged->last_ns;
    tool_grow(&merged->records.elements, &merged->record_capacity, merged->records.count + 1,
              sizeof(struct tool_record));
    ttp_heap_add(&merged->records, &record);
}

static struct tool_record take_record(struct tool_merged *merged)
{
    struct tool_record first = *(struct tool_record *)merged->records.elements;
    ttp_heap_drop(&merged->records);
    return first;
}

/* ---- what the walks say ---- */

static uint32_t index_of(const struct tool_merged *merged, const struct tool_walk *walk)
{
    return (uint32_t)(walk->stream - merged->export->streams);
}

/* Records are about one stack of their thread until a switch says another. */
static void say_stack(struct tool_merged *merged, const struct tool_walk *walk, uint64_t time_ns)
{
    struct merged_stream *stream = &merged->streams[index_of(merged, walk)];
    if (stream->shown_stack != walk->stack) {
        stream->shown_stack = walk->stack;
        add_record(merged, (struct tool_record){.time_ns = time_ns,
                                                .stream = index_of(merged, walk),
                                                .kind = TOOL_RECORD_SWITCH,
                                                .site = TTAPE_NONE,
                                                .number = walk->stack});
    }
}

static char *text_of(struct tool_merged *merged, const struct tool_moment *now)
{
    if (now->value_count == 0)
        return NULL;
    merged->text.size_bytes = 0;
    tool_buffer_values(&merged->text, now->values, now->value_count);
    return tool_copy_text(merged->text.data, merged->text.size_bytes);
}

static void take_begin(void *context, struct tool_walk *walk, struct tool_frame *frame,
                       const struct tool_moment *now)
{
    struct tool_merged *merged = context;
    say_stack(merged, walk, now->time_ns);
    add_record(merged,
               (struct tool_record){.time_ns = now->time_ns,
                                    .stream = index_of(merged, walk),
                                    .kind = TOOL_RECORD_BEGIN,
                                    .site = frame->site,
                                    .signal = frame->signal,
                                    .number = frame->is_cut || frame->kind == TTAPE_EVENT_OPEN,
                                    .values = text_of(merged, now)});
}

static void take_end(void *context, struct tool_walk *walk, struct tool_frame *frame,
                     const struct tool_moment *now, enum tool_ending ending)
{
    struct tool_merged *merged = context;
    say_stack(merged, walk, now->time_ns);
    add_record(merged, (struct tool_record){
                           .time_ns = now->time_ns,
                           .stream = index_of(merged, walk),
                           .kind = TOOL_RECORD_END,
                           .site = frame->site,
                           .signal = frame->signal,
                           .number = ending,
                           .values = ending == TOOL_ENDING_EXIT ? text_of(merged, now) : NULL});
}

static void take_point(void *context, struct tool_walk *walk, const struct tool_moment *now)
{
    struct tool_merged *merged = context;
    bool is_gap = now->event->kind == TTAPE_EVENT_GAP;
    say_stack(merged, walk, now->time_ns);
    add_record(merged,
               (struct tool_record){.time_ns = now->time_ns,
                                    .stream = index_of(merged, walk),
                                    .kind = is_gap ? TOOL_RECORD_GAP : TOOL_RECORD_POINT,
                                    .event = is_gap ? now->event->argument : now->event->kind,
                                    .site = now->event->site,
                                    .number = now->event->lost_count,
                                    .values = text_of(merged, now)});
}

static void take_change(void *context, struct tool_walk *walk, uint32_t from,
                        const struct tool_moment *now)
{
    (void)from;
    say_stack(context, walk, now->time_ns);
}

/* ---- frames that wait ---- */

static bool has_frames(const struct tool_walk *walk)
{
    for (size_t i = 0; i < walk->stack_capacity; i++)
        if (walk->stacks[i] != NULL && walk->stacks[i]->count > 0)
            return true;
    return false;
}

/* When the thread's outermost waiting frame is long enough. False: none waits. */
static bool next_deadline(const struct merged_stream *stream, uint64_t min_ns, uint64_t *time_ns)
{
    const struct tool_stack *stack = tool_walk_stack(&stream->walk);
    if (stack->shown == stack->count)
        return false;
    if (__builtin_add_overflow(stack->frames[stack->shown].enter_ns, min_ns, time_ns))
        *time_ns = UINT64_MAX;
    return true;
}

static bool is_due_before(const void *context, const void *a, const void *b)
{
    (void)context;
    return ((const struct deadline *)a)->time_ns < ((const struct deadline *)b)->time_ns;
}

static void add_deadline(struct tool_merged *merged, uint32_t index)
{
    struct merged_stream *stream = &merged->streams[index];
    struct deadline added = {.stream = index};
    if (stream->has_deadline || !next_deadline(stream, merged->export->min_ns, &added.time_ns))
        return;
    stream->has_deadline = true;
    tool_grow(&merged->deadlines.elements, &merged->deadline_capacity, merged->deadlines.count + 1,
              sizeof(struct deadline));
    ttp_heap_add(&merged->deadlines, &added);
}

static void wake(struct tool_merged *merged)
{
    const struct deadline *first;
    while (merged->deadlines.count > 0 &&
           (first = merged->deadlines.elements)->time_ns <= merged->now_ns) {
        uint32_t index = first->stream;
        struct merged_stream *stream = &merged->streams[index];
        ttp_heap_drop(&merged->deadlines);
        stream->has_deadline = false;
        if (!stream->is_finished) {
            tool_walk_show(&stream->walk, merged->now_ns);
            add_deadline(merged, index);
        }
    }
}

/* ---- reading ---- */

static void take_step(struct tool_merged *merged, const ttape_call_step *step)
{
    uint32_t index = merged->index_of[step->stream];
    struct merged_stream *stream = &merged->streams[index];
    if (step->kind == TTAPE_STEP_EVENT) {
        merged->now_ns = step->time_ns > merged->now_ns ? step->time_ns : merged->now_ns;
        wake(merged);
        if (++merged->export->event_count % PROGRESS_EVENTS == 0)
            tool_progress_update(0, 0, merged->export->event_count);
    }
    tool_walk_step(&stream->walk, step);
    if (step->kind == TTAPE_STEP_START && !stream->walk.started &&
        step->number < stream->end_number && has_frames(&stream->walk))
        tool_walk_announce(&stream->walk);
    stream->is_finished = step->kind == TTAPE_STEP_STOP || stream->is_finished;
    if (merged->export->min_ns > 0 && !stream->is_finished)
        add_deadline(merged, index);
}

/* Reads one step, or finishes. */
static void advance(struct tool_merged *merged)
{
    ttape_error err = {0};
    const ttape_call_step *step;
    ttape_status status = ttape_call_cursor_step(merged->cursor, &step, &err);
    if (status == TTAPE_OK)
        take_step(merged, step);
    else if (status == TTAPE_END || !tool_export_go_on(merged->export, &err))
        merged->ended = true;
}

bool tool_merged_next(struct tool_merged *merged, struct tool_record *out)
{
    const struct tool_export *export = merged->export;
    while (export->status != TOOL_CANNOT) {
        uint64_t final_ns = merged->now_ns > export->min_ns ? merged->now_ns - export->min_ns : 0;
        const struct tool_record *next = merged->records.elements;
        if (merged->records.count > 0 && (merged->ended || next->time_ns < final_ns)) {
            *out = take_record(merged);
            merged->last_ns = out->time_ns;
            return true;
        }
        if (merged->ended)
            return false;
        advance(merged);
    }
    return false;
}

/* ---- opening ---- */

static const struct tool_export_calls calls = {
    .begin = take_begin, .end = take_end, .point = take_point, .changed = take_change};

static void open_stream(struct tool_merged *merged, uint32_t index, uint32_t *number)
{
    const struct tool_export_stream *chosen = &merged->export->streams[index];
    struct merged_stream *stream = &merged->streams[index];
    ttape_stream_info info = {0};
    (void)ttape_reader_get_stream(merged->export->reader, chosen->stream, &info);
    stream->end_number = info.first_event + info.event_count + info.missing_count;
    merged->index_of[chosen->stream] = index;
    tool_walk_open(&stream->walk, merged->export, chosen, &calls, merged);
    *number = chosen->stream;
}

struct tool_merged *tool_merged_open(struct tool_export *export)
{
    ttape_error err = {0};
    struct tool_merged *merged = tool_allocate(1, sizeof(*merged));
    uint32_t *numbers = tool_allocate(export->stream_count, sizeof(uint32_t));
    merged->export = export;
    merged->records = (struct ttp_heap){NULL, 0, sizeof(struct tool_record), is_before, NULL};
    merged->deadlines = (struct ttp_heap){NULL, 0, sizeof(struct deadline), is_due_before, NULL};
    merged->streams = tool_allocate(export->stream_count, sizeof(struct merged_stream));
    merged->index_of = tool_allocate(export->info.stream_count, sizeof(uint32_t));
    for (uint32_t i = 0; i < export->stream_count; i++)
        open_stream(merged, i, &numbers[i]);
    ttape_status status =
        tool_export_open_calls(export, numbers, export->stream_count, &merged->cursor, &err);
    free(numbers);
    if (status != TTAPE_OK && !tool_export_go_on(export, &err)) {
        tool_merged_close(merged);
        return NULL;
    }
    return merged;
}

void tool_merged_close(struct tool_merged *merged)
{
    if (merged == NULL)
        return;
    for (uint32_t i = 0; i < merged->export->stream_count; i++)
        tool_walk_close(&merged->streams[i].walk);
    struct tool_record *records = merged->records.elements;
    for (size_t i = 0; i < merged->records.count; i++)
        free(records[i].values);
    ttape_call_cursor_close(merged->cursor);
    tool_buffer_close(&merged->text);
    free(records);
    free(merged->deadlines.elements);
    free(merged->index_of);
    free(merged->streams);
    free(merged);
}

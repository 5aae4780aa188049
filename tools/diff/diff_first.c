/* Where two runs first differ. Threads are matched by place: processes, and threads in them, in
 * the order in which they were created. Events are compared one by one by what happened to which
 * function, not when, nor where in memory. */
#include <stdlib.h>
#include <string.h>

#include "tools/command/tool.h"
#include "tools/diff/diff_view.h"

#define BATCH_EVENTS 4096u
#define FIRST_FRAMES 8u
#define LOOKS_ON     64u /* events, for a function that is called next */

const char *const tool_diff_ends[] = {"equal",     "event",     "ends in A",
                                      "ends in B", "only in A", "only in B"};

/* ---- threads ---- */

struct started {
    uint64_t process_turn, process_ns, turn, start_ns, pid, tid;
    uint32_t process, stream;
    uint32_t process_place, place;
};

static int compare_started(const void *a, const void *b)
{
    const struct started *one = a, *two = b;
    const uint64_t left[] = {one->process_turn, one->process_ns, one->process,
                             one->turn,         one->start_ns,   one->stream};
    const uint64_t right[] = {two->process_turn, two->process_ns, two->process,
                              two->turn,         two->start_ns,   two->stream};
    for (size_t i = 0; i < sizeof(left) / sizeof(left[0]); i++)
        if (left[i] != right[i])
            return left[i] < right[i] ? -1 : 1;
    return 0;
}

/* The system hands numbers out in the order of creation, and starts again when they are used up;
 * which of two new threads runs first is chance. */
static uint64_t turn_of(uint64_t number, uint64_t first)
{
    return number >= first ? number - first : number + (UINT64_C(1) << 63);
}

/* By process, when its first thread started; *root_pid: of the first one. */
static uint64_t *process_starts(const struct tool_diff *diff, int side, uint64_t *root_pid)
{
    uint64_t *starts = tool_allocate(diff->runs[side].info.process_count + 1u, sizeof(uint64_t));
    uint64_t earliest = UINT64_MAX;
    ttape_stream_info stream;
    *root_pid = 0;
    for (uint32_t i = 0; i < diff->runs[side].info.process_count; i++)
        starts[i] = UINT64_MAX;
    for (uint32_t i = 0; i < diff->runs[side].info.stream_count; i++) {
        if (ttape_reader_get_stream(diff->runs[side].input.reader, i, &stream) != TTAPE_OK)
            continue;
        uint64_t start_ns = stream.stream.start_time_ns;
        uint64_t *start = &starts[stream.stream.process];
        *start = start_ns < *start ? start_ns : *start;
        if (start_ns < earliest) {
            earliest = start_ns;
            *root_pid = stream.pid;
        }
    }
    return starts;
}

static struct started *list_threads(const struct tool_diff *diff, int side)
{
    uint32_t count = diff->runs[side].info.stream_count;
    struct started *list = tool_allocate(count + 1u, sizeof(*list));
    uint64_t root_pid, *starts = process_starts(diff, side, &root_pid);
    for (uint32_t i = 0; i < count; i++) {
        ttape_stream_info stream = {0};
        (void)ttape_reader_get_stream(diff->runs[side].input.reader, i, &stream);
        list[i] = (struct started){.process_turn = turn_of(stream.pid, root_pid),
                                   .process_ns = starts[stream.stream.process],
                                   .turn = turn_of(stream.stream.tid, stream.pid),
                                   .start_ns = stream.stream.start_time_ns,
                                   .pid = stream.pid,
                                   .tid = stream.stream.tid,
                                   .process = stream.stream.process,
                                   .stream = i};
    }
    free(starts);
    if (count > 1)
        qsort(list, count, sizeof(*list), compare_started);
    for (uint32_t i = 1; i < count; i++) {
        bool same = list[i].process == list[i - 1].process;
        list[i].process_place = list[i - 1].process_place + !same;
        list[i].place = same ? list[i - 1].place + 1 : 0;
    }
    return list;
}

static int compare_places(const struct started *a, const struct started *b)
{
    if (a->process_place != b->process_place)
        return a->process_place < b->process_place ? -1 : 1;
    return a->place < b->place ? -1 : a->place > b->place;
}

static void add_thread(struct tool_diff_first *first, const struct started *a,
                       const struct started *b)
{
    const struct started *any = a != NULL ? a : b;
    tool_grow((void **)&first->threads, &first->capacity, first->count + 1,
              sizeof(*first->threads));
    first->threads[first->count++] = (struct tool_diff_thread){
        .process = any->process_place,
        .place = any->place,
        .streams = {a != NULL ? a->stream : TTAPE_NONE, b != NULL ? b->stream : TTAPE_NONE},
        .tids = {a != NULL ? a->tid : 0, b != NULL ? b->tid : 0},
        .pids = {a != NULL ? a->pid : 0, b != NULL ? b->pid : 0},
        .end = b == NULL   ? TOOL_DIFF_ONLY_A
               : a == NULL ? TOOL_DIFF_ONLY_B
                           : TOOL_DIFF_EQUAL};
}

static void match_threads(const struct tool_diff *diff, struct tool_diff_first *first)
{
    struct started *a = list_threads(diff, 0), *b = list_threads(diff, 1);
    uint32_t i = 0, j = 0, a_count = diff->runs[0].info.stream_count;
    uint32_t b_count = diff->runs[1].info.stream_count;
    while (i < a_count || j < b_count) {
        int order = i == a_count ? 1 : j == b_count ? -1 : compare_places(&a[i], &b[j]);
        add_thread(first, order <= 0 ? &a[i] : NULL, order >= 0 ? &b[j] : NULL);
        i += order <= 0;
        j += order >= 0;
    }
    free(a);
    free(b);
}

/* ---- events ---- */

/* One side's events, a batch at a time. */
struct feed {
    const struct tool_diff *diff;
    int side;
    ttape_cursor *cursor;
    ttape_event *events;
    size_t at, count;
    uint64_t number; /* of events[at] */
    bool ended;
};

struct comparing {
    struct feed feeds[2];
    struct tool_diff_thread *thread;
    struct tool_diff_frame **stacks; /* by number; a frame at place 0 stands below the outermost */
    size_t *heights, *capacities;
    size_t stack_count, stacks_capacity, heights_capacity, capacities_capacity;
    uint32_t current;
};

static int fill_feed(struct feed *f)
{
    ttape_error err = {0};
    f->number += f->count;
    f->at = f->count = 0;
    ttape_status status =
        ttape_cursor_next_events(f->cursor, f->events, BATCH_EVENTS, &f->count, &err);
    if (status == TTAPE_END) {
        f->ended = true;
        return TOOL_OK;
    }
    return status == TTAPE_OK ? TOOL_OK : tool_fail_error(f->diff->runs[f->side].input.name, &err);
}

static int open_feed(struct feed *f, const struct tool_diff *diff, int side, uint32_t stream)
{
    ttape_error err = {0};
    ttape_stream_info info = {0};
    *f = (struct feed){.diff = diff, .side = side};
    f->events = tool_allocate(BATCH_EVENTS, sizeof(*f->events));
    (void)ttape_reader_get_stream(diff->runs[side].input.reader, stream, &info);
    f->number = info.first_event;
    if (ttape_cursor_open(&f->cursor, diff->runs[side].input.reader, stream, &err) != TTAPE_OK)
        return tool_fail_error(diff->runs[side].input.name, &err);
    return TOOL_OK;
}

static void close_feed(struct feed *f)
{
    ttape_cursor_close(f->cursor);
    free(f->events);
}

static bool has_site(uint32_t kind)
{
    return kind != TTAPE_EVENT_SIGNAL_BEGIN && kind != TTAPE_EVENT_SIGNAL_END &&
           kind != TTAPE_EVENT_UNWIND && kind != TTAPE_EVENT_SWITCH && kind != TTAPE_EVENT_GAP;
}

static inline bool is_equal(const struct tool_diff *diff, const ttape_event *a,
                            const ttape_event *b)
{
    return a->kind == b->kind && a->argument == b->argument && a->lost_count == b->lost_count &&
           (!has_site(a->kind) ||
            tool_diff_key_of(diff, 0, a->site) == tool_diff_key_of(diff, 1, b->site));
}

/* ---- the stacks, which are the same in both ---- */

static void use_stack(struct comparing *c, uint32_t number)
{
    size_t needed = (size_t)number + 1, old = c->stack_count;
    c->current = number;
    if (needed > old) {
        tool_grow((void **)&c->stacks, &c->stacks_capacity, needed, sizeof(*c->stacks));
        tool_grow((void **)&c->heights, &c->heights_capacity, needed, sizeof(*c->heights));
        tool_grow((void **)&c->capacities, &c->capacities_capacity, needed, sizeof(*c->capacities));
        for (size_t i = old; i < needed; i++) {
            c->stacks[i] = NULL;
            c->heights[i] = 1;
        }
        c->stack_count = needed;
    }
    if (c->stacks[number] == NULL) { /* a million numbers may be passed over */
        c->stacks[number] = tool_allocate(FIRST_FRAMES, sizeof(struct tool_diff_frame));
        c->capacities[number] = FIRST_FRAMES;
    }
}

static void push_frame(struct comparing *c, const ttape_event *event)
{
    size_t *height = &c->heights[c->current];
    tool_grow((void **)&c->stacks[c->current], &c->capacities[c->current], *height + 1,
              sizeof(struct tool_diff_frame));
    struct tool_diff_frame *top = &c->stacks[c->current][*height];
    bool is_signal = event->kind == TTAPE_EVENT_SIGNAL_BEGIN;
    *top = (struct tool_diff_frame){
        .key = is_signal ? TTAPE_NONE : tool_diff_key_of(c->feeds[0].diff, 0, event->site),
        .signal = event->argument,
        .ordinal = top[-1].call_count++,
        .number = {c->feeds[0].number + c->feeds[0].at, c->feeds[1].number + c->feeds[1].at}};
    ++*height;
}

static void pop_frames(struct comparing *c, uint64_t count)
{
    size_t *height = &c->heights[c->current];
    *height = count < *height - 1 ? *height - (size_t)count : 1;
}

static inline void apply(struct comparing *c, const ttape_event *event)
{
    switch (event->kind) {
    case TTAPE_EVENT_ENTER:
    case TTAPE_EVENT_OPEN:
    case TTAPE_EVENT_SIGNAL_BEGIN: push_frame(c, event); break;
    case TTAPE_EVENT_EXIT:
    case TTAPE_EVENT_SIGNAL_END: pop_frames(c, 1); break;
    case TTAPE_EVENT_UNWIND: pop_frames(c, event->argument); break;
    case TTAPE_EVENT_EXIT_ACROSS: pop_frames(c, (uint64_t)event->argument + 1); break;
    case TTAPE_EVENT_SWITCH: use_stack(c, event->argument); break;
    default: break;
    }
}

static void note_difference(struct comparing *c, uint32_t end)
{
    struct tool_diff_thread *thread = c->thread;
    size_t count = c->heights[c->current] - 1;
    thread->end = end;
    for (int side = 0; side < 2; side++) {
        struct feed *f = &c->feeds[side];
        thread->numbers[side] = f->number + f->at;
        if (!f->ended)
            thread->events[side] = f->events[f->at];
    }
    thread->frame_count = count;
    thread->frames = tool_allocate(count + 1, sizeof(*thread->frames));
    memcpy(thread->frames, c->stacks[c->current] + 1, count * sizeof(*thread->frames));
}

/* The next event, or NULL. */
static const ttape_event *look_on(struct feed *f)
{
    f->at++;
    if (f->at >= f->count && (f->ended || fill_feed(f) != TOOL_OK || f->at >= f->count))
        return NULL;
    return &f->events[f->at];
}

static uint32_t caller_at(const struct comparing *c, size_t height)
{
    return height > 1 ? c->stacks[c->current][height - 1].key : TTAPE_NONE;
}

/* One side calls a function here; the other one returns first, or calls others first, and then
 * calls it: it has another caller there. Looks on at that side. */
static bool find_caller(struct comparing *c, int side)
{
    const struct tool_diff *diff = c->feeds[0].diff;
    struct tool_diff_thread *thread = c->thread;
    const ttape_event *call = &thread->events[1 - side], *at = &thread->events[side];
    uint32_t kind = at->kind, called = tool_diff_key_of(diff, (uint32_t)(1 - side), call->site);
    size_t height = c->heights[c->current];
    uint32_t caller = caller_at(c, height);
    thread->callers[1 - side] = caller;
    for (unsigned i = 0; i < LOOKS_ON && at != NULL; i++, at = look_on(&c->feeds[side])) {
        uint32_t key = tool_diff_key_of(diff, (uint32_t)side, at->site);
        if (at->kind == TTAPE_EVENT_ENTER && key == called) {
            thread->called = called;
            thread->callers[side] = caller;
            return caller != thread->callers[1 - side];
        }
        if (at->kind != kind)
            return false;
        height = kind == TTAPE_EVENT_EXIT && height > 1 ? height - 1 : height;
        caller = kind == TTAPE_EVENT_EXIT ? caller_at(c, height) : key;
    }
    return false;
}

static void look_for_caller(struct comparing *c)
{
    struct tool_diff_thread *thread = c->thread;
    for (int side = 0; side < 2 && !thread->is_moved; side++)
        if (thread->events[1 - side].kind == TTAPE_EVENT_ENTER &&
            (thread->events[side].kind == TTAPE_EVENT_ENTER ||
             thread->events[side].kind == TTAPE_EVENT_EXIT))
            thread->is_moved = find_caller(c, side);
}

/* To the first difference or the end of both. */
static int compare_events(struct comparing *c)
{
    const struct tool_diff *diff = c->feeds[0].diff;
    for (;;) {
        for (int side = 0; side < 2; side++) {
            struct feed *f = &c->feeds[side];
            if (f->at == f->count && !f->ended && fill_feed(f) != TOOL_OK)
                return TOOL_CANNOT;
        }
        struct feed *a = &c->feeds[0], *b = &c->feeds[1];
        if (a->ended || b->ended) {
            if (a->ended != b->ended)
                note_difference(c, a->ended ? TOOL_DIFF_END_A : TOOL_DIFF_END_B);
            return TOOL_OK;
        }
        while (a->at < a->count && b->at < b->count) {
            if (!is_equal(diff, &a->events[a->at], &b->events[b->at])) {
                note_difference(c, TOOL_DIFF_EVENT);
                look_for_caller(c);
                return TOOL_OK;
            }
            apply(c, &a->events[a->at]);
            c->thread->equal_events++;
            a->at++;
            b->at++;
        }
    }
}

/* Frames that are open where the streams begin; a cut trace has such. */
static bool push_edges(struct comparing *c)
{
    ttape_error err = {0};
    ttape_edge a, b;
    if (ttape_cursor_get_open_frames(c->feeds[0].cursor, &a, &err) != TTAPE_OK)
        return true;
    for (uint32_t i = 0; i < a.frame_count; i++) {
        const ttape_open_frame *open = &a.frames[i];
        use_stack(c, open->stack);
        push_frame(
            c, &(ttape_event){.kind = open->kind, .site = open->site, .argument = open->argument});
    }
    use_stack(c, a.stack);
    uint32_t count = a.frame_count;
    if (ttape_cursor_get_open_frames(c->feeds[1].cursor, &b, &err) != TTAPE_OK ||
        b.frame_count != count)
        return b.frame_count == count;
    size_t *at = tool_allocate(c->stack_count, sizeof(size_t));
    bool same = true;
    for (uint32_t i = 0; i < count && same; i++) {
        const ttape_open_frame *open = &b.frames[i];
        same = open->stack < c->stack_count && at[open->stack] + 1 < c->heights[open->stack];
        if (same) {
            const struct tool_diff_frame *frame = &c->stacks[open->stack][++at[open->stack]];
            same = open->kind == TTAPE_EVENT_SIGNAL_BEGIN
                       ? frame->key == TTAPE_NONE && frame->signal == open->argument
                       : frame->key == tool_diff_key_of(c->feeds[1].diff, 1, open->site);
        }
    }
    free(at);
    return same;
}

static int compare_thread(struct tool_diff *diff, struct tool_diff_thread *thread)
{
    struct comparing c = {.thread = thread};
    use_stack(&c, 0);
    int status = open_feed(&c.feeds[0], diff, 0, thread->streams[0]);
    int other = open_feed(&c.feeds[1], diff, 1, thread->streams[1]);
    status = other > status ? other : status;
    if (status == TOOL_OK && !push_edges(&c)) {
        status = fill_feed(&c.feeds[0]) == TOOL_OK ? fill_feed(&c.feeds[1]) : TOOL_CANNOT;
        if (status == TOOL_OK)
            note_difference(&c, TOOL_DIFF_EVENT);
    } else if (status == TOOL_OK) {
        status = compare_events(&c);
    }
    close_feed(&c.feeds[0]);
    close_feed(&c.feeds[1]);
    for (size_t i = 0; i < c.stack_count; i++)
        free(c.stacks[i]);
    free(c.stacks);
    free(c.heights);
    free(c.capacities);
    return status;
}

/* When a thread's difference happened, in A's time; one that only one trace has: when it
 * started. */
static uint64_t time_of(const struct tool_diff *diff, const struct tool_diff_thread *thread)
{
    ttape_stream_info info = {0};
    if (thread->end == TOOL_DIFF_EVENT || thread->end == TOOL_DIFF_END_B)
        return thread->events[0].time_ns;
    if (thread->end == TOOL_DIFF_ONLY_A) {
        (void)ttape_reader_get_stream(diff->runs[0].input.reader, thread->streams[0], &info);
        return info.stream.start_time_ns;
    }
    return UINT64_MAX; /* A has no time for it */
}

int tool_diff_find_first(struct tool_diff *diff, struct tool_diff_first *first)
{
    uint64_t earliest = 0;
    *first = (struct tool_diff_first){.first = SIZE_MAX};
    match_threads(diff, first);
    for (size_t i = 0; i < first->count; i++) {
        struct tool_diff_thread *thread = &first->threads[i];
        if (thread->end == TOOL_DIFF_EQUAL && compare_thread(diff, thread) != TOOL_OK)
            return TOOL_CANNOT;
        first->equal_events += thread->equal_events;
        if (thread->end == TOOL_DIFF_EQUAL)
            continue;
        first->differing++;
        uint64_t time_ns = time_of(diff, thread);
        if (first->first == SIZE_MAX || time_ns < earliest) {
            first->first = i;
            earliest = time_ns;
        }
    }
    return first->differing > 0 ? TOOL_FINDING : TOOL_OK;
}

void tool_diff_first_close(struct tool_diff_first *first)
{
    for (size_t i = 0; i < first->count; i++)
        free(first->threads[i].frames);
    free(first->threads);
    *first = (struct tool_diff_first){0};
}

/* Each stream is read from a little before its end. Where that has too few calls, from further
 * back. */
#include <stdlib.h>
#include <string.h>

#include <tracetape/writer.h>

#include "tools/calls/end_words.h"
#include "tools/last/last_view.h"

#define WINDOW_FIRST  256u
#define WINDOW_GROWTH 8u
#define WINDOW_MAX    (WINDOW_FIRST << 12)
#define DEPTH_MAX     65536u /* calls further in have no duration */

/* A stream's end while it is being read. */
struct reading {
    struct tool_last *last;
    struct tool_last_thread *thread;
    ttape_cursor *cursor;
    struct tool_last_call *calls;
    size_t count, capacity;
    size_t *open; /* by depth: the index of the call + 1, 0: none */
    size_t open_count, open_capacity;
};

/* F-FCT-10: the last one counts, unless it does not say how and another does. */
static void take_leaf(struct reading *r, const ttape_event_item *item)
{
    struct tool_end said;
    struct tool_last_end *end = &r->thread->end;
    if (!tool_end_read(r->last->reader, item, &said) ||
        (end->is_known && end->how != 0 && said.how == 0))
        return;
    *end = (struct tool_last_end){true, said.is_process, said.how, said.number};
}

static void take_enter(struct reading *r, const ttape_event *event)
{
    tool_grow((void **)&r->calls, &r->capacity, r->count + 1, sizeof *r->calls);
    r->calls[r->count++] = (struct tool_last_call){
        .site = event->site, .depth = event->depth, .start_ns = event->time_ns, .count = 1};
    if (event->depth >= DEPTH_MAX)
        return;
    tool_grow((void **)&r->open, &r->open_capacity, event->depth + 1, sizeof *r->open);
    while (r->open_count <= event->depth)
        r->open[r->open_count++] = 0;
    r->open[event->depth] = r->count;
}

static void take_exit(struct reading *r, const ttape_event *event)
{
    size_t number = event->depth < r->open_count ? r->open[event->depth] : 0;
    if (number == 0 || r->calls[number - 1].site != event->site)
        return;
    struct tool_last_call *call = &r->calls[number - 1];
    call->has_returned = true;
    call->total_ns = (int64_t)(event->time_ns - call->start_ns);
    r->open[event->depth] = 0;
}

static void take(struct reading *r, const ttape_event_item *item)
{
    const ttape_event *event = &item->event;
    r->thread->end_ns = event->time_ns;
    if (event->kind == TTAPE_EVENT_ENTER)
        take_enter(r, event);
    else if (event->kind == TTAPE_EVENT_EXIT)
        take_exit(r, event);
    else if (event->kind == TTAPE_EVENT_LEAF)
        take_leaf(r, item);
    else if (event->kind == TTAPE_EVENT_SWITCH)
        r->open_count = 0; /* depths are those of another stack */
}

static ttape_status keep_frames(struct reading *r, ttape_error *err)
{
    ttape_edge edge;
    struct tool_last_thread *thread = r->thread;
    ttape_status status = ttape_cursor_get_open_frames(r->cursor, &edge, err);
    if (status != TTAPE_OK)
        return status;
    thread->frames = tool_allocate(edge.frame_count + 1ull, sizeof *thread->frames);
    if (edge.frame_count != 0)
        memcpy(thread->frames, edge.frames, edge.frame_count * sizeof *edge.frames);
    thread->frame_count = edge.frame_count;
    for (size_t i = 0; i < r->count; i++)
        for (uint32_t k = thread->frame_count; k-- > 0 && !r->calls[i].is_open;)
            r->calls[i].is_open = !r->calls[i].has_returned &&
                                  thread->frames[k].site == r->calls[i].site &&
                                  thread->frames[k].enter_time_ns == r->calls[i].start_ns;
    return TTAPE_OK;
}

/* Everything from event `from` on. Behind damage reading goes on. */
static ttape_status read_from(struct reading *r, uint64_t from, ttape_error *err)
{
    ttape_event_item item;
    r->count = r->open_count = 0;
    r->thread->end = (struct tool_last_end){0};
    ttape_status status = ttape_cursor_seek_event(r->cursor, from, err);
    while (status == TTAPE_OK && (status = ttape_cursor_next(r->cursor, &item, err)) == TTAPE_OK)
        take(r, &item);
    return status == TTAPE_END ? TTAPE_OK : status;
}

/* Calls one after the other that call nothing, of one function, become one row. */
static size_t fold(struct tool_last_call *calls, size_t count)
{
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        struct tool_last_call *before = used > 0 ? &calls[used - 1] : NULL;
        bool is_leaf = i + 1 == count || calls[i + 1].depth <= calls[i].depth;
        if (before != NULL && before->site == calls[i].site && before->depth == calls[i].depth &&
            before->has_returned && calls[i].has_returned && is_leaf) {
            before->count++;
            before->total_ns = (int64_t)((uint64_t)before->total_ns + (uint64_t)calls[i].total_ns);
        } else {
            calls[used++] = calls[i];
        }
    }
    return used;
}

static int read_stream(struct reading *r)
{
    ttape_error err = {0};
    struct tool_last_thread *thread = r->thread;
    const ttape_stream_info *info = &thread->info;
    uint64_t first = info->first_event, rows = 0, window = WINDOW_FIRST, from;
    uint64_t end = first + info->event_count + info->missing_count;
    if (ttape_cursor_open(&r->cursor, (ttape_reader *)r->last->input->reader, thread->stream,
                          &err) != TTAPE_OK)
        return tool_fail_error(r->last->input->name, &err);
    ttape_status status;
    do {
        from = end - first > window ? end - window : first;
        status = read_from(r, from, &err);
        rows = fold(r->calls, r->count);
        window *= WINDOW_GROWTH;
    } while (status == TTAPE_OK && rows < r->last->limit && from > first && window <= WINDOW_MAX);
    r->count = rows;
    if (status == TTAPE_OK)
        status = keep_frames(r, &err);
    ttape_cursor_close(r->cursor);
    size_t kept = rows < r->last->limit ? rows : r->last->limit;
    thread->calls = tool_allocate(kept + 1, sizeof *thread->calls);
    if (kept != 0)
        memcpy(thread->calls, r->calls + (rows - kept), kept * sizeof *r->calls);
    thread->call_count = kept;
    thread->has_more_calls = rows > kept || from > first;
    return status == TTAPE_OK ? TOOL_OK : tool_fail_error(r->last->input->name, &err);
}

/* F-FCT-09 */
static void take_process_end(struct tool_last *last, const struct tool_last_thread *thread)
{
    struct tool_last_end *end = &last->processes[thread->info.stream.process].end;
    const struct tool_last_end *said = &thread->end;
    bool is_same = end->number == said->number && said->how == TTAPE_PROCESS_END_EXIT &&
                   end->how == TTAPE_PROCESS_END_QUICK_EXIT;
    if (said->is_known && said->is_process && !is_same && (said->how != 0 || !end->is_known))
        *end = *said;
}

static int read_thread(struct tool_last *last, struct reading *r, uint32_t stream)
{
    struct tool_last_thread *thread = &last->threads[last->thread_count];
    thread->stream = stream;
    if (ttape_reader_get_stream(last->reader, stream, &thread->info) != TTAPE_OK ||
        thread->info.event_count == 0)
        return TOOL_OK;
    last->thread_count++;
    thread->start_ns = thread->info.stream.start_time_ns;
    r->thread = thread;
    int status = read_stream(r);
    if (thread->info.stream.process < last->process_count)
        take_process_end(last, thread);
    return status;
}

int tool_last_read(struct tool_last *last, const struct tool_input *input, const uint32_t *streams,
                   uint32_t stream_count, uint32_t limit)
{
    ttape_info info;
    struct reading r = {.last = last};
    int status = TOOL_OK;
    *last = (struct tool_last){.input = input, .reader = input->reader, .limit = limit};
    ttape_reader_get_info(input->reader, &info);
    uint32_t count = streams != NULL ? stream_count : info.stream_count;
    last->has_times = info.resolution_ns != TTAPE_TIME_NONE;
    last->process_count = info.process_count;
    last->processes = tool_allocate(info.process_count + 1u, sizeof *last->processes);
    memset(last->processes, 0, (info.process_count + 1u) * sizeof *last->processes);
    last->threads = tool_allocate(count + 1u, sizeof *last->threads);
    memset(last->threads, 0, (count + 1u) * sizeof *last->threads);
    for (uint32_t i = 0; i < count; i++) {
        int read = read_thread(last, &r, streams != NULL ? streams[i] : i);
        status = read != TOOL_OK ? read : status;
    }
    free(r.calls);
    free(r.open);
    return status;
}

void tool_last_close(struct tool_last *last)
{
    for (size_t i = 0; i < last->thread_count; i++) {
        free(last->threads[i].frames);
        free(last->threads[i].calls);
    }
    free(last->threads);
    free(last->processes);
    tool_site_names_close(&last->names);
}

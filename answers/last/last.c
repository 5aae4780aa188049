/* Each stream is read from a little before its end. Where that has too few calls, from further
 * back. */
#include <tracetape/last.h>

#include <string.h>

#include "answers/last/last_internal.h"
#include "format/base/fail.h"
#include "format/base/sized.h"
#include "reader/base/choice.h"
#include "reader/cursor/cursor.h"
#include "reader/decoder_pool.h"
#include "reader/reader_internal.h"

#define MEMORY_BYTES_DEFAULT (256ull << 20)
#define COUNT_DEFAULT        10u
#define COUNT_MOST           (1u << 20)
#define WINDOW_FIRST         256u
#define WINDOW_GROWTH        8u
#define WINDOW_MAX           (WINDOW_FIRST << 12)

struct ttape_last {
    struct ttp_memory memory;
    struct ttp_trace_decoder *decoder;
    ttape_last_options options;
    ttape_last_end *processes;
    ttape_last_thread *threads;
    uint32_t process_count, thread_count, capacity;
};

static ttape_status take_options(ttape_last_options *out, const ttape_last_options *options,
                                 ttape_error *err)
{
    *out = (ttape_last_options){.size = sizeof *out};
    if (options != NULL)
        TTP_TRY(ttp_take_sized(out, sizeof *out, options, "last calls", err));
    out->call_count = out->has_no_calls      ? 0
                      : out->call_count != 0 ? out->call_count
                                             : COUNT_DEFAULT;
    out->memory_bytes = out->memory_bytes != 0 ? out->memory_bytes : MEMORY_BYTES_DEFAULT;
    if (out->call_count > COUNT_MOST)
        return ttp_refuse(err, "more calls than 2^20");
    return ttp_check_streams(out->streams, out->stream_count, err);
}

/* Everything from event `from` on. Behind damage reading goes on. */
static ttape_status read_from(struct ttp_last_reading *r, uint64_t from, ttape_error *err)
{
    ttape_event_item item;
    ttape_status status = ttape_cursor_seek_event(r->cursor, from, err);
    ttp_last_begin(r);
    while (status == TTAPE_OK && (status = ttape_cursor_next(r->cursor, &item, err)) == TTAPE_OK)
        status = ttp_last_event(r, &item, err);
    return status == TTAPE_END ? TTAPE_OK : status;
}

static ttape_status read_calls(struct ttape_last *l, struct ttp_last_reading *r,
                               ttape_last_thread *thread, ttape_error *err)
{
    ttape_stream_info info;
    TTP_TRY(ttape_reader_get_stream(l->decoder->reader, thread->stream, &info));
    uint64_t first = info.first_event, window = WINDOW_FIRST, from;
    uint64_t end = first + info.event_count + info.missing_count;
    do {
        from = end - first > window ? end - window : first;
        TTP_TRY(read_from(r, from, err));
        ttp_last_fold(r);
        window *= WINDOW_GROWTH;
    } while (r->count < l->options.call_count && from > first && window <= WINDOW_MAX);
    thread->has_more_calls = r->count > l->options.call_count || from > first;
    return TTAPE_OK;
}

static ttape_status keep_frames(struct ttape_last *l, struct ttp_last_reading *r,
                                ttape_last_thread *thread, ttape_error *err)
{
    ttape_edge edge;
    if (thread->off_since_ns != 0)
        TTP_TRY(ttape_cursor_seek_event(r->cursor, r->stop_number, err));
    TTP_TRY(ttape_cursor_get_open_frames(r->cursor, &edge, err));
    ttape_open_frame *frames = ttp_memory_take(&l->memory, edge.frame_count, sizeof *frames, err);
    if (frames == NULL)
        return l->memory.status;
    if (edge.frame_count != 0)
        memcpy(frames, edge.frames, edge.frame_count * sizeof *frames);
    thread->frames = frames;
    thread->frame_count = edge.frame_count;
    ttp_last_mark_open(r, frames, edge.frame_count);
    return TTAPE_OK;
}

static ttape_status keep_calls(struct ttape_last *l, const struct ttp_last_reading *r,
                               ttape_last_thread *thread, ttape_error *err)
{
    uint32_t kept = r->count < l->options.call_count ? r->count : l->options.call_count;
    ttape_last_call *calls = ttp_memory_take(&l->memory, kept, sizeof *calls, err);
    if (calls == NULL)
        return l->memory.status;
    if (kept != 0)
        memcpy(calls, r->calls + (r->count - kept), kept * sizeof *calls);
    thread->calls = calls;
    thread->call_count = kept;
    return TTAPE_OK;
}

/* F-FCT-09 */
static void take_process_end(struct ttape_last *l, uint32_t process, const ttape_last_end *said)
{
    if (process >= l->process_count || !said->is_known || !said->is_process)
        return;
    ttape_last_end *end = &l->processes[process];
    bool is_same = end->number == said->number && said->how == TTAPE_PROCESS_END_EXIT &&
                   end->how == TTAPE_PROCESS_END_QUICK_EXIT;
    if (!is_same && (said->how != 0 || !end->is_known))
        *end = *said;
}

static ttape_status read_stream(struct ttape_last *l, struct ttp_last_reading *r,
                                ttape_last_thread *thread, ttape_error *err)
{
    ttape_status status = read_calls(l, r, thread, err);
    thread->end = r->end;
    thread->end_ns = r->end_ns;
    thread->fault_signal = r->fault_signal;
    thread->fault_address = r->fault_address;
    thread->lost_after = r->lost;
    bool goes_on = !r->end.is_process && r->end.how == TTAPE_THREAD_END_RECORDING;
    thread->off_since_ns = r->is_stopped && !goes_on ? r->stop_ns : 0;
    if (status == TTAPE_OK)
        status = keep_frames(l, r, thread, err);
    if (status == TTAPE_E_MEMORY || status == TTAPE_E_LIMIT)
        return status;
    TTP_TRY(keep_calls(l, r, thread, status == TTAPE_OK ? err : NULL));
    return status;
}

static ttape_status add_stream(struct ttape_last *l, struct ttp_last_reading *r, uint32_t stream,
                               ttape_error *err)
{
    ttape_stream_info info;
    ttape_error problem;
    if (ttape_reader_get_stream(l->decoder->reader, stream, &info) != TTAPE_OK)
        return ttp_no_stream(err, stream);
    if (info.event_count == 0)
        return TTAPE_OK;
    ttape_last_thread *thread = &l->threads[l->thread_count++];
    *thread = (ttape_last_thread){.stream = stream};
    TTP_TRY(ttp_cursor_open_lent(&r->cursor, l->decoder, stream, err));
    ttape_status status = read_stream(l, r, thread, &problem);
    ttape_cursor_close(r->cursor);
    take_process_end(l, info.stream.process, &thread->end);
    if (status == TTAPE_OK)
        return TTAPE_OK;
    if (l->options.damage == NULL || status == TTAPE_E_MEMORY || status == TTAPE_E_LIMIT) {
        if (err != NULL)
            *err = problem;
        return status;
    }
    l->options.damage(l->options.context, stream, &problem);
    return TTAPE_OK;
}

static ttape_status find_last(struct ttape_last *l, ttape_error *err)
{
    ttape_info info;
    ttape_reader_get_info(l->decoder->reader, &info);
    const ttape_last_options *o = &l->options;
    uint32_t count = o->streams != NULL ? o->stream_count : info.stream_count;
    l->processes = ttp_memory_take(&l->memory, info.process_count, sizeof *l->processes, err);
    if (l->processes == NULL)
        return l->memory.status;
    l->process_count = info.process_count;
    memset(l->processes, 0, l->process_count * sizeof *l->processes);
    l->threads = ttp_memory_take(&l->memory, count, sizeof *l->threads, err);
    if (l->threads == NULL)
        return l->memory.status;
    l->capacity = count;
    struct ttp_last_reading r = {.memory = &l->memory, .reader = l->decoder->reader};
    ttape_status status = TTAPE_OK;
    for (uint32_t i = 0; status == TTAPE_OK && i < count; i++)
        status = add_stream(l, &r, o->streams != NULL ? o->streams[i] : i, err);
    ttp_last_reading_close(&r);
    return status;
}

/* ---- public ---- */

ttape_status ttape_last_find(ttape_last **out, ttape_reader *reader,
                             const ttape_last_options *options, ttape_error *err)
{
    ttape_last_options taken;
    struct ttp_memory memory;
    if (out == NULL)
        return ttp_refuse(err, "no place for an answer");
    *out = NULL;
    if (reader == NULL)
        return ttp_refuse(err, "no reader");
    TTP_TRY(take_options(&taken, options, err));
    ttp_memory_init(&memory, &reader->memory.allocator, taken.memory_bytes);
    ttape_last *l = ttp_memory_take(&memory, 1, sizeof *l, err);
    if (l == NULL)
        return memory.status;
    *l = (ttape_last){.memory = memory, .decoder = &reader->pool.first, .options = taken};
    ttape_status status = ttp_decoder_take_watched(&reader->pool, &l->decoder, taken.watch, err);
    if (status == TTAPE_OK) {
        status = find_last(l, err);
        ttp_decoder_give(l->decoder);
    }

    l->options.streams = NULL;
    if (status != TTAPE_OK) {
        ttape_last_close(l);
        return status;
    }
    *out = l;
    return TTAPE_OK;
}

static void give_back(struct ttape_last *l, const void *items, uint32_t count, size_t item_bytes)
{
    if (items != NULL)
        ttp_memory_give(&l->memory, (void *)items, count, item_bytes);
}

void ttape_last_close(ttape_last *l)
{
    if (l == NULL)
        return;
    for (uint32_t i = 0; i < l->thread_count; i++) {
        const ttape_last_thread *thread = &l->threads[i];
        give_back(l, thread->frames, thread->frame_count, sizeof *thread->frames);
        give_back(l, thread->calls, thread->call_count, sizeof *thread->calls);
    }
    give_back(l, l->threads, l->capacity, sizeof *l->threads);
    give_back(l, l->processes, l->process_count, sizeof *l->processes);
    struct ttp_memory memory = l->memory;
    ttp_memory_give(&memory, l, 1, sizeof *l);
}

const ttape_last_thread *ttape_last_get_threads(const ttape_last *l, uint32_t *thread_count)
{
    *thread_count = l != NULL ? l->thread_count : 0;
    return l != NULL ? l->threads : NULL;
}

ttape_status ttape_last_get_process(const ttape_last *l, uint32_t process, ttape_last_end *end)
{
    if (process >= l->process_count)
        return TTAPE_E_NOT_FOUND;
    *end = l->processes[process];
    return TTAPE_OK;
}

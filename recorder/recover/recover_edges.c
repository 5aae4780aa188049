/* Frames that were open when a file was finished. The next file may have no definition yet, and the
 * one before may be anywhere: so the journal has them, with addresses. */
#include "recorder/recover/recover_edges.h"

#include <stdlib.h>

#include "format/base/bytes.h"
#include "format/base/fail.h"
#include "format/base/limits.h"
#include "recorder/state/journal.h"

/* What no recorder writes is not believed. */
static bool can_be(const uint8_t *bytes, size_t size)
{
    if (size < TTP_JOURNAL_EDGE_BYTES || ttp_load64(bytes + 8) > TTP_JOURNAL_NUMBER_MAX ||
        ttp_load32(bytes + 24) >= TTP_MAX_STACKS || ttp_load32(bytes + 28) > TTP_MAX_DEPTH ||
        ttp_load32(bytes + 32) == TTP_MAX_DEPTH + 1) /* the least number: its negative is none */
        return false;
    for (size_t at = TTP_JOURNAL_EDGE_BYTES; size - at >= TTP_JOURNAL_FRAME_BYTES;
         at += TTP_JOURNAL_FRAME_BYTES) {
        uint32_t kind = ttp_load32(bytes + at + 24);
        if ((kind != TTAPE_EVENT_ENTER && kind != TTAPE_EVENT_OPEN &&
             kind != TTAPE_EVENT_SIGNAL_BEGIN) ||
            ttp_load32(bytes + at + 32) >= TTP_MAX_STACKS)
            return false;
    }
    return true;
}

ttape_status ttp_edges_find(struct ttp_recovered_edges *edges, const struct ttp_encode *e,
                            const struct ttp_recovered_files *files, ttape_error *err)
{
    edges->count = e->threads.count;
    edges->items = calloc(edges->count + 1, sizeof *edges->items);
    edges->sizes = calloc(edges->count + 1, sizeof *edges->sizes);
    if (edges->items == NULL || edges->sizes == NULL)
        return ttp_fail(err, TTAPE_E_MEMORY, "", TTAPE_ERROR_NO_OFFSET, "out of memory");
    for (size_t at = 0; at < files->journal_bytes;) {
        const uint8_t *bytes = files->journal + at + TTP_JOURNAL_HEAD_BYTES;
        size_t size = ttp_load32(files->journal + at + 4);
        if (ttp_load32(files->journal + at) == TTP_JOURNAL_EDGE && can_be(bytes, size)) {
            uint32_t index = ttp_map_find(&e->thread_by_serial, ttp_load64(bytes));
            if (index < edges->count) {
                edges->items[index] = bytes;
                edges->sizes[index] = size;
            }
        }
        at += TTP_JOURNAL_HEAD_BYTES + size;
    }
    return TTAPE_OK;
}

static ttape_status add_frame(struct ttp_encode *e, struct ttp_thread *thread, const uint8_t *bytes,
                              ttape_error *err)
{
    ttape_open_frame frame = {.kind = ttp_load32(bytes + 24),
                              .site = TTAPE_NONE,
                              .argument = ttp_load32(bytes + 28),
                              .stack = ttp_load32(bytes + 32),
                              .enter_time_ns = ttp_load64(bytes + 8),
                              .self_ns = (int64_t)ttp_load64(bytes + 16)};
    if (ttp_load32(bytes + 36) != 0) {
        uint32_t index;
        TTP_TRY(ttp_site_of(e, thread, ttp_load64(bytes), &index, err));
        frame.site = ttp_site_at(e, thread, index)->id;
    }
    ttape_open_frame *place = ttp_push(&e->allocator, &thread->frames, sizeof frame, err);
    if (place == NULL)
        return TTAPE_E_MEMORY;
    *place = frame;
    return TTAPE_OK;
}

ttape_status ttp_edges_resume(const struct ttp_recovered_edges *edges, struct ttp_encode *e,
                              uint64_t serial, ttape_error *err)
{
    uint32_t index = ttp_map_find(&e->thread_by_serial, serial);
    if (index >= edges->count || edges->items[index] == NULL)
        return TTAPE_OK;
    struct ttp_thread *thread = ttp_thread_at(e, index);
    const uint8_t *bytes = edges->items[index];
    if (thread->must_resume)
        return TTAPE_OK;
    TTP_TRY(ttp_stream_ready(e, thread, err));
    thread->frames.count = 0;
    for (size_t at = TTP_JOURNAL_EDGE_BYTES; edges->sizes[index] - at >= TTP_JOURNAL_FRAME_BYTES;
         at += TTP_JOURNAL_FRAME_BYTES)
        TTP_TRY(add_frame(e, thread, bytes + at, err));
    thread->edge = (ttape_edge){.event_number = ttp_load64(bytes + 8),
                                .time_ns = ttp_load64(bytes + 16),
                                .stack = ttp_load32(bytes + 24),
                                .unknown_depth = ttp_load32(bytes + 28),
                                .depth_offset = (int32_t)ttp_load32(bytes + 32),
                                .frame_count = (uint32_t)thread->frames.count};
    if (thread->edge.time_ns < edges->begin_ns)
        thread->edge.time_ns = edges->begin_ns;
    thread->must_resume = true;
    return TTAPE_OK;
}

uint64_t ttp_edges_number(const struct ttp_recovered_edges *edges, uint32_t index)
{
    return edges->items[index] == NULL ? 0 : ttp_load64(edges->items[index] + 8);
}

void ttp_edges_close(struct ttp_recovered_edges *edges)
{
    free(edges->items);
    free(edges->sizes);
}

/* The journal's REACHED entries: of a file whose chunks are damaged they tell which partitions are
 * before the last checkpoint, and how many events of each stream are missing. */
#include "recorder/recover/recover_reached.h"

#include <stdlib.h>
#include <string.h>

#include "format/base/bytes.h"
#include "format/base/fail.h"
#include "format/base/limits.h"
#include "recorder/state/journal.h"
#include "writer/events/stream_edge.h"

/* In one file behind the other a thread has the same stream. */
static uint64_t key_of(const struct ttp_reached *reached, uint32_t file, uint32_t stream)
{
    return ((reached->is_separate ? (uint64_t)file << 32 : 0) | stream) + 1; /* 0 is no key */
}

static ttape_status take_row(struct ttp_reached *reached, struct ttp_encode *e,
                             const uint8_t *bytes, ttape_error *err)
{
    uint32_t index = ttp_map_find(&e->thread_by_serial, ttp_load64(bytes));
    if (index >= reached->count)
        return TTAPE_OK;
    struct ttp_reached_row *row = &reached->rows[index];
    *row = (struct ttp_reached_row){.number = ttp_load64(bytes + 8),
                                    .time_ns = ttp_load64(bytes + 16),
                                    .file = ttp_load32(bytes + 24),
                                    .stream = ttp_load32(bytes + 28)};
    reached->is_known = true;
    return ttp_map_set(&e->allocator, &reached->by_stream, key_of(reached, row->file, row->stream),
                       index, err);
}

bool ttp_reached_can_be(uint64_t from, uint64_t to, uint64_t partitions)
{
    return to <= from || (to - from - 1) / TTP_MAX_PARTITION_EVENTS < partitions;
}

void ttp_reached_forget(struct ttp_reached *reached)
{
    memset(reached->rows, 0, reached->count * sizeof *reached->rows);
    reached->is_known = false;
    reached->is_false = true;
}

/* A journal may say anything: a number that its own partitions cannot hold
 * would become a loss of as many events. One of a file that is gone or finished has no partition
 * here that it could be of. */
static bool is_possible(const struct ttp_reached *reached, struct ttp_reached_row *row,
                        uint64_t begin, const struct ttp_recovered_files *files)
{
    if (row->number > TTP_JOURNAL_NUMBER_MAX)
        return false;
    for (size_t i = 0; i < files->count; i++)
        if (files->items[i].number == row->file)
            return ttp_reached_can_be(begin, row->number, files->items[i].partitions);
    if (!reached->is_separate && row->number > begin)
        row->number = 0;
    return true;
}

static void check_rows(struct ttp_reached *reached, const struct ttp_recovered_files *files,
                       const struct ttp_recovered_edges *edges)
{
    for (size_t i = 0; i < reached->count; i++)
        if (!is_possible(reached, &reached->rows[i], ttp_edges_number(edges, (uint32_t)i), files)) {
            ttp_reached_forget(reached);
            return;
        }
}

ttape_status ttp_reached_find(struct ttp_reached *reached, struct ttp_encode *e,
                              const struct ttp_recovered_files *files,
                              const struct ttp_recovered_edges *edges, ttape_error *err)
{
    reached->allocator = &e->allocator;
    reached->count = e->threads.count;
    reached->is_separate = e->options.separate_files;
    reached->rows = calloc(reached->count + 1, sizeof *reached->rows);
    if (reached->rows == NULL)
        return ttp_fail(err, TTAPE_E_MEMORY, "", TTAPE_ERROR_NO_OFFSET, "out of memory");
    for (size_t at = 0; at < files->journal_bytes;) {
        size_t size = ttp_load32(files->journal + at + 4);
        if (ttp_load32(files->journal + at) == TTP_JOURNAL_REACHED &&
            size == TTP_JOURNAL_REACHED_BYTES)
            TTP_TRY(take_row(reached, e, files->journal + at + TTP_JOURNAL_HEAD_BYTES, err));
        at += TTP_JOURNAL_HEAD_BYTES + size;
    }
    check_rows(reached, files, edges);
    return TTAPE_OK;
}

const struct ttp_reached_row *ttp_reached_of(const struct ttp_reached *reached, uint32_t file,
                                             uint32_t stream)
{
    uint32_t index = ttp_map_find(&reached->by_stream, key_of(reached, file, stream));
    return index < reached->count ? &reached->rows[index] : NULL;
}

static ttape_status put_gap(struct ttp_encode *e, struct ttp_thread *thread,
                            const struct ttp_reached_row *row, uint64_t count,
                            struct ttp_gap_sums *gaps, ttape_error *err)
{
    ttape_event gap = {.kind = TTAPE_EVENT_GAP,
                       .site = TTAPE_NONE,
                       .argument = TTAPE_GAP_REASON_DAMAGE,
                       .lost_count = count,
                       .depth = TTAPE_DEPTH_AUTO};
    if (row->time_ns > thread->edge.time_ns)
        thread->edge.time_ns = row->time_ns;
    gap.time_ns = thread->edge.time_ns;
    thread->edge.event_number = row->number - 1;
    thread->must_resume = true;
    TTP_TRY(ttp_output_append(e, thread, (struct ttp_events){&gap, NULL}, 1, err));
    e->appended--; /* none of theirs */
    gaps->gap_count++;
    gaps->lost_events += count;
    return TTAPE_OK;
}

/* Where nothing of it is in the last file it stands where that began. */
static ttape_status resume(const struct ttp_reached *reached,
                           const struct ttp_recovered_edges *edges, struct ttp_encode *e,
                           size_t index, struct ttp_gap_sums *gaps, ttape_error *err)
{
    struct ttp_thread *thread = ttp_thread_at(e, index);
    const struct ttp_reached_row *row = &reached->rows[index];
    uint64_t written = 0;
    if (thread->stream != TTAPE_NONE)
        written = ttp_stream_next_event(e->current->writer, thread->stream);
    uint64_t begin = ttp_edges_number(edges, (uint32_t)index);
    begin = begin > written ? begin : written;
    if (row->number > begin) {
        TTP_TRY(ttp_edges_resume(edges, e, thread->serial, err));
        TTP_TRY(ttp_stream_ready(e, thread, err));
        return put_gap(e, thread, row, row->number - begin, gaps, err);
    }
    if (written < row->number || row->number <= thread->edge.event_number)
        return TTAPE_OK;
    TTP_TRY(ttp_edges_resume(edges, e, thread->serial, err)); /* the last file lacks it */
    if (row->number > thread->edge.event_number) {
        /* a gap brought it there */
        thread->edge.event_number = row->number;
        if (row->time_ns > thread->edge.time_ns)
            thread->edge.time_ns = row->time_ns;
        thread->must_resume = true;
    }
    return TTAPE_OK;
}

ttape_status ttp_reached_resume(const struct ttp_reached *reached,
                                const struct ttp_recovered_edges *edges, struct ttp_encode *e,
                                struct ttp_gap_sums *gaps, ttape_error *err)
{
    for (size_t i = 0; i < reached->count; i++)
        if (reached->rows[i].number != 0)
            TTP_TRY(resume(reached, edges, e, i, gaps, err));
    return TTAPE_OK;
}

void ttp_reached_close(struct ttp_reached *reached)
{
    free(reached->rows);
    if (reached->allocator != NULL)
        ttp_map_free(reached->allocator, &reached->by_stream);
}

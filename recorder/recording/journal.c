/* The journal: what a recovery has to know of the encoding thread's state. Entries are appended
 * together with the checkpoint that ends them; what follows the last checkpoint does not count.
 *
 *     entry: u32 kind, u32 size, u64 XXH3-64 of the bytes, exclusive or kind, bytes
 *
 * Kinds and bytes: spec/recording.md. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/base/bytes.h"
#include "format/base/checksum.h"
#include "recorder/state/journal.h"
#include "writer/events/stream_edge.h"

static ttape_status add_entry(struct ttp_encode *e, uint32_t kind, const uint8_t *bytes,
                              size_t size_bytes, ttape_error *err)
{
    if (e->is_replaying)
        return TTAPE_OK;
    uint8_t head[TTP_JOURNAL_HEAD_BYTES];
    ttp_store32(head, kind);
    ttp_store32(head + 4, (uint32_t)size_bytes);
    ttp_store64(head + 8, ttp_checksum(bytes, size_bytes) ^ kind);
    TTP_TRY(ttp_push_bytes(&e->allocator, &e->journal, head, sizeof head, err));
    return ttp_push_bytes(&e->allocator, &e->journal, bytes, size_bytes, err);
}

ttape_status ttp_journal_write(struct ttp_encode *e, const struct ttp_growing *bytes,
                               ttape_error *err)
{
    const uint8_t *at = bytes->data;
    for (size_t left = bytes->count; left > 0;) {
        ssize_t n = write(e->journal_fd, at, left);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return ttp_fail_plain(err, TTAPE_E_IO, "writing the journal failed: %s",
                                  strerror(errno));
        at += n;
        left -= (size_t)n;
    }
    return TTAPE_OK;
}

static uint32_t naming(const struct ttp_encode *e)
{
    const ttape_recording_options *o = &e->options;
    bool is_window = o->keep_bytes != 0 || o->keep_ns != 0;
    bool has_pieces = o->rotate_bytes != 0 || is_window;
    return (o->separate_files ? TTP_JOURNAL_SEPARATE : 0) | (o->live ? TTP_JOURNAL_LIVE : 0) |
           (has_pieces ? TTP_JOURNAL_PIECES : 0) | (is_window ? TTP_JOURNAL_WINDOW : 0) |
           (o->rules.is_application != NULL ? TTP_JOURNAL_APPLICATION : 0);
}

static uint32_t call_flags(const ttape_syscall_options *calls)
{
    return (ttp_calls_are_chosen(calls) ? TTP_JOURNAL_CALLS : 0) |
           (calls->plan_folder == NULL ? TTP_JOURNAL_OUTSIDE : 0) |
           (calls->traced ? TTP_JOURNAL_TRACED : 0) |
           (calls->is_attached ? TTP_JOURNAL_ATTACHED : 0) |
           (calls->stacks ? TTP_JOURNAL_STACKS : 0);
}

static ttape_status add_start(struct ttp_encode *e, ttape_error *err)
{
    uint8_t bytes[TTP_JOURNAL_START_BYTES] = {0};
    const ttape_writer_options *w = &e->options.writer;
    ttp_store32(bytes, e->options.clock);
    ttp_store32(bytes + 4, w->partition_events);
    ttp_store64(bytes + 8, e->rate.base);
    ttp_store64(bytes + 16, e->rate.base_ns);
    ttp_store64(bytes + 24, e->rate.scale);
    ttp_store64(bytes + 32, w->resolution_ns);
    ttp_store32(bytes + 40, (uint32_t)w->level);
    ttp_store32(bytes + 44, w->literal);
    ttp_store32(bytes + 48, naming(e));
    ttp_store32(bytes + 52, TTP_ARENA_VERSION); /* of journal, slots and records alike */
    memcpy(bytes + 56, w->trace_id, sizeof w->trace_id);
    ttp_store32(bytes + 72, call_flags(&e->options.syscalls));
    ttp_store32(bytes + 76, e->options.syscalls.stack_every);
    ttp_store32(bytes + 80, e->options.syscalls.stack_rate);
    return add_entry(e, TTP_JOURNAL_START, bytes, sizeof bytes, err);
}

ttape_status ttp_journal_open(struct ttp_encode *e, const char *arena_path, ttape_error *err)
{
    e->journal_fd = ttp_directory_create(e->directory, "journal", O_WRONLY);
    if (e->journal_fd < 0)
        return ttp_directory_fail(err, "creating the journal in", e->directory->path);
    TTP_TRY(add_start(e, err));
    TTP_TRY(add_entry(e, TTP_JOURNAL_ARENA, (const uint8_t *)arena_path, strlen(arena_path), err));
    if (e->options.command != NULL)
        TTP_TRY(add_entry(e, TTP_JOURNAL_COMMAND, (const uint8_t *)e->options.command,
                          strlen(e->options.command), err));
    uint8_t none[TTP_JOURNAL_FILE_BYTES] = {0};
    TTP_TRY(add_entry(e, TTP_JOURNAL_CHECKPOINT, none, sizeof none, err));
    TTP_TRY(ttp_journal_write(e, &e->journal, err));
    e->journal.count = 0;
    return TTAPE_OK;
}

ttape_status ttp_journal_message(struct ttp_encode *e, const struct ttp_thread *thread,
                                 uint32_t kind, const uint8_t *bytes, size_t size_bytes,
                                 ttape_error *err)
{
    uint8_t *copy = malloc(size_bytes + 12);
    if (copy == NULL)
        return ttp_fail_memory(err);
    ttp_store64(copy, thread->serial);
    ttp_store32(copy + 8, kind);
    memcpy(copy + 12, bytes, size_bytes);
    ttape_status status = ttp_journal_thread(e, thread, err);
    if (status == TTAPE_OK)
        status = add_entry(e, TTP_JOURNAL_MESSAGE, copy, size_bytes + 12, err);
    free(copy);
    return status;
}

ttape_status ttp_journal_thread(struct ttp_encode *e, const struct ttp_thread *thread,
                                ttape_error *err)
{
    const struct ttp_image *image = ttp_image_at(e, thread->image);
    uint8_t bytes[TTP_JOURNAL_THREAD_BYTES];
    ttp_store64(bytes, thread->serial);
    ttp_store64(bytes + 8, image->serial);
    ttp_store64(bytes + 16, thread->started);
    ttp_store64(bytes + 24, thread->sequence);
    ttp_store64(bytes + 32, thread->epoch);
    ttp_store64(bytes + 40, thread->last_ns);
    ttp_store32(bytes + 48, thread->consumed);
    ttp_store32(bytes + 52, thread->tid);
    ttp_store32(bytes + 56, thread->stream);
    ttp_store32(bytes + 60, image->pid);
    ttp_store32(bytes + 64, image->process);
    memcpy(bytes + 68, thread->name, sizeof thread->name);
    return add_entry(e, TTP_JOURNAL_THREAD, bytes, sizeof bytes, err);
}

ttape_status ttp_journal_ended(struct ttp_encode *e, const struct ttp_thread *thread,
                               ttape_error *err)
{
    uint8_t bytes[sizeof thread->serial];
    ttp_store64(bytes, thread->serial);
    return add_entry(e, TTP_JOURNAL_ENDED, bytes, sizeof bytes, err);
}

ttape_status ttp_journal_line(struct ttp_encode *e, const struct ttp_tick_rate *line,
                              ttape_error *err)
{
    uint8_t bytes[TTP_JOURNAL_LINE_BYTES];
    ttp_store64(bytes, line->base);
    ttp_store64(bytes + 8, line->base_ns);
    ttp_store64(bytes + 16, line->scale);
    return add_entry(e, TTP_JOURNAL_LINE, bytes, sizeof bytes, err);
}

/* Partitions of a damaged file cannot be counted; numbers of events tell which of them count, and
 * how many are lost. */
ttape_status ttp_journal_reached(struct ttp_encode *e, const struct ttp_thread *thread,
                                 ttape_error *err)
{
    uint8_t bytes[TTP_JOURNAL_REACHED_BYTES];
    if (thread->stream == TTAPE_NONE)
        return TTAPE_OK;
    const struct ttp_output *o = ttp_output_of(e, thread);
    if (o == NULL || o->writer == NULL)
        return TTAPE_OK;
    uint64_t number = thread->must_resume ? thread->edge.event_number
                                          : ttp_stream_next_event(o->writer, thread->stream);
    ttp_store64(bytes, thread->serial);
    ttp_store64(bytes + 8, number);
    ttp_store64(bytes + 16, thread->last_ns);
    ttp_store32(bytes + 24, o->number);
    ttp_store32(bytes + 28, thread->stream);
    return add_entry(e, TTP_JOURNAL_REACHED, bytes, sizeof bytes, err);
}

ttape_status ttp_journal_file(struct ttp_encode *e, struct ttp_growing *files, uint32_t number,
                              uint64_t partitions, ttape_error *err)
{
    uint8_t bytes[TTP_JOURNAL_FILE_BYTES];
    ttp_store32(bytes, number);
    ttp_store32(bytes + 4, 0);
    ttp_store64(bytes + 8, partitions);
    return ttp_push_bytes(&e->allocator, files, bytes, sizeof bytes, err);
}

ttape_status ttp_journal_checkpoint(struct ttp_encode *e, const struct ttp_growing *files,
                                    ttape_error *err)
{
    static const uint8_t nothing[1];
    return add_entry(e, TTP_JOURNAL_CHECKPOINT, files->count != 0 ? files->data : nothing,
                     files->count, err);
}

/* Sites by their addresses: ids are those of a file. */
static void store_frame(const struct ttp_encode *e, const ttape_open_frame *frame, uint8_t *bytes)
{
    uint64_t address = 0;
    bool has_site = frame->site < e->sites.count;
    if (has_site) {
        const struct ttp_place place = ((const struct ttp_place *)e->sites.data)[frame->site];
        const struct ttp_layout *layout = ttp_layout_at(e, place.layout);
        address = ((const struct ttp_site_seen *)layout->sites.data)[place.index].address;
    }
    ttp_store64(bytes, address);
    ttp_store64(bytes + 8, frame->enter_time_ns);
    ttp_store64(bytes + 16, (uint64_t)frame->self_ns);
    ttp_store32(bytes + 24, frame->kind);
    ttp_store32(bytes + 28, frame->argument);
    ttp_store32(bytes + 32, frame->stack);
    ttp_store32(bytes + 36, has_site);
}

ttape_status ttp_journal_edge(struct ttp_encode *e, const struct ttp_thread *thread,
                              ttape_error *err)
{
    size_t count = thread->frames.count;
    size_t size = TTP_JOURNAL_EDGE_BYTES + count * TTP_JOURNAL_FRAME_BYTES;
    uint8_t *bytes = malloc(size);
    if (bytes == NULL)
        return ttp_fail_memory(err);
    ttp_store64(bytes, thread->serial);
    ttp_store64(bytes + 8, thread->edge.event_number);
    ttp_store64(bytes + 16, thread->edge.time_ns);
    ttp_store32(bytes + 24, thread->edge.stack);
    ttp_store32(bytes + 28, thread->edge.unknown_depth);
    ttp_store32(bytes + 32, (uint32_t)thread->edge.depth_offset);
    for (size_t i = 0; i < count; i++)
        store_frame(e, (const ttape_open_frame *)thread->frames.data + i,
                    bytes + TTP_JOURNAL_EDGE_BYTES + i * TTP_JOURNAL_FRAME_BYTES);
    ttape_status status = add_entry(e, TTP_JOURNAL_EDGE, bytes, size, err);
    free(bytes);
    return status;
}

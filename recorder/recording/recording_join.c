/* The part of a recording that has to read: joining pieces of its trace for a snapshot. So it is
 * here that the public way to open one gets its joiner. */
#include <tracetape/copy.h>
#include <tracetape/recording.h>

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "format/base/fail.h"
#include "recorder/state/snapshot.h"
#include "writer/events/copy_writer.h"
#include "writer/os_status.h"

static ttape_status read_piece(void *context, uint64_t offset, void *buffer, size_t size_bytes,
                               size_t *got_bytes, ttape_error *err)
{
    const struct ttp_piece *piece = context;
    *got_bytes = 0;
    if (offset >= piece->size_bytes)
        return TTAPE_OK;
    if (size_bytes > piece->size_bytes - offset)
        size_bytes = (size_t)(piece->size_bytes - offset);
    while (*got_bytes < size_bytes) {
        ssize_t n = pread(piece->fd, (char *)buffer + *got_bytes, size_bytes - *got_bytes,
                          (off_t)(offset + *got_bytes));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return ttp_fail(err, TTAPE_E_IO, "", offset, "reading a trace file failed: %s",
                            strerror(errno));
        if (n == 0)
            break;
        *got_bytes += (size_t)n;
    }
    return TTAPE_OK;
}

/* The last value of a key stands: these replace what the pieces say. */
static ttape_status set_numbers(ttape_writer *writer, struct ttp_scope *scope,
                                const struct ttp_pieces *pieces, ttape_error *err)
{
    for (size_t i = 0; i < pieces->number_count; i++) {
        const struct ttp_number *number = &pieces->numbers[i];
        ttape_string key = {number->key, strlen(number->key)}, none = {NULL, 0};
        TTP_TRY(ttp_writer_scope_metadata(writer, scope, key, false, none, number->value, err));
    }
    return TTAPE_OK;
}

/* The numbers of streams' first events from a time on; below them are all of 0. */
static ttape_status find_ends(ttape_reader *reader, uint32_t count, uint64_t until_ns, uint64_t *to,
                              ttape_error *err)
{
    ttape_status status = TTAPE_OK;
    for (uint32_t i = 0; status == TTAPE_OK && i < count; i++) {
        ttape_cursor *cursor;
        ttape_edge edge;
        status = ttape_cursor_open(&cursor, reader, i, err);
        if (status != TTAPE_OK)
            return status;
        status = ttape_cursor_seek_time(cursor, until_ns, err);
        if (status == TTAPE_OK || status == TTAPE_END)
            status = ttape_cursor_get_open_frames(cursor, &edge, err);
        if (status == TTAPE_OK)
            to[i] = edge.event_number;
        ttape_cursor_close(cursor);
    }
    return status;
}

/* All of it, or what has numbers below `to`. */
static ttape_status copy_partition(ttape_copier *copier, ttape_reader *reader, uint32_t number,
                                   const uint64_t *from, const uint64_t *to, ttape_error *err)
{
    ttape_partition_info info;
    bool has_early = false, has_late = false;
    TTP_TRY(ttape_reader_get_partition(reader, number, &info));
    for (uint32_t i = 0; i < info.segment_count && to != NULL; i++) {
        ttape_segment_info segment;
        TTP_TRY(ttape_reader_get_segment(reader, number, i, &segment, err));
        has_early |= segment.start.event_number < to[segment.stream];
        has_late |= segment.start.event_number + segment.event_count > to[segment.stream];
    }
    if (!has_late)
        return ttape_copier_partition(copier, number, err);
    return has_early ? ttape_copier_part(copier, number, from, to, err) : TTAPE_OK;
}

static ttape_status copy_partitions(ttape_copier *copier, ttape_reader *reader, uint64_t until_ns,
                                    const ttape_allocator *allocator, ttape_error *err)
{
    ttape_info info;
    ttape_reader_get_info(reader, &info);
    uint64_t *from = NULL, *to = NULL;
    ttape_status status = TTAPE_OK;
    size_t room = (size_t)info.stream_count * 2 * sizeof *from;
    if (until_ns != 0 && info.resolution_ns != TTAPE_TIME_NONE && info.stream_count != 0) {
        from = allocator->allocate(allocator->context, room);
        if (from == NULL)
            return ttp_fail_memory(err);
        memset(from, 0, room);
        to = from + info.stream_count;
        status = find_ends(reader, info.stream_count, until_ns, to, err);
    }
    for (uint32_t i = 0; status == TTAPE_OK && i < info.partition_count; i++)
        status = copy_partition(copier, reader, i, from, to, err);
    if (from != NULL)
        allocator->release(allocator->context, from, room);
    return status;
}

static ttape_status copy_reader(ttape_writer *writer, ttape_reader *reader, uint64_t begin_ns,
                                const struct ttp_pieces *pieces, bool is_last,
                                const ttape_allocator *allocator, ttape_error *err)
{
    ttape_copier *copier;
    TTP_TRY(ttape_copier_open(&copier, writer, reader, err));
    ttape_copier_begin_at(copier, begin_ns);
    ttape_status status = copy_partitions(copier, reader, pieces->until_ns, allocator, err);
    if (status == TTAPE_OK && is_last)
        status = set_numbers(writer, ttp_copier_scope(copier, 0), pieces, err);
    ttape_copier_close(copier);
    return status;
}

/* The reader reads from `piece`. */
static ttape_status open_piece(ttape_reader **reader, struct ttp_piece *piece,
                               const ttape_allocator *allocator, ttape_error *err)
{
    ttape_source source = {piece, read_piece, piece->size_bytes};
    ttape_reader_options options = {.size = sizeof options, .allocator = allocator};
    return ttape_reader_open(reader, &source, &options, err);
}

static ttape_status copy_piece(ttape_writer *writer, const struct ttp_pieces *pieces, size_t index,
                               uint64_t begin_ns, const ttape_allocator *allocator,
                               ttape_error *err)
{
    struct ttp_piece piece = pieces->items[index];
    ttape_reader *reader;
    TTP_TRY(open_piece(&reader, &piece, allocator, err));
    ttape_status status =
        copy_reader(writer, reader, begin_ns, pieces, index + 1 == pieces->count, allocator, err);
    ttape_reader_close(reader);
    return status;
}

/* A window's begin: a thread that waits since before it is in it from there on. */
static ttape_status find_begin(const struct ttp_pieces *pieces, const ttape_allocator *allocator,
                               uint64_t *begin_ns, ttape_error *err)
{
    *begin_ns = 0;
    for (size_t i = 0; pieces->is_window && i < pieces->count; i++) {
        struct ttp_piece piece = pieces->items[i];
        ttape_reader *reader;
        ttape_info info;
        TTP_TRY(open_piece(&reader, &piece, allocator, err));
        ttape_reader_get_info(reader, &info);
        if (info.event_count != 0 && (*begin_ns == 0 || info.time_first_ns < *begin_ns))
            *begin_ns = info.time_first_ns;
        ttape_reader_close(reader);
    }
    return TTAPE_OK;
}

static ttape_status join_pieces(const struct ttp_pieces *pieces,
                                const ttape_writer_options *options, const ttape_sink *sink,
                                ttape_error *err)
{
    ttape_writer *writer;
    uint64_t begin_ns;
    TTP_TRY(find_begin(pieces, options->allocator, &begin_ns, err));
    TTP_TRY(ttape_writer_open(&writer, sink, options, err));
    ttape_status status = TTAPE_OK;
    for (size_t i = 0; status == TTAPE_OK && i < pieces->count; i++)
        status = copy_piece(writer, pieces, i, begin_ns, options->allocator, err);
    if (status == TTAPE_OK)
        status = ttape_writer_finish(writer, err);
    ttape_writer_close(writer);
    return status;
}

ttape_status ttape_recording_open(ttape_recording **out, const char *output,
                                  const ttape_recording_options *options, ttape_error *err)
{
    return ttp_recording_open(out, output, options, join_pieces, err);
}

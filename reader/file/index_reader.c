/* Opening by the index: footer, index, definitions. Everything that the index says of a partition
 * is compared with the partition when that is read (F-IDX-08). */
#include "format/container/index.h"

#include <string.h>

#include "format/base/fail.h"
#include "reader/reader_internal.h"

struct index_walk {
    ttape_reader *reader;
    struct ttp_reader_cursor cursor;
    struct ttp_index_state state;
    uint64_t offset, end; /* of the entry's chunk; of the index chunk */
    uint64_t *expected;   /* per stream: its next event number as far as the index knows */
    uint32_t expected_capacity;
};

static ttape_status wrong(const char *rule, uint64_t offset, const char *what, ttape_error *err)
{
    return ttp_fail(err, TTAPE_E_CORRUPT, rule, offset, "%s", what);
}

static ttape_status add_segments(struct index_walk *w, const struct ttp_index_entry *entry,
                                 ttape_error *err)
{
    struct ttp_index_segment before = {.stream = UINT32_MAX}, segment;
    uint64_t events = 0;
    TTP_TRY(ttp_stream_numbers(w->reader, &w->expected, &w->expected_capacity, err));
    for (uint32_t s = 0; s < entry->segment_count; s++) {
        TTP_TRY(ttp_index_segment_read(&w->cursor, &before, &segment, err));
        uint32_t stream = ttp_definitions_find(&w->reader->definitions, entry->scope,
                                               TTP_DEFINES_STREAMS, segment.stream);
        if (stream == TTAPE_NONE)
            return wrong("F-IDX-05", w->end, "index names a stream that is not defined", err);
        TTP_TRY(ttp_index_segment_read_number(&w->cursor, w->expected[stream], &segment, err));
        TTP_TRY(ttp_reader_add_segment(w->reader, segment.stream, segment.event_count,
                                       segment.first_event, err));
        w->expected[stream] = segment.first_event + segment.event_count;
        events += segment.event_count;
        before = segment;
    }
    if (events != entry->event_count)
        return wrong("F-IDX-05", w->end, "events of segments do not add up in the index", err);
    return TTAPE_OK;
}

static ttape_status add_partition(struct index_walk *w, const struct ttp_index_entry *entry,
                                  uint64_t sequence, ttape_error *err)
{
    if (entry->scope >= w->reader->definitions.scope_count)
        return wrong("F-CHK-09", w->end, "index names a scope that is not introduced", err);
    struct ttp_partition_entry partition = {.offset = w->offset,
                                            .sequence = sequence,
                                            .resolution_ns = entry->resolution_ns,
                                            .origin_ns = entry->origin_ns,
                                            .first_tick = entry->first_tick,
                                            .end_tick = entry->end_tick,
                                            .lost_count = entry->lost_count,
                                            .stored_bytes = (uint32_t)entry->stored_bytes,
                                            .light_bytes = entry->light_bytes,
                                            .scope = entry->scope,
                                            .event_count = entry->event_count,
                                            .segment_count = entry->segment_count,
                                            .model = entry->model,
                                            .order_bytes = (uint32_t)entry->order_bytes,
                                            .times_bytes = (uint32_t)entry->times_bytes,
                                            .values_bytes = (uint32_t)entry->values_bytes,
                                            .summary_bytes = (uint32_t)entry->summary_bytes};
    if (entry->gap_count > entry->event_count || entry->light_bytes < TTP_HEAD_BYTES)
        return wrong("F-IDX-03", w->end, "an index entry of a partition is out of range", err);
    partition.gap_count = (uint32_t)entry->gap_count;
    TTP_TRY(ttp_reader_add_partition(w->reader, &partition, err));
    return add_segments(w, entry, err);
}

/* A chunk whose header counts: definitions are read now, and only a header tells whether an unknown
 * kind may be left out. */
static ttape_status add_other(struct index_walk *w, const struct ttp_index_entry *entry,
                              uint64_t sequence, ttape_error *err)
{
    struct ttp_chunk chunk;
    TTP_TRY(ttp_reader_chunk(w->reader, w->offset, &chunk, err));
    if (chunk.kind != entry->kind || chunk.scope != entry->scope ||
        chunk.stored_bytes != entry->stored_bytes || chunk.sequence != sequence)
        return wrong("F-IDX-08", w->offset, "index and chunk header contradict each other", err);
    return ttp_reader_add_chunk(w->reader, w->offset, &chunk, err);
}

static ttape_status add_entry(struct index_walk *w, ttape_error *err)
{
    struct ttp_index_entry entry;
    ttape_reader *r = w->reader;
    uint64_t sequence = r->chunk_count;
    TTP_TRY(ttp_index_entry_read(&w->cursor, &w->state, &entry, err));
    if (w->end - w->offset < TTP_CHUNK_HEADER_BYTES ||
        entry.stored_bytes > w->end - w->offset - TTP_CHUNK_HEADER_BYTES)
        return wrong("F-IDX-06", w->end, "chunks of the index reach into the index", err);
    if (entry.kind == TTP_CHUNK_PARTITION) {
        TTP_TRY(add_partition(w, &entry, sequence, err));
        r->chunk_count++;
    } else if (entry.kind == TTP_CHUNK_MODEL) {
        TTP_TRY(ttp_reader_add_model(r, w->offset, sequence, (uint32_t)entry.stored_bytes,
                                     entry.scope, err));
        r->chunk_count++;
    } else if (entry.kind == TTP_CHUNK_INDEX) {
        r->chunk_count++;
    } else {
        TTP_TRY(add_other(w, &entry, sequence, err));
    }
    w->offset += TTP_CHUNK_HEADER_BYTES + entry.stored_bytes;
    return TTAPE_OK;
}

static ttape_status parse_index(struct index_walk *w, ttape_error *err)
{
    uint64_t count = ttp_read_varint(&w->cursor);
    if (w->cursor.bad || count > ttp_reader_left(&w->cursor))
        return wrong("F-IDX-02", w->end, "index has more entries than bytes", err);
    for (uint64_t i = 0; i < count; i++)
        TTP_TRY(add_entry(w, err));
    if (w->offset != w->end || ttp_reader_left(&w->cursor) != 0)
        return wrong("F-IDX-06", w->end, "index does not add up to its own place", err);
    return TTAPE_OK;
}

ttape_status ttp_reader_read_index(ttape_reader *r, ttape_error *err)
{
    uint8_t data[TTP_FOOTER_BYTES];
    struct ttp_footer footer;
    struct ttp_chunk chunk;
    uint8_t *content = NULL;
    size_t size_bytes = 0;
    uint64_t end = r->source.size_bytes;
    if (end < TTP_FILE_HEADER_BYTES + TTP_CHUNK_HEADER_BYTES + TTP_FOOTER_BYTES)
        return ttp_fail(err, TTAPE_E_TRUNCATED, "F-FOO-01", end,
                        "no footer at the end of the file");
    TTP_TRY(ttp_source_read(&r->source, end - sizeof data, data, sizeof data, err));
    TTP_TRY(ttp_footer_read(data, end - sizeof data, &footer, err));
    TTP_TRY(ttp_reader_chunk(r, footer.index_offset, &chunk, err));
    if (chunk.kind != TTP_CHUNK_INDEX || chunk.scope != 0 ||
        footer.index_offset + TTP_CHUNK_HEADER_BYTES + chunk.stored_bytes != end - sizeof data)
        return wrong("F-FOO-05", footer.index_offset, "footer does not name the last chunk", err);
    TTP_TRY(ttp_reader_content(&r->pool.first, footer.index_offset, &chunk, &content, &size_bytes,
                               err));
    struct index_walk walk = {.reader = r,
                              .cursor = ttp_reader_cursor_init(content, size_bytes),
                              .offset = TTP_FILE_HEADER_BYTES,
                              .end = footer.index_offset};
    ttape_status status = parse_index(&walk, err);
    ttp_memory_give(&r->memory, walk.expected, walk.expected_capacity, sizeof *walk.expected);
    ttp_memory_give(&r->pool.first.memory, content, size_bytes, 1);
    if (status == TTAPE_OK &&
        (r->chunk_count != chunk.sequence || r->chunk_count + 1 != footer.chunk_count))
        status = wrong("F-IDX-06", walk.end, "index does not have all chunks", err);
    r->chunk_count++;
    r->complete = r->by_index = status == TTAPE_OK;
    return status;
}

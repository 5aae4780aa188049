/* The same bytes that index_reader.c believes, compared with what the scan has found (F-IDX-08). */
#include "answers/check/verify_index.h"

#include <string.h>

#include "format/base/fail.h"
#include "format/container/index.h"

ttape_status ttp_chunk_list_add(struct ttp_chunk_list *list, ttape_reader *r,
                                const struct ttp_chunk *chunk, bool is_partition, ttape_error *err)
{
    TTP_TRY(ttp_memory_reserve(&r->memory, &list->chunks, &list->capacity, list->count + 1ull,
                               sizeof *list->chunks, err));
    list->chunks[list->count++] =
        (struct ttp_listed_chunk){chunk->stored_bytes, chunk->scope,
                                  is_partition ? r->partition_count - 1 : TTAPE_NONE, chunk->kind};
    return TTAPE_OK;
}

void ttp_chunk_list_close(struct ttp_chunk_list *list, ttape_reader *r)
{
    ttp_memory_give(&r->memory, list->chunks, list->capacity, sizeof *list->chunks);
    *list = (struct ttp_chunk_list){0};
}

struct compare {
    ttape_reader *r;
    struct ttp_reader_cursor cursor;
    struct ttp_index_state state;
    uint64_t *expected;
    uint32_t stream_count;
    uint64_t offset;
};

static ttape_status differs(const struct compare *c, uint64_t entry, const char *what,
                            ttape_error *err)
{
    return ttp_fail(err, TTAPE_E_CORRUPT, "F-IDX-08", c->offset, "index entry '%llu': %s",
                    (unsigned long long)entry, what);
}

static bool same_partition(const struct ttp_partition_entry *partition,
                           const struct ttp_index_entry *e)
{
    return partition->event_count == e->event_count &&
           partition->segment_count == e->segment_count && partition->model == e->model &&
           partition->light_bytes == e->light_bytes &&
           partition->resolution_ns == e->resolution_ns && partition->origin_ns == e->origin_ns &&
           partition->first_tick == e->first_tick && partition->end_tick == e->end_tick &&
           partition->order_bytes == e->order_bytes && partition->times_bytes == e->times_bytes &&
           partition->values_bytes == e->values_bytes &&
           partition->summary_bytes == e->summary_bytes && partition->gap_count == e->gap_count &&
           partition->lost_count == e->lost_count;
}

static ttape_status compare_segments(struct compare *c, const struct ttp_index_entry *entry,
                                     const struct ttp_partition_entry *partition, uint64_t number,
                                     ttape_error *err)
{
    struct ttp_index_segment before = {.stream = UINT32_MAX}, segment;
    bool same = true;
    for (uint32_t s = 0; s < entry->segment_count; s++) {
        TTP_TRY(ttp_index_segment_read(&c->cursor, &before, &segment, err));
        uint32_t stream = ttp_definitions_find(&c->r->definitions, entry->scope,
                                               TTP_DEFINES_STREAMS, segment.stream);
        if (stream >= c->stream_count)
            return differs(c, number, "a stream is not defined", err);
        TTP_TRY(ttp_index_segment_read_number(&c->cursor, c->expected[stream], &segment, err));
        c->expected[stream] = segment.first_event + segment.event_count;
        before = segment;
        if (partition == NULL || s >= partition->segment_count)
            continue;
        const struct ttp_segment_entry *seg = &c->r->segments[partition->first_segment + s];
        same = same && seg->stream == stream && seg->event_count == segment.event_count &&
               seg->first_event == segment.first_event;
    }
    return same ? TTAPE_OK : differs(c, number, "a segment differs from the partition's", err);
}

static ttape_status compare_entry(struct compare *c, const struct ttp_listed_chunk *have,
                                  uint64_t number, ttape_error *err)
{
    struct ttp_index_entry entry;
    const struct ttp_partition_entry *partition = NULL;
    TTP_TRY(ttp_index_entry_read(&c->cursor, &c->state, &entry, err));
    if (entry.kind != have->kind || entry.scope != have->scope ||
        entry.stored_bytes != have->stored_bytes)
        return differs(c, number, "kind, scope or size differs from the chunk's", err);
    if (entry.kind != TTP_CHUNK_PARTITION)
        return TTAPE_OK;
    if (have->partition != TTAPE_NONE && !c->r->partitions[have->partition].damaged)
        partition = &c->r->partitions[have->partition];
    if (partition != NULL && !same_partition(partition, &entry))
        return differs(c, number, "counts or times differ from the partition's", err);
    return compare_segments(c, &entry, partition, number, err);
}

static ttape_status compare_all(struct compare *c, const struct ttp_chunk_list *list,
                                ttape_error *err)
{
    uint64_t count = ttp_read_varint(&c->cursor);
    if (c->cursor.bad || count != list->count)
        return ttp_fail(err, TTAPE_E_CORRUPT, "F-IDX-08", c->offset,
                        "index has %llu entries, %u chunks stand before it",
                        (unsigned long long)count, list->count);
    for (uint64_t i = 0; i < count; i++)
        TTP_TRY(compare_entry(c, &list->chunks[i], i, err));
    if (ttp_reader_left(&c->cursor) != 0)
        return ttp_fail(err, TTAPE_E_CORRUPT, "F-IDX-06", c->offset,
                        "index goes on behind its last entry");
    return TTAPE_OK;
}

ttape_status ttp_verify_index(ttape_reader *r, const struct ttp_chunk_list *list, uint64_t offset,
                              const struct ttp_chunk *chunk, ttape_error *err)
{
    uint8_t *content = NULL;
    size_t size_bytes = 0;
    uint32_t streams = r->definitions.stream_count;
    TTP_TRY(ttp_reader_content(&r->pool.first, offset, chunk, &content, &size_bytes, err));
    struct compare c = {.r = r,
                        .cursor = ttp_reader_cursor_init(content, size_bytes),
                        .stream_count = streams,
                        .offset = offset + TTP_CHUNK_HEADER_BYTES};
    c.expected = ttp_memory_take(&r->memory, streams, sizeof *c.expected, err);
    ttape_status status = c.expected == NULL ? r->memory.status : TTAPE_OK;
    if (status == TTAPE_OK) {
        memset(c.expected, 0, streams * sizeof *c.expected);
        status = compare_all(&c, list, err);
        if (status != TTAPE_OK && err != NULL)
            err->offset = c.offset;
    }
    ttp_memory_give(&r->memory, c.expected, streams, sizeof *c.expected);
    ttp_memory_give(&r->memory, content, size_bytes, 1);
    return status;
}

/* Index entries as varints; partitions relate to the partition before, which is much like them. */
#include "format/container/index.h"

#include "format/base/fail.h"
#include "format/base/limits.h"
#include "format/container/layout.h"

void ttp_index_entry_write(struct ttp_writer_cursor *c, struct ttp_index_state *state,
                           const struct ttp_index_entry *entry)
{
    ttp_write_varint(c, entry->kind);
    ttp_write_varint(c, entry->scope);
    ttp_write_varint(c, entry->stored_bytes);
    if (entry->kind != TTP_CHUNK_PARTITION)
        return;
    const struct ttp_index_entry *before = &state->before;
    ttp_write_varint(c, entry->event_count);
    ttp_write_varint(c, entry->segment_count);
    ttp_write_varint(c, entry->model == TTP_NO_MODEL ? 0 : (uint64_t)entry->model + 1);
    ttp_write_varint(c, entry->light_bytes);
    ttp_write_varint(c, entry->resolution_ns);
    ttp_write_svarint(c, (int64_t)(entry->origin_ns - before->origin_ns));
    ttp_write_svarint(c, (int64_t)((uint64_t)entry->first_tick - (uint64_t)before->end_tick));
    ttp_write_varint(c, (uint64_t)entry->end_tick - (uint64_t)entry->first_tick);
    ttp_write_varint(c, entry->order_bytes);
    ttp_write_varint(c, entry->times_bytes);
    ttp_write_varint(c, entry->values_bytes);
    ttp_write_varint(c, entry->summary_bytes);
    ttp_write_varint(c, entry->gap_count);
    ttp_write_varint(c, entry->lost_count);
    state->before = *entry;
}

void ttp_index_segment_write(struct ttp_writer_cursor *c, const struct ttp_index_segment *before,
                             uint64_t expected, const struct ttp_index_segment *segment)
{
    ttp_write_varint(c, (uint32_t)(segment->stream - before->stream - 1));
    ttp_write_varint(c, segment->event_count);
    ttp_write_svarint(c, (int64_t)(segment->first_event - expected));
}

static ttape_status bad_index(const struct ttp_reader_cursor *c, const char *rule, const char *what,
                              ttape_error *err)
{
    return ttp_fail(err, TTAPE_E_CORRUPT, rule, ttp_reader_offset(c), "%s", what);
}

static ttape_status read_partition(struct ttp_reader_cursor *c, struct ttp_index_state *state,
                                   struct ttp_index_entry *entry, ttape_error *err)
{
    const struct ttp_index_entry *before = &state->before;
    uint64_t events = ttp_read_varint(c), segments = ttp_read_varint(c), model = ttp_read_varint(c);
    uint64_t light = ttp_read_varint(c);
    entry->resolution_ns = ttp_read_varint(c);
    entry->origin_ns = before->origin_ns + (uint64_t)ttp_read_svarint(c);
    entry->first_tick = (int64_t)((uint64_t)before->end_tick + (uint64_t)ttp_read_svarint(c));
    entry->end_tick = (int64_t)((uint64_t)entry->first_tick + ttp_read_varint(c));
    entry->order_bytes = ttp_read_varint(c);
    entry->times_bytes = ttp_read_varint(c);
    entry->values_bytes = ttp_read_varint(c);
    entry->summary_bytes = ttp_read_varint(c);
    entry->gap_count = ttp_read_varint(c);
    entry->lost_count = ttp_read_varint(c);
    if (c->bad || events == 0 || events > TTP_MAX_PARTITION_EVENTS || segments == 0 ||
        segments > events || model > UINT32_MAX || light > entry->stored_bytes)
        return bad_index(c, "F-IDX-03", "an index entry of a partition is out of range", err);
    uint64_t known = entry->order_bytes;
    if (__builtin_add_overflow(known, entry->times_bytes, &known) ||
        __builtin_add_overflow(known, entry->values_bytes, &known) ||
        __builtin_add_overflow(known, entry->summary_bytes, &known) || known > entry->stored_bytes)
        return bad_index(c, "F-IDX-04",
                         "an index entry's byte counts are larger than its partition", err);
    entry->event_count = (uint32_t)events;
    entry->segment_count = (uint32_t)segments;
    entry->model = model == 0 ? TTP_NO_MODEL : (uint32_t)(model - 1);
    entry->light_bytes = (uint32_t)light;
    state->before = *entry;
    return TTAPE_OK;
}

ttape_status ttp_index_entry_read(struct ttp_reader_cursor *c, struct ttp_index_state *state,
                                  struct ttp_index_entry *out, ttape_error *err)
{
    struct ttp_index_entry entry = {.model = TTP_NO_MODEL};
    uint64_t kind = ttp_read_varint(c), scope = ttp_read_varint(c);
    entry.stored_bytes = ttp_read_varint(c);
    if (c->bad || kind > UINT16_MAX || scope > UINT32_MAX ||
        entry.stored_bytes > TTP_MAX_PAYLOAD_BYTES)
        return bad_index(c, "F-IDX-02", "an index entry is out of range", err);
    entry.kind = (uint16_t)kind;
    entry.scope = (uint32_t)scope;
    if (entry.kind == TTP_CHUNK_PARTITION)
        TTP_TRY(read_partition(c, state, &entry, err));
    *out = entry;
    return TTAPE_OK;
}

ttape_status ttp_index_segment_read(struct ttp_reader_cursor *c,
                                    const struct ttp_index_segment *before,
                                    struct ttp_index_segment *out, ttape_error *err)
{
    uint64_t step = ttp_read_varint(c), events = ttp_read_varint(c);
    uint64_t stream = before->stream == UINT32_MAX ? step : (uint64_t)before->stream + 1 + step;
    if (c->bad || step >= TTP_MAX_STREAMS || stream >= TTP_MAX_STREAMS || events == 0 ||
        events > TTP_MAX_PARTITION_EVENTS)
        return bad_index(c, "F-IDX-05", "an index entry of a segment is out of range", err);
    out->stream = (uint32_t)stream;
    out->event_count = (uint32_t)events;
    out->first_event = 0;
    return TTAPE_OK;
}

ttape_status ttp_index_segment_read_number(struct ttp_reader_cursor *c, uint64_t expected,
                                           struct ttp_index_segment *io, ttape_error *err)
{
    io->first_event = expected + (uint64_t)ttp_read_svarint(c);
    return c->bad ? bad_index(c, "F-IDX-05", "an index entry of a segment is out of range", err)
                  : TTAPE_OK;
}

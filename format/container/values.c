/* Values and depths. Columns, not rows: like stands beside like, and the compressor behind finds
 * it.
 *
 *   values   | event count | value count | byte count
 *            | event differences | values per event | types | numbers | bytes |
 *   depths   | change count | event difference, offset | event difference, offset | ... | */
#include "format/container/values.h"

#include <string.h>

#include "format/base/bytes.h"
#include "format/base/fail.h"
#include "format/base/limits.h"

#define TYPE_SIGNED 1u
#define TYPE_FLOAT  3u
#define TYPE_BYTES  4u
#define TYPE_STRING 5u
#define TYPE_NULL   6u

size_t ttp_values_bound(const struct ttp_values *in)
{
    return 3 * TTP_VARINT_MAX + (size_t)in->event_count * 10 +
           (size_t)in->value_count * (TTP_VARINT_MAX + 1) + in->bytes_count;
}

static bool has_bytes(const struct ttp_value *v)
{
    return v->type == TYPE_BYTES || v->type == TYPE_STRING;
}

static void write_number(struct ttp_writer_cursor *c, const struct ttp_value *v)
{
    switch (v->type) {
    case TYPE_SIGNED: ttp_write_svarint(c, (int64_t)v->number); break;
    case TYPE_FLOAT: /* mantissa bits are noise: a varint would cost ten bytes */
        ttp_write64(c, v->number);
        break;
    case TYPE_NULL: break;
    default: ttp_write_varint(c, v->number);
    }
}

size_t ttp_values_write(const struct ttp_values *in, uint8_t *out, size_t out_bytes)
{
    struct ttp_writer_cursor c = ttp_writer_cursor_init(out, out_bytes);
    uint32_t next = 0;
    ttp_write_varint(&c, in->event_count);
    ttp_write_varint(&c, in->value_count);
    ttp_write_varint(&c, in->bytes_count);
    for (uint32_t i = 0; i < in->event_count; i++) {
        ttp_write_varint(&c, in->event[i] - next);
        next = in->event[i] + 1;
    }
    for (uint32_t i = 0; i < in->event_count; i++)
        ttp_write_varint(&c, in->value_start[i + 1] - in->value_start[i]);
    for (uint32_t i = 0; i < in->value_count; i++)
        ttp_write8(&c, in->values[i].type);
    for (uint32_t i = 0; i < in->value_count; i++)
        write_number(&c, &in->values[i]);
    /* Values that arrived stream by stream in turns have their bytes in that order still. */
    for (uint32_t i = 0; i < in->value_count; i++)
        if (has_bytes(&in->values[i]) && in->values[i].number != 0)
            ttp_write_bytes(&c, in->bytes + in->values[i].bytes_start,
                            (size_t)in->values[i].number);
    return c.full ? 0 : ttp_written(&c);
}

static ttape_status bad_values(const struct ttp_reader_cursor *c, const char *rule,
                               const char *what, ttape_error *err)
{
    return ttp_fail(err, TTAPE_E_CORRUPT, rule, ttp_reader_offset(c), "%s", what);
}

static ttape_status read_counts(struct ttp_reader_cursor *c, struct ttp_values *out,
                                ttape_error *err)
{
    uint64_t events = ttp_read_varint(c), values = ttp_read_varint(c), bytes = ttp_read_varint(c);
    size_t left = ttp_reader_left(c);
    /* An event costs at least 2 bytes, a value 1: so the counts are bounded by the section's size.
     */
    if (c->bad || events > left / 2 || values > left || bytes > left || values < events)
        return bad_values(c, "F-VAL-02", "counts of the values section do not fit its size", err);
    out->event_count = (uint32_t)events;
    out->value_count = (uint32_t)values;
    out->bytes_count = (uint32_t)bytes;
    return TTAPE_OK;
}

ttape_status ttp_values_count(const uint8_t *data, size_t size_bytes, struct ttp_values *counts,
                              ttape_error *err)
{
    struct ttp_reader_cursor c = ttp_reader_cursor_init(data, size_bytes);
    return read_counts(&c, counts, err);
}

static ttape_status read_events(struct ttp_reader_cursor *c, uint32_t partition_events,
                                struct ttp_values *io, ttape_error *err)
{
    uint64_t next = 0, start = 0;
    for (uint32_t i = 0; i < io->event_count; i++) {
        uint64_t step = ttp_read_varint(c);
        if (c->bad || step >= partition_events - next)
            return bad_values(c, "F-VAL-03", "values belong to an event past the partition's end",
                              err);
        io->event[i] = (uint32_t)(next + step);
        next = io->event[i] + 1ull;
    }
    for (uint32_t i = 0; i < io->event_count; i++) {
        uint64_t count = ttp_read_varint(c);
        io->value_start[i] = (uint32_t)start;
        if (c->bad || count == 0 || count > io->value_count - start)
            return bad_values(c, "F-VAL-04", "values per event do not add up", err);
        start += count;
    }
    io->value_start[io->event_count] = (uint32_t)start;
    if (start != io->value_count)
        return bad_values(c, "F-VAL-04", "values per event do not add up", err);
    return TTAPE_OK;
}

static ttape_status read_number(struct ttp_reader_cursor *c, struct ttp_values *io,
                                struct ttp_value *v, uint32_t *bytes, ttape_error *err)
{
    v->bytes_start = 0;
    switch (v->type) {
    case TYPE_SIGNED: v->number = (uint64_t)ttp_read_svarint(c); break;
    case TYPE_FLOAT: v->number = ttp_read64(c); break;
    case TYPE_NULL: v->number = 0; break;
    default: v->number = ttp_read_varint(c);
    }
    if (has_bytes(v)) {
        if (v->number > io->bytes_count - *bytes)
            return bad_values(c, "F-VAL-06",
                              "a string value is longer than the bytes that are there", err);
        v->bytes_start = *bytes;
        *bytes += (uint32_t)v->number;
    }
    return TTAPE_OK;
}

ttape_status ttp_values_read(const uint8_t *data, size_t size_bytes, uint32_t partition_events,
                             struct ttp_values *io, ttape_error *err)
{
    struct ttp_reader_cursor c = ttp_reader_cursor_init(data, size_bytes);
    uint32_t bytes = 0;
    TTP_TRY(read_counts(&c, io, err));
    TTP_TRY(read_events(&c, partition_events, io, err));
    const uint8_t *types = ttp_read_bytes(&c, io->value_count);
    if (types == NULL)
        return bad_values(&c, "F-VAL-02", "the values section ends early", err);
    for (uint32_t i = 0; i < io->value_count; i++) {
        if (types[i] >= TTP_VALUE_TYPE_COUNT)
            return bad_values(&c, "F-VAL-05", "a value has an unknown type", err);
        io->values[i].type = types[i];
        TTP_TRY(read_number(&c, io, &io->values[i], &bytes, err));
    }
    const uint8_t *text = ttp_read_bytes(&c, io->bytes_count);
    if (c.bad || text == NULL || ttp_reader_left(&c) != 0 || bytes != io->bytes_count)
        return bad_values(&c, "F-VAL-07", "the values section does not end where its counts say",
                          err);
    if (io->bytes_count != 0)
        memcpy(io->bytes, text, io->bytes_count);
    return TTAPE_OK;
}

size_t ttp_depths_bound(uint32_t change_count)
{
    return TTP_VARINT_MAX + (size_t)change_count * 10;
}

size_t ttp_depths_write(const struct ttp_depth_change *changes, uint32_t change_count, uint8_t *out,
                        size_t out_bytes)
{
    struct ttp_writer_cursor c = ttp_writer_cursor_init(out, out_bytes);
    uint32_t next = 0;
    ttp_write_varint(&c, change_count);
    for (uint32_t i = 0; i < change_count; i++) {
        ttp_write_varint(&c, changes[i].event - next);
        ttp_write_svarint(&c, changes[i].offset);
        next = changes[i].event + 1;
    }
    return c.full ? 0 : ttp_written(&c);
}

ttape_status ttp_depths_count(const uint8_t *data, size_t size_bytes, uint32_t *change_count,
                              ttape_error *err)
{
    struct ttp_reader_cursor c = ttp_reader_cursor_init(data, size_bytes);
    uint64_t count = ttp_read_varint(&c);
    if (c.bad || count > ttp_reader_left(&c) / 2)
        return bad_values(&c, "F-DEP-02", "count of the depths section does not fit its size", err);
    *change_count = (uint32_t)count;
    return TTAPE_OK;
}

ttape_status ttp_depths_read(const uint8_t *data, size_t size_bytes, uint32_t partition_events,
                             struct ttp_depth_change *changes, uint32_t change_count,
                             ttape_error *err)
{
    struct ttp_reader_cursor c = ttp_reader_cursor_init(data, size_bytes);
    uint64_t next = 0;
    (void)ttp_read_varint(&c); /* the count, read by ttp_depths_count before */
    for (uint32_t i = 0; i < change_count; i++) {
        uint64_t step = ttp_read_varint(&c);
        int64_t offset = ttp_read_svarint(&c);
        if (c.bad || step >= partition_events - next)
            return bad_values(&c, "F-DEP-03",
                              "a depth belongs to an event past the partition's end", err);
        if (offset < -(int64_t)TTP_MAX_DEPTH || offset > (int64_t)TTP_MAX_DEPTH)
            return bad_values(&c, "F-DEP-04", "a depth offset is out of range", err);
        changes[i] = (struct ttp_depth_change){(uint32_t)(next + step), (int32_t)offset};
        next = changes[i].event + 1ull;
    }
    if (ttp_reader_left(&c) != 0)
        return bad_values(&c, "F-DEP-02", "the depths section does not end where its count says",
                          err);
    return TTAPE_OK;
}

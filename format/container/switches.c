/* Spans in columns, over all segments (F-SWI-01):
 *
 *   | spans + 1 of each segment, 0: not known | event differences | kinds | starts | lengths | */
#include "format/container/switches.h"

#include "format/base/bytes.h"
#include "format/base/fail.h"

#define SPAN_BYTES_MIN 4u

size_t ttp_switches_bound(const struct ttp_switches *in)
{
    return (size_t)in->segment_count * TTP_VARINT_MAX +
           (size_t)in->span_count * (3 * TTP_VARINT_MAX + 1);
}

size_t ttp_switches_write(const struct ttp_switches *in, const uint32_t *segment_start,
                          uint8_t *out, size_t out_bytes)
{
    struct ttp_writer_cursor c = ttp_writer_cursor_init(out, out_bytes);
    for (uint32_t s = 0; s < in->segment_count; s++)
        ttp_write_varint(
            &c, in->is_known[s] ? in->span_start[s + 1] - (uint64_t)in->span_start[s] + 1 : 0);
    for (uint32_t s = 0; s < in->segment_count; s++) {
        uint32_t before = segment_start[s];
        for (uint32_t i = in->span_start[s]; i < in->span_start[s + 1]; i++) {
            ttp_write_varint(&c, in->spans[i].event - before);
            before = in->spans[i].event;
        }
    }
    for (uint32_t i = 0; i < in->span_count; i++)
        ttp_write8(&c, in->spans[i].kind);
    for (uint32_t i = 0; i < in->span_count; i++)
        ttp_write_svarint(&c, in->spans[i].start_ns);
    for (uint32_t i = 0; i < in->span_count; i++)
        ttp_write_varint(&c, in->spans[i].length_ns);
    return c.full ? 0 : ttp_written(&c);
}

static ttape_status bad_switches(const struct ttp_reader_cursor *c, const char *rule,
                                 const char *what, ttape_error *err)
{
    return ttp_fail(err, TTAPE_E_CORRUPT, rule, ttp_reader_offset(c), "%s", what);
}

static ttape_status read_counts(struct ttp_reader_cursor *c, uint32_t segment_count,
                                struct ttp_switches *out, ttape_error *err)
{
    uint64_t total = 0;
    for (uint32_t s = 0; s < segment_count; s++) {
        uint64_t seen = ttp_read_varint(c);
        if (out->is_known != NULL) {
            out->is_known[s] = seen != 0;
            out->span_start[s] = (uint32_t)total;
        }
        total += seen - (seen != 0);
        if (c->bad || seen > ttp_reader_left(c) + 1 || total > ttp_reader_left(c))
            return bad_switches(c, "F-SWI-02", "counts of spans do not fit their section", err);
    }
    if (total > ttp_reader_left(c) / SPAN_BYTES_MIN)
        return bad_switches(c, "F-SWI-02", "counts of spans do not fit their section", err);
    if (out->is_known != NULL)
        out->span_start[segment_count] = (uint32_t)total;
    out->span_count = (uint32_t)total;
    return TTAPE_OK;
}

ttape_status ttp_switches_count(const uint8_t *data, size_t size_bytes, uint32_t segment_count,
                                uint32_t *span_count, ttape_error *err)
{
    struct ttp_reader_cursor c = ttp_reader_cursor_init(data, size_bytes);
    struct ttp_switches counts = {0};
    TTP_TRY(read_counts(&c, segment_count, &counts, err));
    *span_count = counts.span_count;
    return TTAPE_OK;
}

static ttape_status read_events(struct ttp_reader_cursor *c, const uint32_t *segment_start,
                                struct ttp_switches *io, ttape_error *err)
{
    for (uint32_t s = 0; s < io->segment_count; s++) {
        uint64_t event = segment_start[s];
        for (uint32_t i = io->span_start[s]; i < io->span_start[s + 1]; i++) {
            uint64_t step = ttp_read_varint(c);
            if (c->bad || step >= segment_start[s + 1] - event)
                return bad_switches(c, "F-SWI-03", "a span is past the events of its segment", err);
            event += step;
            io->spans[i].event = (uint32_t)event;
        }
    }
    return TTAPE_OK;
}

ttape_status ttp_switches_read(const uint8_t *data, size_t size_bytes,
                               const uint32_t *segment_start, struct ttp_switches *io,
                               ttape_error *err)
{
    struct ttp_reader_cursor c = ttp_reader_cursor_init(data, size_bytes);
    TTP_TRY(read_counts(&c, io->segment_count, io, err));
    TTP_TRY(read_events(&c, segment_start, io, err));
    for (uint32_t i = 0; i < io->span_count; i++) {
        uint8_t kind = ttp_read8(&c);
        io->spans[i].kind = kind < TTP_SPAN_UNKNOWN ? kind : TTP_SPAN_UNKNOWN;
    }
    for (uint32_t i = 0; i < io->span_count; i++) {
        io->spans[i].start_ns = ttp_read_svarint(&c);
        if (ttp_zigzag(io->spans[i].start_ns) >= 2 * TTP_SPAN_MAX_NS - 1)
            return bad_switches(&c, "F-SWI-04", "a span's start is out of range", err);
    }
    for (uint32_t i = 0; i < io->span_count; i++) {
        io->spans[i].length_ns = ttp_read_varint(&c);
        if (io->spans[i].length_ns >= TTP_SPAN_MAX_NS)
            return bad_switches(&c, "F-SWI-04", "a span's length is out of range", err);
    }
    if (c.bad || ttp_reader_left(&c) != 0)
        return bad_switches(&c, "F-SWI-02", "the spans do not end where their counts say", err);
    return TTAPE_OK;
}

struct ttp_switch_walk ttp_switch_walk_init(const struct ttp_switches *in, uint32_t segment)
{
    if (in->segment_count == 0 || in->is_known[segment] == 0)
        return (struct ttp_switch_walk){.is_known = false};
    return (struct ttp_switch_walk){in->spans + in->span_start[segment],
                                    in->spans + in->span_start[segment + 1], true};
}

/* What [from, to) and the range share. */
static uint64_t shared(int64_t from, int64_t to, int64_t range_from, int64_t range_to)
{
    from = from > range_from ? from : range_from;
    to = to < range_to ? to : range_to;
    return from < to ? (uint64_t)(to - from) : 0;
}

/* F-SWI-06 */
void ttp_interval_add(struct ttp_interval *i, uint8_t kind, int64_t start_ns, uint64_t length_ns)
{
    int64_t until = start_ns + (int64_t)length_ns;
    int64_t from = start_ns > i->done_ns ? start_ns : i->done_ns;
    int64_t to = until < i->length_ns ? until : i->length_ns;
    i->is_unknown |= kind == TTP_SPAN_UNKNOWN;
    if (from >= to)
        return;
    uint64_t *sum = kind == TTP_SPAN_PREEMPTED ? &i->off.preempted_ns
                    : kind == TTP_SPAN_BLOCKED ? &i->off.blocked_ns
                                               : &i->off.unknown_ns;
    *sum += shared(from, to, i->from_ns, i->to_ns);
    i->done_ns = to;
}

struct ttp_off_time ttp_interval_spent(const struct ttp_interval *i)
{
    if (!i->is_unknown)
        return i->off;
    return (struct ttp_off_time){
        .unknown_ns = i->length_ns > 0 ? shared(0, i->length_ns, i->from_ns, i->to_ns) : 0};
}

struct ttp_off_time ttp_switch_walk_take(struct ttp_switch_walk *w, uint32_t event,
                                         int64_t length_ns, int64_t from_ns, int64_t to_ns)
{
    struct ttp_interval i = {length_ns, from_ns, to_ns, .is_unknown = !w->is_known};
    for (; w->is_known && w->span != w->end && w->span->event <= event; w->span++)
        if (w->span->event == event)
            ttp_interval_add(&i, w->span->kind, w->span->start_ns, w->span->length_ns);
    return ttp_interval_spent(&i);
}

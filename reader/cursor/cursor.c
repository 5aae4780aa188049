/* A cursor over one stream is a position: segment and event in it. Single events are handed out
 * of a window of at most 1,024 that starts at a checkpoint, so that both directions cost the
 * same. */
#include "reader/cursor/cursor.h"

#include <string.h>

#include "format/base/fail.h"
#include "format/base/sized.h"
#include "reader/base/choice.h"
#include "reader/cache/prefetch.h"

static const struct ttp_segment_entry *entry_of(const ttape_cursor *c, uint32_t ordinal)
{
    return ttp_stream_segment(c->lease.reader, c->stream, ordinal);
}

static ttape_status open_cursor(ttape_cursor **out, struct ttp_lease lease, uint32_t stream,
                                ttape_error *err)
{
    const ttape_reader *r = lease.reader;
    *out = NULL;
    if (stream != TTAPE_ALL_STREAMS && stream >= r->indexed_streams)
        return ttp_no_stream(err, stream);
    ttape_cursor *c = ttp_memory_take(&lease.memory, 1, sizeof *c, err);
    if (c == NULL)
        return lease.memory.status;
    *c = (ttape_cursor){.lease = lease,
                        .stream = stream,
                        .window_ordinal = UINT32_MAX,
                        .walker_ordinal = UINT32_MAX,
                        .sought_ordinal = UINT32_MAX};
    c->frames.memory = &c->lease.memory;
    if (stream == TTAPE_ALL_STREAMS) {
        ttape_status status = ttp_merge_open(&c->merge, &c->lease, err);
        if (status != TTAPE_OK) {
            ttape_cursor_close(c);
            return status;
        }
    } else {
        c->segment_count = r->stream_first[stream + 1] - r->stream_first[stream];
    }
    *out = c;
    return TTAPE_OK;
}

ttape_status ttape_cursor_open(ttape_cursor **out, ttape_reader *r, uint32_t stream,
                               ttape_error *err)
{
    if (out == NULL)
        return ttp_refuse(err, "no place for a cursor");
    *out = NULL;
    if (r == NULL)
        return ttp_refuse(err, "no reader");
    return open_cursor(out, ttp_lease_of(r), stream, err);
}

ttape_status ttp_cursor_open_lent(ttape_cursor **out, struct ttp_trace_decoder *d, uint32_t stream,
                                  ttape_error *err)
{
    return open_cursor(out, ttp_lease_lent(d), stream, err);
}

void ttape_cursor_close(ttape_cursor *c)
{
    if (c == NULL)
        return;
    ttp_merge_close(c->merge);
    struct ttp_memory m = c->lease.memory;
    if (c->window != NULL)
        ttp_memory_give(&m, c->window, TTP_CHECKPOINT_EVENTS, sizeof *c->window);
    ttp_memory_give(&m, c->frames.items, c->frames.capacity, sizeof *c->frames.items);
    ttp_memory_give(&m, c->values.values, c->values.value_capacity, sizeof *c->values.values);
    ttp_memory_give(&m, c->values.bytes, c->values.byte_capacity, 1);
    ttp_memory_give(&m, c, 1, sizeof *c);
}

static ttape_status single_only(const ttape_cursor *c, ttape_error *err)
{
    if (c->merge != NULL)
        return ttp_fail(err, TTAPE_E_STATE, "", TTAPE_ERROR_NO_OFFSET,
                        "a cursor over all streams cannot do this");
    return TTAPE_OK;
}

ttape_status ttp_report_damage(struct ttp_trace_decoder *d, uint32_t scope, uint32_t *next,
                               uint32_t end, ttape_error *err)
{
    struct ttp_loaded *p;
    if (d->reader->damaged_count == 0)
        return TTAPE_OK;
    while (*next < end) {
        uint32_t partition = (*next)++;
        if (!d->reader->partitions[partition].damaged ||
            (scope != TTAPE_NONE && d->reader->partitions[partition].scope != scope))
            continue;
        ttape_status status = ttp_loaded_get(d, partition, TTP_STAGE_LIGHT, &p, err);
        if (status != TTAPE_OK)
            return status;
    }
    return TTAPE_OK;
}

/* Partitions that a scan could not read may hold events of this stream: where numbers are missing
 * between two segments, or behind the last, the failure is due here. */
static ttape_status report_between(ttape_cursor *c, ttape_error *err)
{
    const ttape_reader *r = c->lease.reader;
    uint32_t end = r->partition_count;
    uint64_t number = 0;
    if (r->damaged_count == 0)
        return TTAPE_OK;
    if (c->ordinal > 0) {
        const struct ttp_segment_entry *before = entry_of(c, c->ordinal - 1);
        number = before->first_event + before->event_count;
        if (c->damage_next <= before->partition)
            c->damage_next = before->partition + 1;
    }
    if (c->ordinal < c->segment_count) {
        end = entry_of(c, c->ordinal)->partition;
        if (entry_of(c, c->ordinal)->first_event <= number)
            return TTAPE_OK;
    }
    TTP_TRY(ttp_lease_begin(&c->lease, err));
    ttape_status status = ttp_report_damage(
        c->lease.decoder, r->definitions.streams[c->stream].scope, &c->damage_next, end, err);
    ttp_lease_end(&c->lease);
    return status;
}

/* Reading on decodes whole partitions; where a seek led, first only what is looked at. */
static enum ttp_stage stage_of(const ttape_cursor *c)
{
    return c->ordinal == c->sought_ordinal || c->is_untimed ? TTP_STAGE_ORDER : TTP_STAGE_EVENTS;
}

/* A cursor that steps from one segment to the next will step on: the next ones are fetched. */
static void prefetch(ttape_cursor *c)
{
    uint32_t next[TTP_PREFETCH_MOST], count = 0;
    struct ttp_trace_decoder *d;
    bool has_jobs = c->lease.pool == NULL ? c->lease.decoder->jobs > 1
                                          : c->lease.jobs > 1 || c->lease.reader->jobs > 1;
    if (c->ordinal >= c->segment_count || !has_jobs)
        return;
    if (ttp_lease_begin(&c->lease, NULL) != TTAPE_OK)
        return;
    d = c->lease.decoder;
    while (count < ttp_prefetch_depth(d) && c->segment_count - c->ordinal > count + 1) {
        next[count] = entry_of(c, c->ordinal + 1 + count)->partition;
        count++;
    }
    ttp_prefetch_want(d, entry_of(c, c->ordinal)->partition, next, count, stage_of(c));
    ttp_lease_end(&c->lease);
}

/* Steps over the end of a segment. TTAPE_OK: the next event is at (ordinal, position). */
static ttape_status forward_ready(ttape_cursor *c, ttape_error *err)
{
    if (c->ordinal < c->segment_count && c->position >= entry_of(c, c->ordinal)->event_count) {
        c->ordinal++;
        c->position = 0;
        prefetch(c);
    }
    if (c->position == 0)
        TTP_TRY(report_between(c, err));
    return c->ordinal < c->segment_count ? TTAPE_OK : TTAPE_END;
}

static ttape_status decode_window(ttape_cursor *c, uint32_t position, ttape_error *err)
{
    struct ttp_trace_decoder *d = c->lease.decoder;
    struct ttp_loaded *p;
    const struct ttp_segment_entry *seg = entry_of(c, c->ordinal);
    uint32_t segment = ttp_segment_number(d->reader, seg);
    TTP_TRY(ttp_loaded_get(d, seg->partition, stage_of(c), &p, err));
    uint32_t start = p->segment_start[segment], end = p->segment_start[segment + 1];
    uint32_t block = (start + position) / TTP_CHECKPOINT_EVENTS * TTP_CHECKPOINT_EVENTS;
    uint32_t first = block > start ? block : start;
    uint32_t last = end - block < TTP_CHECKPOINT_EVENTS ? end : block + TTP_CHECKPOINT_EVENTS;
    const struct ttp_range range = {first, last, last, false};
    TTP_TRY(ttp_loaded_reach(d, seg->partition, &range, &p, err));
    struct ttp_walker w = ttp_walker_at(p, segment, first);
    ttp_walker_events(p, &w, last, c->window);
    c->window_ordinal = c->ordinal;
    c->window_first = first - start;
    c->window_count = last - first;
    return TTAPE_OK;
}

static ttape_status fill_window(ttape_cursor *c, uint32_t position, ttape_error *err)
{
    if (c->window_ordinal == c->ordinal && position >= c->window_first &&
        position - c->window_first < c->window_count)
        return TTAPE_OK;
    c->window_ordinal = UINT32_MAX;
    if (c->window == NULL) {
        struct ttp_memory *m = &c->lease.memory;
        c->window = ttp_memory_take(m, TTP_CHECKPOINT_EVENTS, sizeof *c->window, err);
        if (c->window == NULL)
            return m->status;
    }
    TTP_TRY(ttp_lease_begin(&c->lease, err));
    ttape_status status = decode_window(c, position, err);
    ttp_lease_end(&c->lease);
    return status;
}

ttape_status ttp_item_set_values(struct ttp_memory *memory, struct ttp_item_values *v,
                                 const struct ttp_loaded *p, uint32_t event, ttape_event_item *out,
                                 ttape_error *err)
{
    uint32_t first, count;
    uint64_t bytes = 0, at = 0;
    ttp_loaded_values(p, event, &first, &count);
    if (count == 0)
        return TTAPE_OK;
    TTP_TRY(
        ttp_memory_reserve(memory, &v->values, &v->value_capacity, count, sizeof *v->values, err));
    uint32_t shown = 0;
    for (uint32_t i = 0; i < count; i++) {
        shown += ttp_loaded_value(p, first + i, &v->values[shown]);
        bytes += shown == 0 ? 0 : v->values[shown - 1].bytes.size_bytes;
    }
    TTP_TRY(ttp_memory_reserve(memory, &v->bytes, &v->byte_capacity, bytes, 1, err));
    for (uint32_t i = 0; i < shown; i++) {
        if (v->values[i].bytes.size_bytes == 0)
            continue;
        memcpy(v->bytes + at, v->values[i].bytes.data, v->values[i].bytes.size_bytes);
        v->values[i].bytes.data = (const char *)v->bytes + at;
        at += v->values[i].bytes.size_bytes;
    }
    out->values = v->values;
    out->value_count = shown;
    return TTAPE_OK;
}

static ttape_status copy_values(ttape_cursor *c, const struct ttp_segment_entry *seg,
                                uint32_t position, ttape_event_item *out, ttape_error *err)
{
    struct ttp_trace_decoder *d = c->lease.decoder;
    struct ttp_loaded *p;
    const struct ttp_range values = {.values = true};
    TTP_TRY(ttp_loaded_reach(d, seg->partition, &values, &p, err));
    uint32_t segment = ttp_segment_number(d->reader, seg);
    return ttp_item_set_values(&c->lease.memory, &c->values, p,
                               p->segment_start[segment] + position, out, err);
}

static ttape_status get_values(ttape_cursor *c, const struct ttp_segment_entry *seg,
                               uint32_t position, ttape_event_item *out, ttape_error *err)
{
    if (c->lease.reader->partitions[seg->partition].values_bytes == 0)
        return TTAPE_OK;
    TTP_TRY(ttp_lease_begin(&c->lease, err));
    ttape_status status = copy_values(c, seg, position, out, err);
    ttp_lease_end(&c->lease);
    return status;
}

static ttape_status make_item(ttape_cursor *c, uint32_t position, ttape_event_item *out,
                              ttape_error *err)
{
    const struct ttp_segment_entry *seg = entry_of(c, c->ordinal);
    *out = (ttape_event_item){.event = c->window[position - c->window_first],
                              .stream = c->stream,
                              .number = seg->first_event + position};
    return get_values(c, seg, position, out, err);
}

ttape_status ttape_cursor_next(ttape_cursor *c, ttape_event_item *out, ttape_error *err)
{
    if (c->merge != NULL)
        return ttp_merge_next(c->merge, &c->values, out, err);
    TTP_TRY(forward_ready(c, err));
    ttape_status status = fill_window(c, c->position, err);
    if (status == TTAPE_OK)
        status = make_item(c, c->position, out, err);
    if (status != TTAPE_OK) { /* go on behind the damage */
        c->ordinal++;
        c->position = 0;
        return status;
    }
    c->position++;
    return TTAPE_OK;
}

ttape_status ttape_cursor_previous(ttape_cursor *c, ttape_event_item *out, ttape_error *err)
{
    TTP_TRY(single_only(c, err));
    if (c->ordinal >= c->segment_count || c->position == 0) {
        if (c->ordinal == 0)
            return TTAPE_END;
        c->ordinal--;
        c->position = entry_of(c, c->ordinal)->event_count;
    }
    ttape_status status = fill_window(c, c->position - 1, err);
    if (status == TTAPE_OK)
        status = make_item(c, c->position - 1, out, err);
    if (status != TTAPE_OK) {
        c->position = 0;
        return status;
    }
    c->position--;
    return TTAPE_OK;
}

/* What a batch is wanted as: one of the two. */
struct batch_sink {
    ttape_event *events;
    const ttape_event_columns *columns;
    bool values; /* are wanted afterwards */
};

/* The next `got` events of the segment. */
static ttape_status decode_batch(ttape_cursor *c, const struct batch_sink *to, uint32_t got,
                                 ttape_error *err)
{
    struct ttp_trace_decoder *d = c->lease.decoder;
    struct ttp_loaded *p;
    const struct ttp_segment_entry *seg = entry_of(c, c->ordinal);
    uint32_t segment = ttp_segment_number(d->reader, seg);
    TTP_TRY(ttp_loaded_get(d, seg->partition, stage_of(c), &p, err));
    uint32_t start = p->segment_start[segment], first = start + c->position;
    bool wanted = to->values && d->reader->partitions[seg->partition].values_bytes != 0;
    const struct ttp_range range = {first, c->is_untimed ? first : first + got, first + got,
                                    wanted};
    TTP_TRY(ttp_loaded_reach(d, seg->partition, &range, &p, err));
    if (c->walker_ordinal != c->ordinal || c->walker_position != c->position)
        c->walker = c->is_untimed ? ttp_walker_untimed(p, segment, first)
                                  : ttp_walker_at(p, segment, first);
    if (to->columns != NULL)
        ttp_walker_columns(p, &c->walker, first + got, to->columns, seg->first_event + c->position);
    else
        ttp_walker_events(p, &c->walker, first + got, to->events);
    return TTAPE_OK;
}

static ttape_status read_batch(ttape_cursor *c, const struct batch_sink *to, size_t capacity,
                               size_t *count, ttape_error *err)
{
    *count = 0;
    TTP_TRY(single_only(c, err));
    if (capacity == 0)
        return TTAPE_OK;
    TTP_TRY(forward_ready(c, err));
    uint32_t left = entry_of(c, c->ordinal)->event_count - c->position;
    uint32_t got = capacity < left ? (uint32_t)capacity : left;
    ttape_status status = ttp_lease_begin(&c->lease, err);
    if (status == TTAPE_OK) {
        status = decode_batch(c, to, got, err);
        ttp_lease_end(&c->lease);
    }
    if (status != TTAPE_OK) {
        c->ordinal++;
        c->position = 0;
        return status;
    }
    c->position += got;
    c->walker_ordinal = c->ordinal;
    c->walker_position = c->position;
    *count = got;
    return TTAPE_OK;
}

ttape_status ttp_cursor_next_batch(ttape_cursor *c, bool values, ttape_event *out, size_t capacity,
                                   size_t *count, ttape_error *err)
{
    const struct batch_sink to = {.events = out, .values = values};
    return read_batch(c, &to, capacity, count, err);
}

ttape_status ttape_cursor_next_columns(ttape_cursor *c, const ttape_event_columns *out,
                                       size_t capacity, size_t *count, ttape_error *err)
{
    ttape_event_columns columns = {0};
    const struct batch_sink to = {.columns = &columns};
    *count = 0;
    if (out->size < sizeof out->size)
        return ttp_refuse(err, "columns without their size");
    TTP_TRY(ttp_take_sized(&columns, sizeof columns, out, "column", err));
    return read_batch(c, &to, capacity, count, err);
}

ttape_status ttape_cursor_next_events(ttape_cursor *c, ttape_event *out, size_t capacity,
                                      size_t *count, ttape_error *err)
{
    return ttp_cursor_next_batch(c, false, out, capacity, count, err);
}

ttape_status ttp_cursor_batch_values(ttape_cursor *c, uint32_t back, ttape_event_item *out,
                                     ttape_error *err)
{
    const struct ttp_segment_entry *seg = entry_of(c, c->walker_ordinal);
    return get_values(c, seg, c->walker_position - back, out, err);
}

ttape_status ttp_cursor_position(ttape_cursor *c, uint64_t *number, ttape_error *err)
{
    TTP_TRY(forward_ready(c, err));
    *number = entry_of(c, c->ordinal)->first_event + c->position;
    return TTAPE_OK;
}

bool ttp_cursor_is_behind(const ttape_cursor *c, uint64_t time_ns)
{
    if (c->position != 0 || c->ordinal >= c->segment_count)
        return false;
    const struct ttp_partition_entry *entry =
        &c->lease.reader->partitions[entry_of(c, c->ordinal)->partition];
    return !entry->damaged && entry->resolution_ns != 0 &&
           ttp_time_of(entry->first_tick, entry->origin_ns, entry->resolution_ns) >= time_ns;
}

void ttp_cursor_skip_segment(ttape_cursor *c)
{
    c->ordinal++;
    c->position = 0;
}

static ttape_status seek_time(ttape_cursor *c, uint64_t time_ns, ttape_error *err)
{
    struct ttp_trace_decoder *d = c->lease.decoder;
    const ttape_reader *r = d->reader;
    c->position = 0;
    for (c->ordinal = 0; c->ordinal < c->segment_count; c->ordinal++) {
        const struct ttp_segment_entry *seg = entry_of(c, c->ordinal);
        struct ttp_search search = {seg->partition, ttp_segment_number(r, seg), 0, time_ns, false};
        if (ttp_partition_is_before(&r->partitions[seg->partition], time_ns))
            continue;
        ttape_status status = ttp_search_time(d, &search, err);
        if (status != TTAPE_OK) {
            c->ordinal++;
            return status;
        }
        c->damage_next = seg->partition;
        if (search.position < seg->event_count) {
            c->position = search.position;
            c->sought_ordinal = c->ordinal;
            return TTAPE_OK;
        }
    }
    return TTAPE_OK;
}

ttape_status ttape_cursor_seek_time(ttape_cursor *c, uint64_t time_ns, ttape_error *err)
{
    if (c->merge != NULL)
        return ttp_merge_seek(c->merge, time_ns, err);
    TTP_TRY(ttp_lease_begin(&c->lease, err));
    ttape_status status = seek_time(c, time_ns, err);
    ttp_lease_end(&c->lease);
    return status;
}

ttape_status ttape_cursor_seek_event(ttape_cursor *c, uint64_t number, ttape_error *err)
{
    TTP_TRY(single_only(c, err));
    c->ordinal = ttp_segments_up_to(c->lease.reader, c->stream, number);
    c->position = 0;
    c->sought_ordinal = UINT32_MAX;
    if (c->ordinal > 0) {
        const struct ttp_segment_entry *seg = entry_of(c, c->ordinal - 1);
        c->damage_next = seg->partition;
        if (number - seg->first_event < seg->event_count) {
            c->sought_ordinal = --c->ordinal;
            c->position = (uint32_t)(number - seg->first_event);
        }
    }
    return TTAPE_OK;
}

/* Of a stream that has segments. */
static ttape_status find_edge(ttape_cursor *c, bool without_self, ttape_edge *out, ttape_error *err)
{
    struct ttp_trace_decoder *d = c->lease.decoder;
    struct ttp_loaded *p;
    bool at_end = c->ordinal == c->segment_count;
    const struct ttp_segment_entry *seg = entry_of(c, at_end ? c->ordinal - 1 : c->ordinal);
    uint32_t position = at_end ? seg->event_count : c->position;
    TTP_TRY(ttp_loaded_get(d, seg->partition, TTP_STAGE_LIGHT, &p, err));
    uint32_t segment = ttp_segment_number(d->reader, seg), start = p->segment_start[segment],
             event = start + position;
    const struct ttp_range range = {without_self ? event : start, event + 1, event + 1, false};
    if (position != 0 && position != seg->event_count)
        TTP_TRY(ttp_loaded_reach(d, seg->partition, &range, &p, err));
    return ttp_loaded_edge(d, p, segment, event, &c->frames, without_self, out, err);
}

static ttape_status get_edge(ttape_cursor *c, bool without_self, ttape_edge *out, ttape_error *err)
{
    TTP_TRY(single_only(c, err));
    *out = (ttape_edge){0};
    if (c->segment_count == 0)
        return TTAPE_OK;
    TTP_TRY(ttp_lease_begin(&c->lease, err));
    ttape_status status = find_edge(c, without_self, out, err);
    ttp_lease_end(&c->lease);
    return status;
}

ttape_status ttape_cursor_get_edge(ttape_cursor *c, ttape_edge *out, ttape_error *err)
{
    return get_edge(c, false, out, err);
}

ttape_status ttape_cursor_get_open_frames(ttape_cursor *c, ttape_edge *out, ttape_error *err)
{
    return get_edge(c, true, out, err);
}

/* The index knows streams and events of all segments: the rest is in the overview. */
#include "reader/levels/outline_reader.h"

#include "base/sort.h"
#include "format/base/fail.h"

static ttape_status refuse_outline(const ttape_reader *r, const char *what, ttape_error *err)
{
    (void)r;
    return ttp_fail(err, TTAPE_E_CORRUPT, "F-OVR-09", 0, "%s", what);
}

static void fill_segments(const ttape_reader *r, const struct ttp_read_overview *o,
                          struct ttp_read_outlines *out)
{
    struct ttp_segment *at = out->segments;
    for (uint32_t i = 0; i < o->head.partition_count; i++) {
        const struct ttp_partition_entry *entry = &r->partitions[o->partitions[i]];
        out->each[i] = (struct ttp_partition_outline){.first_tick = entry->first_tick};
        out->each[i].segments.segments = at;
        out->each[i].segments.segment_count = entry->segment_count;
        for (uint32_t s = 0; s < entry->segment_count; s++) {
            const struct ttp_segment_entry *from = &r->segments[entry->first_segment + s];
            *at++ = (struct ttp_segment){.stream = from->stream,
                                         .event_count = from->event_count,
                                         .first_event = from->first_event};
        }
    }
}

static bool is_before(const void *context, uint32_t a, uint32_t b)
{
    const struct ttp_segment *segments = context;
    uint32_t x = segments[a].stream, y = segments[b].stream;
    return x != y ? x < y : a < b;
}

/* `order`: of all segments, by stream. */
static void fill_before(struct ttp_read_outlines *out, uint32_t *order)
{
    uint32_t one = 0, first = 0;
    for (uint32_t i = 0; i < out->all.segment_count; i++)
        order[i] = i;
    ttp_sort(order, out->all.segment_count, is_before, out->segments);
    for (uint32_t i = 0; i < out->all.segment_count; i++) {
        bool follows =
            i != 0 && out->segments[order[i]].stream == out->segments[order[i - 1]].stream;
        out->before[order[i]] =
            (struct ttp_outline_origin){follows ? order[i - 1] : TTP_OUTLINE_NONE, 0};
    }
    /* numbers of segments are known: now in which outline they are, from the last one on */
    for (uint32_t i = 0; i < out->all.segment_count; i++) {
        while (i - first >= out->each[one].segments.segment_count)
            first += out->each[one++].segments.segment_count;
        order[i] = one << 24 | (i - first); /* segments are less than 2^17 */
    }
    for (uint32_t i = 0; i < out->all.segment_count; i++) {
        struct ttp_outline_origin *origin = &out->before[i];
        if (origin->outline != TTP_OUTLINE_NONE)
            *origin = (struct ttp_outline_origin){order[origin->outline] >> 24,
                                                  order[origin->outline] & 0xffffff};
    }
}

ttape_status ttp_outlines_prepare(struct ttp_trace_decoder *d, const struct ttp_read_overview *o,
                                  struct ttp_read_outlines *out, ttape_error *err)
{
    struct ttp_memory *m = &d->memory;
    uint64_t count = 0;
    *out = (struct ttp_read_outlines){0};
    for (uint32_t i = 0; i < o->head.partition_count; i++)
        count += d->reader->partitions[o->partitions[i]].segment_count;
    if (count > TTP_OUTLINE_SEGMENTS)
        return refuse_outline(d->reader, "outlines of too many segments", err);
    out->segments = ttp_memory_take(m, count, sizeof *out->segments, err);
    out->before = ttp_memory_take(m, count, sizeof *out->before, err);
    uint32_t *order = ttp_memory_take(m, count, sizeof *order, err);
    out->all = (struct ttp_outlines){.each = out->each,
                                     .before = out->before,
                                     .segments = out->segments,
                                     .partition_count = o->head.partition_count,
                                     .segment_count = (uint32_t)count,
                                     .timed = o->head.resolution_ns != 0};
    ttape_status status = TTAPE_OK;
    if (out->segments == NULL || out->before == NULL || order == NULL) {
        status = m->status;
        ttp_outlines_drop(d, out);
    } else {
        fill_segments(d->reader, o, out);
        fill_before(out, order);
    }
    ttp_memory_give(m, order, count, sizeof *order);
    return status;
}

static ttape_status read_all(struct ttp_trace_decoder *d, const struct ttp_read_overview *o,
                             struct ttp_outlines *all, ttape_error *err)
{
    struct ttp_memory *m = &d->memory;
    TTP_TRY(ttp_outlines_count(&o->head, all, err));
    all->start_frames = ttp_memory_take(m, all->start_frame_count, sizeof *all->start_frames, err);
    if (all->start_frames == NULL)
        return m->status;
    all->end_frames = ttp_memory_take(m, all->end_frame_count, sizeof *all->end_frames, err);
    if (all->end_frames == NULL)
        return m->status;
    all->rows = ttp_memory_take(m, all->row_count, sizeof *all->rows, err);
    if (all->rows == NULL)
        return m->status;
    return ttp_outlines_read(&o->head, all, err);
}

ttape_status ttp_outlines_load(struct ttp_trace_decoder *d, const struct ttp_read_overview *o,
                               struct ttp_read_outlines *out, ttape_error *err)
{
    *out = (struct ttp_read_outlines){0};
    if (o->head.fields[TTP_OVERVIEW_OUTLINES].data == NULL)
        return TTAPE_E_NOT_FOUND;
    TTP_TRY(ttp_outlines_prepare(d, o, out, err));
    ttape_status status = read_all(d, o, &out->all, err);
    if (status != TTAPE_OK)
        ttp_outlines_drop(d, out);
    return status;
}

void ttp_outlines_drop(struct ttp_trace_decoder *d, struct ttp_read_outlines *outlines)
{
    struct ttp_memory *m = &d->memory;
    struct ttp_outlines *all = &outlines->all;
    ttp_memory_give(m, outlines->segments, all->segment_count, sizeof *outlines->segments);
    ttp_memory_give(m, outlines->before, all->segment_count, sizeof *outlines->before);
    ttp_memory_give(m, all->start_frames, all->start_frame_count, sizeof *all->start_frames);
    ttp_memory_give(m, all->end_frames, all->end_frame_count, sizeof *all->end_frames);
    ttp_memory_give(m, all->rows, all->row_count, sizeof *all->rows);
    *outlines = (struct ttp_read_outlines){0};
}

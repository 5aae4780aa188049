/* Outlines have one encoding: what partitions say is written as a writer does it, and the bytes are
 * compared. */
#include "answers/check/outline_sums.h"

#include <string.h>

#include "format/base/fail.h"

static ttape_status reserve(struct ttp_outline_sums *s, struct ttp_trace_decoder *d,
                            const struct ttp_loaded *p, uint32_t row_count, ttape_error *err)
{
    struct ttp_memory *m = &d->memory;
    const struct ttp_segments *from = &p->segments;
    TTP_TRY(ttp_memory_reserve(m, &s->segments, &s->segment_capacity,
                               (uint64_t)s->segment_count + from->segment_count,
                               sizeof *s->segments, err));
    TTP_TRY(ttp_memory_reserve(m, &s->start_frames, &s->start_frame_capacity,
                               (uint64_t)s->start_frame_count + from->start_frame_count,
                               sizeof *s->start_frames, err));
    TTP_TRY(ttp_memory_reserve(m, &s->end_frames, &s->end_frame_capacity,
                               (uint64_t)s->end_frame_count + from->end_frame_count,
                               sizeof *s->end_frames, err));
    return ttp_memory_reserve(m, &s->rows, &s->row_capacity, (uint64_t)s->row_count + row_count,
                              sizeof *s->rows, err);
}

static ttape_status copy_sums(struct ttp_outline_sums *s, struct ttp_trace_decoder *d,
                              const struct ttp_loaded *p, const struct ttp_measuring *m,
                              ttape_error *err)
{
    struct ttp_partition_outline *one = &s->each[s->partition_count];
    const struct ttp_segments *from = &p->segments;
    uint8_t *marks = ttp_memory_take(&d->memory, m->row_count, 1, err);
    if (marks == NULL)
        return d->memory.status;
    *one = (struct ttp_partition_outline){.segments = *from,
                                          .rows = s->rows + s->row_count,
                                          .first_tick = p->head.first_tick,
                                          .has_wide = p->head.wide_count != 0};
    s->is_too_much =
        !ttp_outline_rows(one, m->rows, m->row_count, p->head.resolution_ns != 0, marks);
    ttp_memory_give(&d->memory, marks, m->row_count, 1);
    memcpy(s->segments + s->segment_count, from->segments,
           from->segment_count * sizeof *s->segments);
    if (from->start_frame_count != 0)
        memcpy(s->start_frames + s->start_frame_count, from->start_frames,
               from->start_frame_count * sizeof *s->start_frames);
    if (from->end_frame_count != 0)
        memcpy(s->end_frames + s->end_frame_count, from->end_frames,
               from->end_frame_count * sizeof *s->end_frames);
    s->segment_count += from->segment_count;
    s->start_frame_count += from->start_frame_count;
    s->end_frame_count += from->end_frame_count;
    s->row_count += one->row_count;
    s->is_too_much = s->is_too_much || s->row_count > TTP_OUTLINE_ITEMS;
    s->partition_count++;
    return TTAPE_OK;
}

ttape_status ttp_outline_sums_add(struct ttp_outline_sums *s, struct ttp_trace_decoder *d,
                                  const struct ttp_loaded *p, const struct ttp_measuring *m,
                                  ttape_error *err)
{
    const struct ttp_segments *from = &p->segments;
    if ((uint64_t)s->segment_count + from->segment_count > TTP_OUTLINE_SEGMENTS ||
        (uint64_t)s->start_frame_count + from->start_frame_count > TTP_OUTLINE_ITEMS ||
        (uint64_t)s->end_frame_count + from->end_frame_count > TTP_OUTLINE_ITEMS)
        s->is_too_much = true;
    if (s->is_too_much)
        return TTAPE_OK;
    TTP_TRY(reserve(s, d, p, m->row_count, err));
    return copy_sums(s, d, p, m, err);
}

/* ---- comparing ---- */

/* `to` knows streams, and where they were before. */
static void arrange(struct ttp_outline_sums *s, struct ttp_read_outlines *to)
{
    uint32_t starts = 0, ends = 0, rows = 0, at = 0;
    for (uint32_t i = 0; i < to->all.partition_count; i++) {
        struct ttp_partition_outline *one = &to->each[i];
        struct ttp_segments segments = s->each[i].segments;
        segments.segments = one->segments.segments;
        segments.start_frames = s->start_frames + starts;
        segments.end_frames = s->end_frames + ends;
        for (uint32_t k = 0; k < segments.segment_count; k++, at++) {
            uint32_t stream = segments.segments[k].stream;
            segments.segments[k] = s->segments[at];
            segments.segments[k].stream = stream;
        }
        *one = s->each[i];
        one->segments = segments;
        one->rows = s->rows + rows;
        starts += segments.start_frame_count;
        ends += segments.end_frame_count;
        rows += one->row_count;
    }
    to->all.start_frame_count = starts;
    to->all.end_frame_count = ends;
    to->all.row_count = rows;
}

static bool is_same(const struct ttp_outlines *all, const uint8_t *data, size_t size_bytes,
                    uint8_t *room, size_t room_bytes)
{
    return ttp_outlines_write(all, room, room_bytes) == size_bytes &&
           memcmp(room, data, size_bytes) == 0;
}

ttape_status ttp_outline_sums_compare(struct ttp_outline_sums *s, struct ttp_trace_decoder *d,
                                      const struct ttp_read_overview *o, ttape_error *err)
{
    const uint8_t *data = o->head.fields[TTP_OVERVIEW_OUTLINES].data;
    size_t size = o->head.fields[TTP_OVERVIEW_OUTLINES].size_bytes;
    struct ttp_read_outlines outlines;
    if (data == NULL)
        return TTAPE_OK;
    if (s->is_too_much || s->partition_count != o->head.partition_count)
        return ttp_fail(err, TTAPE_E_CORRUPT, "F-OVR-09", 0, "overview: outlines of too much");
    TTP_TRY(ttp_outlines_load(d, o, &outlines, err)); /* says what is wrong with bytes */
    ttp_outlines_drop(d, &outlines);
    TTP_TRY(ttp_outlines_prepare(d, o, &outlines, err));
    uint8_t *room = ttp_memory_take(&d->memory, size + 16, 1, err);
    ttape_status status = room == NULL ? d->memory.status : TTAPE_OK;
    if (status == TTAPE_OK) {
        arrange(s, &outlines);
        if (!is_same(&outlines.all, data, size, room, size + 16))
            status = ttp_fail(err, TTAPE_E_CORRUPT, "F-OVR-10", 0, "overview: wrong outlines");
        /* the arrays of frames and rows are not its own */
        outlines.all.start_frames = outlines.all.end_frames = NULL;
        outlines.all.rows = NULL;
    }
    ttp_memory_give(&d->memory, room, size + 16, 1);
    ttp_outlines_drop(d, &outlines);
    return status;
}

void ttp_outline_sums_clear(struct ttp_outline_sums *s)
{
    s->segment_count = s->start_frame_count = s->end_frame_count = s->row_count = 0;
    s->partition_count = 0;
    s->is_too_much = false;
}

void ttp_outline_sums_close(struct ttp_outline_sums *s, struct ttp_trace_decoder *d)
{
    struct ttp_memory *m = &d->memory;
    ttp_memory_give(m, s->segments, s->segment_capacity, sizeof *s->segments);
    ttp_memory_give(m, s->start_frames, s->start_frame_capacity, sizeof *s->start_frames);
    ttp_memory_give(m, s->end_frames, s->end_frame_capacity, sizeof *s->end_frames);
    ttp_memory_give(m, s->rows, s->row_capacity, sizeof *s->rows);
    *s = (struct ttp_outline_sums){0};
}

/* Partitions are encoded after their group's overview is made, so what it says of them is copied
 * when they are sealed. */
#include "writer/encode/outline_writer.h"

#include <stdlib.h>

#include "format/base/fail.h"

static int compare_streams(const void *a, const void *b)
{
    const struct ttp_segment *x = a, *y = b;
    return x->stream < y->stream ? -1 : x->stream > y->stream;
}

static ttape_status add_before(ttape_writer *w, struct ttp_group_outlines *o,
                               struct ttp_stream_state *stream, uint32_t one, uint32_t segment,
                               ttape_error *err)
{
    struct ttp_outline_origin *origin = ttp_push(&w->allocator, &o->before, sizeof *origin, err);
    if (origin == NULL)
        return TTAPE_E_MEMORY;
    *origin = (struct ttp_outline_origin){TTP_OUTLINE_NONE, 0};
    if (stream->outline_group == o->number + 1)
        *origin = stream->outline;
    stream->outline_group = o->number + 1;
    stream->outline = (struct ttp_outline_origin){one, segment};
    return TTAPE_OK;
}

/* By ascending stream, as they stand in the partition, with their frames. */
static ttape_status add_segments(ttape_writer *w, const struct ttp_pending *p,
                                 struct ttp_partition_outline *one, ttape_error *err)
{
    struct ttp_group_outlines *o = &p->scope->group.outlines;
    struct ttp_stream_state *streams = p->scope->stream_states.data;
    const struct ttp_frame *starts = p->start_frames.data, *ends = p->end_frames.data;
    uint32_t first = (uint32_t)o->segments.count, count = (uint32_t)p->segments.count;
    TTP_TRY(ttp_push_items(&w->allocator, &o->segments, p->segments.data, count,
                           sizeof(struct ttp_segment), err));
    struct ttp_segment *segments = (struct ttp_segment *)o->segments.data + first;
    if (count > 1)
        qsort(segments, count, sizeof *segments, compare_streams);
    one->segments.segment_count = count;
    for (uint32_t s = 0; s < count; s++) {
        struct ttp_segment *g = &segments[s];
        uint32_t added = g->end.frame_count - g->kept;
        TTP_TRY(add_before(w, o, &streams[g->stream], (uint32_t)o->each.count, s, err));
        TTP_TRY(ttp_push_items(&w->allocator, &o->start_frames, starts + g->start.frame_start,
                               g->start.frame_count, sizeof *starts, err));
        TTP_TRY(ttp_push_items(&w->allocator, &o->end_frames, ends + g->end.frame_start, added,
                               sizeof *ends, err));
        g->start.frame_start = one->segments.start_frame_count;
        g->end.frame_start = one->segments.end_frame_count;
        one->segments.start_frame_count += g->start.frame_count;
        one->segments.end_frame_count += added;
    }
    return TTAPE_OK;
}

static ttape_status add_rows(ttape_writer *w, const struct ttp_pending *p,
                             struct ttp_partition_outline *one, ttape_error *err)
{
    struct ttp_group_outlines *o = &p->scope->group.outlines;
    uint32_t count = (uint32_t)p->measures.count;
    TTP_TRY(ttp_grow(&w->allocator, &o->rows, sizeof *one->rows, o->rows.count + count, err));
    TTP_TRY(ttp_grow(&w->allocator, &w->scratch, 1, count, err));
    one->rows = (struct ttp_measure *)o->rows.data + o->rows.count;
    o->is_left_out = !ttp_outline_rows(one, p->measures.data, count, w->timed, w->scratch.data);
    o->rows.count += one->row_count;
    return TTAPE_OK;
}

/* Where frames stand is told to ttp_outline_rows by the pending partition's own arrays. */
ttape_status ttp_outline_add(ttape_writer *w, const struct ttp_pending *p, ttape_error *err)
{
    struct ttp_group_outlines *o = &p->scope->group.outlines;
    struct ttp_partition_outline one = {.first_tick = w->timed ? p->first_tick : 0,
                                        .has_wide = w->timed && p->wide.count != 0};
    if (o->segments.count + p->segments.count > TTP_OUTLINE_SEGMENTS ||
        o->start_frames.count + p->start_frames.count > TTP_OUTLINE_ITEMS ||
        o->end_frames.count + p->end_frames.count > TTP_OUTLINE_ITEMS ||
        o->rows.count + p->measures.count > TTP_OUTLINE_ITEMS)
        o->is_left_out = true;
    if (o->is_left_out)
        return TTAPE_OK;
    size_t first_segment = o->segments.count, first_start = o->start_frames.count;
    TTP_TRY(add_segments(w, p, &one, err));
    one.segments.segments = (struct ttp_segment *)o->segments.data + first_segment;
    one.segments.start_frames = o->start_frames.data != NULL
                                    ? (struct ttp_frame *)o->start_frames.data + first_start
                                    : NULL;
    TTP_TRY(add_rows(w, p, &one, err));
    return ttp_push_items(&w->allocator, &o->each, &one, 1, sizeof one, err);
}

bool ttp_outline_get(const ttape_writer *w, struct ttp_scope *scope, struct ttp_outlines *out)
{
    const struct ttp_group_outlines *o = &scope->group.outlines;
    *out = (struct ttp_outlines){.each = o->each.data,
                                 .before = o->before.data,
                                 .segments = o->segments.data,
                                 .start_frames = o->start_frames.data,
                                 .end_frames = o->end_frames.data,
                                 .rows = o->rows.data,
                                 .partition_count = (uint32_t)o->each.count,
                                 .timed = w->timed};
    for (uint32_t i = 0; i < out->partition_count; i++) { /* arrays have grown since */
        struct ttp_partition_outline *one = &out->each[i];
        one->segments.segments = out->segments + out->segment_count;
        one->segments.start_frames =
            out->start_frames != NULL ? out->start_frames + out->start_frame_count : NULL;
        one->segments.end_frames =
            out->end_frames != NULL ? out->end_frames + out->end_frame_count : NULL;
        one->rows = out->rows != NULL ? out->rows + out->row_count : NULL;
        out->segment_count += one->segments.segment_count;
        out->start_frame_count += one->segments.start_frame_count;
        out->end_frame_count += one->segments.end_frame_count;
        out->row_count += one->row_count;
    }
    return !o->is_left_out && out->partition_count == scope->group.partition_count;
}

void ttp_outline_forget(struct ttp_scope *scope)
{
    struct ttp_group_outlines *o = &scope->group.outlines;
    o->each.count = o->before.count = o->segments.count = o->rows.count = 0;
    o->start_frames.count = o->end_frames.count = 0;
    o->is_left_out = false;
    o->number++;
}

void ttp_outline_free(ttape_writer *w, struct ttp_scope *scope)
{
    struct ttp_group_outlines *o = &scope->group.outlines;
    struct ttp_growing *all[] = {&o->each,         &o->before,     &o->segments,
                                 &o->start_frames, &o->end_frames, &o->rows};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        ttp_grown_free(&w->allocator, all[i]);
}

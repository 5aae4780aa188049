/* Sections are decoded again where they are merged: they are some hundred bytes each, and what they
 * say is a hundred times of that. */
#include "writer/encode/merged_writer.h"

#include <stdlib.h>

#include "format/base/fail.h"
#include "format/levels/merged.h"

/* One partition, in the arrays of ttp_group_merged. */
struct kept {
    int64_t first_tick;
    uint32_t segment_count, start_frame_count, size_bytes;
};

/* The group's partitions, decoded. */
struct sources {
    struct ttp_growing sources; /* struct ttp_merged_source */
    struct ttp_growing refs;    /* struct ttp_merged_ref */
    struct ttp_growing known;   /* struct ttp_instant_segment */
    struct ttp_growing instants, frames, stack, series;
    uint32_t most_start_frames;
};

/* It is the last one but for ends; *behind: their bytes. */
static const struct ttp_section *section_of(const struct ttp_job *job, size_t *behind)
{
    const struct ttp_partition_head *head = &job->head;
    const struct ttp_section *last = &head->sections[head->section_count - 1];
    bool has_ends = last->kind == TTP_SECTION_ENDS && head->section_count > 1;
    *behind = has_ends ? last->stored_bytes : 0;
    last -= has_ends;
    return last->kind == TTP_SECTION_INSTANTS ? last : NULL;
}

ttape_status ttp_merged_add(ttape_writer *w, const struct ttp_job *job, ttape_error *err)
{
    struct ttp_group_merged *m = &job->pending.scope->group.merged;
    size_t behind;
    const struct ttp_section *section = section_of(job, &behind);
    uint32_t frames = section != NULL ? job->head.start_frame_count : 0;
    struct kept kept = {.first_tick = job->head.first_tick,
                        .segment_count = job->head.segment_count,
                        .start_frame_count = frames,
                        .size_bytes = section != NULL ? section->stored_bytes : 0};
    if (m->segments.count + kept.segment_count > TTP_OUTLINE_SEGMENTS ||
        m->start_frames.count + frames > TTP_OUTLINE_ITEMS)
        m->is_left_out = true;
    if (m->is_left_out || !w->timed || w->options.overview_period == UINT64_MAX)
        return TTAPE_OK;
    m->known_count += section != NULL;
    TTP_TRY(ttp_push_items(&w->allocator, &m->each, &kept, 1, sizeof kept, err));
    TTP_TRY(ttp_push_items(&w->allocator, &m->segments, job->segments.data, kept.segment_count,
                           sizeof(struct ttp_segment), err));
    TTP_TRY(ttp_push_items(&w->allocator, &m->start_frames, job->start_frames.data, frames,
                           sizeof(struct ttp_frame), err));
    const uint8_t *end = (const uint8_t *)job->payload.data + job->payload.count - behind;
    return ttp_push_bytes(&w->allocator, &m->bytes, end - kept.size_bytes, kept.size_bytes, err);
}

static int compare_refs(const void *a, const void *b)
{
    const struct ttp_merged_ref *x = a, *y = b;
    if (x->stream != y->stream)
        return x->stream < y->stream ? -1 : 1;
    return x->partition < y->partition ? -1 : x->partition > y->partition;
}

static ttape_status add_refs(ttape_writer *w, struct sources *p, uint32_t source, ttape_error *err)
{
    const struct ttp_segments *segments =
        &((struct ttp_merged_source *)p->sources.data)[source].segments;
    for (uint32_t s = 0; s < segments->segment_count; s++) {
        struct ttp_merged_ref ref = {segments->segments[s].stream, source, s};
        TTP_TRY(ttp_push_items(&w->allocator, &p->refs, &ref, 1, sizeof ref, err));
    }
    return TTAPE_OK;
}

/* Where its section is decoded to moves: only counts and refs are right until all are there. */
static ttape_status decode_source(ttape_writer *w, struct sources *p,
                                  struct ttp_merged_source *source, const uint8_t *bytes,
                                  size_t size, ttape_error *err)
{
    const ttape_allocator *a = &w->allocator;
    struct ttp_instants *in = &source->in;
    uint32_t room = source->segments.start_frame_count + TTP_INSTANT_FRAMES_MOST;
    TTP_TRY(ttp_grow(a, &p->known, sizeof *in->segments,
                     p->known.count + source->segments.segment_count, err));
    TTP_TRY(ttp_grow(a, &p->instants, sizeof *in->instants, p->instants.count + TTP_INSTANTS_MOST,
                     err));
    TTP_TRY(ttp_grow(a, &p->frames, sizeof *in->frames, p->frames.count + TTP_INSTANT_FRAMES_MOST,
                     err));
    TTP_TRY(ttp_grow(a, &p->stack, sizeof *in->frames, room, err));
    in->segments = (struct ttp_instant_segment *)p->known.data + p->known.count;
    in->instants = (struct ttp_instant *)p->instants.data + p->instants.count;
    in->frames = (struct ttp_symbol *)p->frames.data + p->frames.count;
    TTP_TRY(ttp_instants_read(bytes, size, &source->segments, p->stack.data, in, err));
    p->known.count += source->segments.segment_count;
    p->instants.count += in->instant_count;
    p->frames.count += in->frame_count;
    return TTAPE_OK;
}

static void settle_sources(struct sources *p)
{
    struct ttp_merged_source *source = p->sources.data;
    size_t known = 0, instants = 0, frames = 0;
    for (size_t i = 0; i < p->sources.count; i++, source++) {
        if (source->in.segments == NULL)
            continue;
        source->in.segments = (struct ttp_instant_segment *)p->known.data + known;
        source->in.instants = (struct ttp_instant *)p->instants.data + instants;
        source->in.frames = (struct ttp_symbol *)p->frames.data + frames;
        known += source->segments.segment_count;
        instants += source->in.instant_count;
        frames += source->in.frame_count;
    }
}

static ttape_status decode_all(ttape_writer *w, const struct ttp_group_merged *m, struct sources *p,
                               ttape_error *err)
{
    const struct kept *kept = m->each.data;
    struct ttp_segment *segments = m->segments.data;
    struct ttp_frame *frames = m->start_frames.data;
    const uint8_t *bytes = m->bytes.data;
    for (uint32_t i = 0; i < m->each.count; i++) {
        struct ttp_merged_source source = {
            .first_tick = kept[i].first_tick,
            .segments = {.segments = segments,
                         .start_frames = frames,
                         .segment_count = kept[i].segment_count,
                         .start_frame_count = kept[i].start_frame_count}};
        if (kept[i].size_bytes != 0)
            TTP_TRY(decode_source(w, p, &source, bytes, kept[i].size_bytes, err));
        TTP_TRY(ttp_push_items(&w->allocator, &p->sources, &source, 1, sizeof source, err));
        TTP_TRY(add_refs(w, p, i, err));
        segments += kept[i].segment_count;
        frames = frames != NULL ? frames + kept[i].start_frame_count : NULL;
        bytes += kept[i].size_bytes;
    }
    settle_sources(p);
    return TTAPE_OK;
}

static ttape_status merge(ttape_writer *w, struct sources *p, size_t most, struct ttp_growing *out,
                          ttape_error *err)
{
    uint32_t count = (uint32_t)p->refs.count;
    qsort(p->refs.data, count, sizeof(struct ttp_merged_ref), compare_refs);
    struct ttp_merged_in in = {p->sources.data, p->refs.data, count};
    TTP_TRY(ttp_grow(&w->allocator, &p->series, sizeof(struct ttp_merged_series), count, err));
    uint32_t series = ttp_merged_list(in.refs, count, p->series.data);
    ttp_merged_choose(&in, w->merged_instants, p->series.data, series);
    TTP_TRY(ttp_grow(&w->allocator, out, 1, most, err));
    out->count = ttp_merged_write(&in, p->series.data, series, p->stack.data, out->data, most);
    return TTAPE_OK;
}

ttape_status ttp_merged_make(ttape_writer *w, struct ttp_scope *scope, size_t most,
                             struct ttp_growing *out, ttape_error *err)
{
    const struct ttp_group_merged *m = &scope->group.merged;
    struct sources p = {0};
    out->count = 0;
    if (m->is_left_out || m->known_count == 0)
        return TTAPE_OK;
    ttape_status status = decode_all(w, m, &p, err);
    if (status == TTAPE_OK && p.instants.count <= TTP_MERGED_INSTANTS_MOST &&
        p.frames.count <= TTP_MERGED_FRAMES_MOST)
        status = merge(w, &p, most, out, err);
    struct ttp_growing *all[] = {&p.sources, &p.refs,  &p.known, &p.instants,
                                 &p.frames,  &p.stack, &p.series};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        ttp_grown_free(&w->allocator, all[i]);
    return status;
}

void ttp_merged_forget(struct ttp_scope *scope)
{
    struct ttp_group_merged *m = &scope->group.merged;
    m->each.count = m->segments.count = m->start_frames.count = m->bytes.count = 0;
    m->known_count = 0;
    m->is_left_out = false;
}

void ttp_merged_free(ttape_writer *w, struct ttp_scope *scope)
{
    struct ttp_group_merged *m = &scope->group.merged;
    struct ttp_growing *all[] = {&m->each, &m->segments, &m->start_frames, &m->bytes};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        ttp_grown_free(&w->allocator, all[i]);
}

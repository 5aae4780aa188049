/* Which streams there are, and how many segments each has, is what the index says. */
#include "reader/levels/merged_reader.h"

#include "base/sort.h"
#include "format/base/fail.h"

#define SEGMENTS_MOST 65536u

static bool is_before(const void *context, uint32_t a, uint32_t b)
{
    const struct ttp_merged_ref *refs = context;
    return refs[a].stream != refs[b].stream ? refs[a].stream < refs[b].stream : a < b;
}

static void fill_refs(const ttape_reader *r, const struct ttp_read_overview *o,
                      struct ttp_merged_ref *refs)
{
    for (uint32_t i = 0; i < o->head.partition_count; i++) {
        const struct ttp_partition_entry *entry = &r->partitions[o->partitions[i]];
        for (uint32_t s = 0; s < entry->segment_count; s++)
            *refs++ = (struct ttp_merged_ref){r->segments[entry->first_segment + s].stream, i, s};
    }
}

static ttape_status find_refs(struct ttp_trace_decoder *d, const struct ttp_read_overview *o,
                              struct ttp_read_merged *out, ttape_error *err)
{
    struct ttp_memory *m = &d->memory;
    uint32_t count = out->ref_count;
    out->refs = ttp_memory_take(m, count, sizeof *out->refs, err);
    if (out->refs == NULL)
        return m->status;
    struct ttp_merged_ref *mixed = ttp_memory_take(m, count, sizeof *mixed, err);
    uint32_t *order = ttp_memory_take(m, count, sizeof *order, err);
    ttape_status status = mixed != NULL && order != NULL ? TTAPE_OK : m->status;
    if (status == TTAPE_OK) {
        fill_refs(d->reader, o, mixed);
        for (uint32_t i = 0; i < count; i++)
            order[i] = i;
        ttp_sort(order, count, is_before, mixed);
        for (uint32_t i = 0; i < count; i++)
            out->refs[i] = mixed[order[i]];
    }
    ttp_memory_give(m, mixed, count, sizeof *mixed);
    ttp_memory_give(m, order, count, sizeof *order);
    return status;
}

static ttape_status take_merged(struct ttp_trace_decoder *d, struct ttp_merged *all,
                                ttape_error *err)
{
    struct ttp_memory *m = &d->memory;
    all->series = ttp_memory_take(m, all->series_count, sizeof *all->series, err);
    if (all->series == NULL)
        return m->status;
    all->in.instants = ttp_memory_take(m, TTP_INSTANTS_MOST, sizeof *all->in.instants, err);
    if (all->in.instants == NULL)
        return m->status;
    all->in.frames = ttp_memory_take(m, TTP_INSTANT_FRAMES_MOST, sizeof *all->in.frames, err);
    return all->in.frames != NULL ? TTAPE_OK : m->status;
}

static ttape_status read_all(struct ttp_trace_decoder *d, const struct ttp_read_overview *o,
                             struct ttp_read_merged *out, ttape_error *err)
{
    struct ttp_memory *m = &d->memory;
    int64_t first_ticks[TTP_OVERVIEW_PARTITIONS];
    TTP_TRY(find_refs(d, o, out, err));
    out->all.series_count = ttp_merged_list(out->refs, out->ref_count, NULL);
    TTP_TRY(take_merged(d, &out->all, err));
    (void)ttp_merged_list(out->refs, out->ref_count, out->all.series);
    for (uint32_t i = 0; i < o->head.partition_count; i++)
        first_ticks[i] = d->reader->partitions[o->partitions[i]].first_tick;
    struct ttp_symbol *stack = ttp_memory_take(m, TTP_INSTANT_FRAMES_MOST, sizeof *stack, err);
    if (stack == NULL)
        return m->status;
    ttape_status status =
        ttp_merged_read(o->head.fields[TTP_OVERVIEW_INSTANTS].data,
                        o->head.fields[TTP_OVERVIEW_INSTANTS].size_bytes, out->refs, out->ref_count,
                        first_ticks, stack, &out->all, err);
    ttp_memory_give(m, stack, TTP_INSTANT_FRAMES_MOST, sizeof *stack);
    return status;
}

ttape_status ttp_merged_load(struct ttp_trace_decoder *d, const struct ttp_read_overview *o,
                             struct ttp_read_merged *out, ttape_error *err)
{
    uint64_t count = 0;
    *out = (struct ttp_read_merged){0};
    if (o->head.fields[TTP_OVERVIEW_INSTANTS].data == NULL)
        return TTAPE_E_NOT_FOUND;
    for (uint32_t i = 0; i < o->head.partition_count; i++)
        count += d->reader->partitions[o->partitions[i]].segment_count;
    if (count > SEGMENTS_MOST || o->head.resolution_ns == 0)
        return ttp_fail(err, TTAPE_E_CORRUPT, "F-OVR-14", 0,
                        "instants of an overview without times, or with too many segments");
    out->ref_count = (uint32_t)count;
    ttape_status status = read_all(d, o, out, err);
    if (status != TTAPE_OK)
        ttp_merged_drop(d, out);
    return status;
}

void ttp_merged_drop(struct ttp_trace_decoder *d, struct ttp_read_merged *merged)
{
    struct ttp_memory *m = &d->memory;
    struct ttp_merged *all = &merged->all;
    ttp_memory_give(m, merged->refs, merged->ref_count, sizeof *merged->refs);
    ttp_memory_give(m, all->series, all->series_count, sizeof *all->series);
    ttp_memory_give(m, all->in.instants, TTP_INSTANTS_MOST, sizeof *all->in.instants);
    ttp_memory_give(m, all->in.frames, TTP_INSTANT_FRAMES_MOST, sizeof *all->in.frames);
    *merged = (struct ttp_read_merged){0};
}

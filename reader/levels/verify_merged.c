/* Of a series its length and its exponent are the writer's choice; all else has one encoding: it is
 * written again, and the bytes are compared. */
#include "reader/levels/verify_merged.h"

#include <string.h>

#include "format/base/fail.h"
#include "reader/levels/instants_reader.h"

#define SEGMENTS_MOST 65536u

static ttape_status differs(const char *rule, const char *what, ttape_error *err)
{
    return ttp_fail(err, TTAPE_E_CORRUPT, rule, 0, "overview: %s", what);
}

/* Makes room at the end of an array, and copies what is not nothing there. */
static ttape_status append_item(struct ttp_trace_decoder *d, void *array, uint32_t *count,
                                uint32_t *capacity, const void *items, uint32_t more,
                                size_t item_bytes, ttape_error *err)
{
    TTP_TRY(
        ttp_memory_reserve(&d->memory, array, capacity, (uint64_t)*count + more, item_bytes, err));
    uint8_t *data;
    memcpy(&data, array, sizeof data);
    if (more != 0)
        memcpy(data + *count * item_bytes, items, more * item_bytes);
    *count += more;
    return TTAPE_OK;
}

static ttape_status add_known(struct ttp_merged_sums *s, struct ttp_trace_decoder *d,
                              const struct ttp_instants *in, uint32_t segment_count,
                              ttape_error *err)
{
    if (s->instant_count + in->instant_count > TTP_MERGED_INSTANTS_MOST ||
        s->frame_count + in->frame_count > TTP_MERGED_FRAMES_MOST)
        s->is_too_much = true;
    if (s->is_too_much)
        return TTAPE_OK;
    TTP_TRY(append_item(d, &s->known, &s->known_count, &s->known_capacity, in->segments,
                        segment_count, sizeof *s->known, err));
    TTP_TRY(append_item(d, &s->instants, &s->instant_count, &s->instant_capacity, in->instants,
                        in->instant_count, sizeof *s->instants, err));
    return append_item(d, &s->frames, &s->frame_count, &s->frame_capacity, in->frames,
                       in->frame_count, sizeof *s->frames, err);
}

/* What is wrong with a section is said where its partition is verified. */
static ttape_status load_partition(struct ttp_trace_decoder *d, const struct ttp_loaded *p,
                                   struct ttp_read_instants *out, ttape_error *err)
{
    ttape_error problem = {0};
    ttape_status status = ttp_instants_load(d, p, out, &problem);
    if (status != TTAPE_E_MEMORY && status != TTAPE_E_IO)
        return TTAPE_OK;
    if (err != NULL)
        *err = problem;
    return status;
}

ttape_status ttp_merged_sums_add(struct ttp_merged_sums *s, struct ttp_trace_decoder *d,
                                 const struct ttp_loaded *p, ttape_error *err)
{
    const struct ttp_segments *from = &p->segments;
    struct ttp_read_instants said;
    if (s->segment_count + from->segment_count > SEGMENTS_MOST)
        s->is_too_much = true;
    if (s->is_too_much)
        return TTAPE_OK;
    TTP_TRY(load_partition(d, p, &said, err));
    struct ttp_merged_source *source = &s->sources[s->partition_count];
    *source = (struct ttp_merged_source){.segments = *from, .in = said.in};
    source->first_tick = p->head.first_tick;
    s->origins_ns[s->partition_count++] = p->head.origin_ns;
    ttape_status status =
        append_item(d, &s->segments, &s->segment_count, &s->segment_capacity, from->segments,
                    from->segment_count, sizeof *s->segments, err);
    if (status == TTAPE_OK)
        status =
            append_item(d, &s->start_frames, &s->start_frame_count, &s->start_frame_capacity,
                        from->start_frames, from->start_frame_count, sizeof *s->start_frames, err);
    if (status == TTAPE_OK && said.in.segments != NULL)
        status = add_known(s, d, &said.in, from->segment_count, err);
    ttp_instants_drop(d, &said);
    return status;
}

/* ---- comparing ---- */

/* Arrays have grown since. */
static uint32_t settle_sums(struct ttp_merged_sums *s)
{
    uint32_t segments = 0, starts = 0, known = 0, instants = 0, frames = 0, most = 0;
    for (uint32_t i = 0; i < s->partition_count; i++) {
        struct ttp_merged_source *source = &s->sources[i];
        uint32_t start_count = source->segments.start_frame_count;
        source->segments.segments = s->segments + segments;
        source->segments.start_frames = s->start_frames + starts;
        segments += source->segments.segment_count;
        starts += start_count;
        most = start_count > most ? start_count : most;
        if (source->in.segments == NULL)
            continue;
        source->in.segments = s->known + known;
        source->in.instants = s->instants + instants;
        source->in.frames = s->frames + frames;
        known += source->segments.segment_count;
        instants += source->in.instant_count;
        frames += source->in.frame_count;
    }
    return most + TTP_INSTANT_FRAMES_MOST;
}

static ttape_status check_series(const struct ttp_merged_in *in, const struct ttp_merged *all,
                                 ttape_error *err)
{
    for (uint32_t i = 0; i < all->series_count; i++) {
        uint32_t least, count = all->series[i].segment_count;
        if (ttp_merged_length(in, &all->series[i], count, &least) != count ||
            (count != 0 && all->series[i].in.exponent < least))
            return differs("F-OVR-14", "instants that its partitions do not tell", err);
    }
    return TTAPE_OK;
}

static ttape_status compare_bytes(struct ttp_merged_sums *s, struct ttp_trace_decoder *d,
                                  const struct ttp_read_overview *o,
                                  const struct ttp_read_merged *said, ttape_error *err)
{
    struct ttp_memory *m = &d->memory;
    const uint8_t *data = o->head.fields[TTP_OVERVIEW_INSTANTS].data;
    size_t size = o->head.fields[TTP_OVERVIEW_INSTANTS].size_bytes;
    uint32_t room = settle_sums(s);
    struct ttp_merged_in in = {s->sources, said->refs, said->ref_count};
    TTP_TRY(check_series(&in, &said->all, err));
    uint8_t *bytes = ttp_memory_take(m, size + 16, 1, err);
    struct ttp_symbol *stack = ttp_memory_take(m, room, sizeof *stack, err);
    ttape_status status = bytes != NULL && stack != NULL ? TTAPE_OK : m->status;
    if (status == TTAPE_OK && (ttp_merged_write(&in, said->all.series, said->all.series_count,
                                                stack, bytes, size + 16) != size ||
                               memcmp(bytes, data, size) != 0))
        status = differs("F-OVR-13", "wrong instants", err);
    ttp_memory_give(m, bytes, size + 16, 1);
    ttp_memory_give(m, stack, room, sizeof *stack);
    return status;
}

ttape_status ttp_merged_sums_compare(struct ttp_merged_sums *s, struct ttp_trace_decoder *d,
                                     const struct ttp_read_overview *o, ttape_error *err)
{
    struct ttp_read_merged said;
    if (o->head.fields[TTP_OVERVIEW_INSTANTS].data == NULL)
        return TTAPE_OK;
    if (s->is_too_much || s->partition_count != o->head.partition_count)
        return differs("F-OVR-14", "instants of too much", err);
    for (uint32_t i = 1; i < s->partition_count; i++)
        if (s->origins_ns[i] != s->origins_ns[0])
            return differs("F-OVR-14", "instants of partitions with several origins", err);
    TTP_TRY(ttp_merged_load(d, o, &said, err));
    ttape_status status = compare_bytes(s, d, o, &said, err);
    ttp_merged_drop(d, &said);
    return status;
}

void ttp_merged_sums_clear(struct ttp_merged_sums *s)
{
    s->segment_count = s->start_frame_count = s->known_count = 0;
    s->instant_count = s->frame_count = s->partition_count = 0;
    s->is_too_much = false;
}

void ttp_merged_sums_close(struct ttp_merged_sums *s, struct ttp_trace_decoder *d)
{
    struct ttp_memory *m = &d->memory;
    ttp_memory_give(m, s->segments, s->segment_capacity, sizeof *s->segments);
    ttp_memory_give(m, s->start_frames, s->start_frame_capacity, sizeof *s->start_frames);
    ttp_memory_give(m, s->known, s->known_capacity, sizeof *s->known);
    ttp_memory_give(m, s->instants, s->instant_capacity, sizeof *s->instants);
    ttp_memory_give(m, s->frames, s->frame_capacity, sizeof *s->frames);
    *s = (struct ttp_merged_sums){0};
}

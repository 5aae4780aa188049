/* Series say themselves how many instants they have: where segments begin and end is in their
 * partitions, which nobody wants to read. */
#include "format/base/fail.h"
#include "format/levels/instants_reading.h"
#include "format/levels/merged_model.h"

struct reading {
    struct ttp_instant_reading r;
    struct ttp_merged_model m;
    const struct ttp_merged_ref *refs;
    const int64_t *first_ticks;
};

#define RULE "F-OVR-13"

static bool fits_exponent(int64_t first, uint64_t count, uint32_t exponent)
{
    int64_t most = INT64_MAX >> exponent;
    return first >= INT64_MIN >> exponent &&
           (count == 0 || (first <= most && count - 1 <= (uint64_t)most - (uint64_t)first));
}

static ttape_status read_head(struct reading *all, struct ttp_merged_series *one)
{
    struct ttp_instant_reading *r = &all->r;
    struct ttp_instants *out = r->out;
    uint64_t exponent = ttp_decode_number(&r->d, &r->m.exponent);
    int64_t first = ttp_decode_signed(&r->d, &all->m.first);
    uint64_t count = ttp_decode_number(&r->d, &all->m.count);
    TTP_TRY(ttp_instant_check_end(r));
    if (exponent > 63)
        return ttp_instant_refuse(r, RULE, "an exponent is above 63");
    int64_t tick = all->first_ticks[all->refs[one->first_ref].partition];
    first = (int64_t)((uint64_t)first + (uint64_t)(tick >> exponent));
    if (!fits_exponent(first, count, (uint32_t)exponent))
        return ttp_instant_refuse(r, RULE, "a tick does not fit 64 bits");
    if (count > TTP_INSTANTS_MOST - out->instant_count)
        return ttp_instant_refuse(r, "F-OVR-14", "too many instants of an overview");
    one->in = (struct ttp_instant_segment){.exponent = (uint32_t)exponent,
                                           .first = first,
                                           .start = out->instant_count,
                                           .count = (uint32_t)count};
    r->height = 0;
    one->start_frame = out->frame_count;
    TTP_TRY(ttp_instant_read_count(r, &all->m.height, &one->start_frame_count));
    return ttp_instant_read_frames(r, one->start_frame_count);
}

static ttape_status read_series(struct reading *all, struct ttp_merged_series *one)
{
    struct ttp_instant_reading *r = &all->r;
    struct ttp_instants *out = r->out;
    TTP_TRY(read_head(all, one));
    for (uint32_t i = 0; i < one->in.count; i++)
        TTP_TRY(ttp_instant_read(r, &out->instants[out->instant_count++]));
    TTP_TRY(ttp_instant_read_kept(r, &one->in.kept, &one->in.has_gap));
    uint64_t added = ttp_decode_number(&r->d, &r->m.added);
    TTP_TRY(ttp_instant_check_end(r));
    if (added > UINT32_MAX - one->in.kept)
        return ttp_instant_refuse(r, RULE, "a stack has too many frames");
    one->end_frame_count = one->in.kept + (uint32_t)added;
    return TTAPE_OK;
}

ttape_status ttp_merged_read(const uint8_t *data, size_t size_bytes,
                             const struct ttp_merged_ref *refs, uint32_t ref_count,
                             const int64_t *first_ticks, struct ttp_symbol *stack,
                             struct ttp_merged *io, ttape_error *err)
{
    struct reading all = {.r = {.d = ttp_decoder_init(data, size_bytes),
                                .stack = stack,
                                .out = &io->in,
                                .end_rule = RULE,
                                .err = err},
                          .refs = refs,
                          .first_ticks = first_ticks};
    ttp_instant_model_init(&all.r.m);
    ttp_merged_model_init(&all.m);
    io->in.instant_count = io->in.frame_count = 0;
    for (uint32_t i = 0; i < io->series_count; i++) {
        struct ttp_merged_series *one = &io->series[i];
        uint32_t most = ttp_merged_count_of(io->series, io->series_count, i, ref_count);
        uint64_t untold = ttp_decode_number(&all.r.d, &all.m.untold);
        TTP_TRY(ttp_instant_check_end(&all.r));
        if (untold > most)
            return ttp_instant_refuse(&all.r, RULE, "a stream has not so many segments");
        one->segment_count = most - (uint32_t)untold;
        one->in.exponent = TTP_INSTANTS_UNKNOWN;
        if (one->segment_count != 0)
            TTP_TRY(read_series(&all, one));
    }
    return TTAPE_OK;
}

/* Counts are checked before anything is made of them: a few bits can say a million frames. */
#include "format/base/fail.h"
#include "format/levels/instants_reading.h"

struct reading {
    struct ttp_instant_reading r;
    const struct ttp_segments *segments;
};

ttape_status ttp_instant_refuse(const struct ttp_instant_reading *r, const char *rule,
                                const char *what)
{
    return ttp_fail(r->err, TTAPE_E_CORRUPT, rule, 0, "instants: %s", what);
}

ttape_status ttp_instant_check_end(const struct ttp_instant_reading *r)
{
    return ttp_decoder_cut(&r->d) ? ttp_instant_refuse(r, r->end_rule, "they end early") : TTAPE_OK;
}

static ttape_status read_frame(struct ttp_instant_reading *r, struct ttp_symbol *frame)
{
    struct ttp_instant_slot *slot =
        ttp_instant_slot_of(&r->m, r->height != 0 ? &r->stack[r->height - 1] : NULL);
    uint64_t rank = ttp_decode_number(&r->d, &r->m.rank);
    TTP_TRY(ttp_instant_check_end(r));
    if (rank > slot->count)
        return ttp_instant_refuse(r, "F-INS-05", "a frame has a rank that no frame has");
    if (rank < slot->count) {
        *frame = slot->frames[rank];
    } else {
        bool is_signal = ttp_decode_bit(&r->d, &r->m.is_signal);
        int64_t more = ttp_decode_signed(&r->d, &r->m.argument);
        int64_t least = -(int64_t)r->m.last_argument;
        TTP_TRY(ttp_instant_check_end(r));
        if (more < least || more > least + (int64_t)UINT32_MAX)
            return ttp_instant_refuse(r, "F-INS-05", "a site or signal number is out of range");
        *frame = (struct ttp_symbol){(uint32_t)(more - least),
                                     is_signal ? TTP_CLASS_SIGNAL : TTP_CLASS_ENTER};
        r->m.last_argument = frame->argument;
    }
    ttp_instant_front(slot, (uint32_t)rank, *frame);
    return TTAPE_OK;
}

ttape_status ttp_instant_read_frames(struct ttp_instant_reading *r, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        struct ttp_symbol *frame = &r->out->frames[r->out->frame_count];
        TTP_TRY(read_frame(r, frame));
        r->stack[r->height++] = *frame;
        r->out->frame_count++;
    }
    return TTAPE_OK;
}

ttape_status ttp_instant_read_count(struct ttp_instant_reading *r, struct ttp_number_model *model,
                                    uint32_t *count)
{
    uint64_t found = ttp_decode_number(&r->d, model);
    TTP_TRY(ttp_instant_check_end(r));
    if (found > TTP_INSTANT_FRAMES_MOST - r->out->frame_count)
        return ttp_instant_refuse(r, "F-INS-04", "too many frames");
    *count = (uint32_t)found;
    return TTAPE_OK;
}

ttape_status ttp_instant_read_kept(struct ttp_instant_reading *r, uint32_t *kept, bool *has_gap)
{
    *has_gap = ttp_decode_bit(&r->d, &r->m.has_gap);
    uint64_t left = ttp_decode_number(&r->d, &r->m.left);
    TTP_TRY(ttp_instant_check_end(r));
    if (left > r->height)
        return ttp_instant_refuse(r, "F-INS-03", "more frames leave a stack than it has");
    *kept = r->height -= (uint32_t)left;
    return TTAPE_OK;
}

ttape_status ttp_instant_read(struct ttp_instant_reading *r, struct ttp_instant *to)
{
    *to = (struct ttp_instant){.first = r->out->frame_count};
    TTP_TRY(ttp_instant_read_kept(r, &to->kept, &to->has_gap));
    TTP_TRY(ttp_instant_read_count(r, &r->m.added, &to->added));
    return ttp_instant_read_frames(r, to->added);
}

static bool has_one_stack(const struct reading *r, const struct ttp_segment *g)
{
    for (uint32_t i = 0; i < g->start.frame_count; i++)
        if (r->segments->start_frames[g->start.frame_start + i].stack != g->start.stack)
            return false;
    return g->end_tick >= g->base_tick;
}

static ttape_status read_segment(struct reading *all, const struct ttp_segment *g,
                                 struct ttp_instant_segment *to)
{
    struct ttp_instant_reading *r = &all->r;
    struct ttp_instants *out = r->out;
    uint64_t exponent = ttp_decode_number(&r->d, &r->m.exponent);
    *to =
        (struct ttp_instant_segment){.exponent = TTP_INSTANTS_UNKNOWN, .start = out->instant_count};
    if (exponent == 0)
        return TTAPE_OK;
    if (exponent > 64 || !has_one_stack(all, g))
        return ttp_instant_refuse(r, "F-INS-02", "a segment cannot have such instants");
    to->exponent = (uint32_t)exponent - 1;
    to->first = ttp_instant_from(g->base_tick, to->exponent);
    uint64_t count = (uint64_t)ttp_instant_from(g->end_tick, to->exponent) - (uint64_t)to->first;
    if (count > TTP_INSTANTS_MOST - out->instant_count)
        return ttp_instant_refuse(r, "F-INS-04", "too many instants");
    r->height = g->start.frame_count;
    for (uint32_t i = 0; i < g->start.frame_count; i++) {
        const struct ttp_frame *frame = &all->segments->start_frames[g->start.frame_start + i];
        r->stack[i] = (struct ttp_symbol){frame->argument, frame->event_class};
    }
    for (; to->count < count; to->count++)
        TTP_TRY(ttp_instant_read(r, &out->instants[out->instant_count++]));
    return ttp_instant_read_kept(r, &to->kept, &to->has_gap);
}

ttape_status ttp_instants_read(const uint8_t *data, size_t size_bytes,
                               const struct ttp_segments *segments, struct ttp_symbol *stack,
                               struct ttp_instants *out, ttape_error *err)
{
    struct reading r = {.r = {.d = ttp_decoder_init(data, size_bytes),
                              .stack = stack,
                              .out = out,
                              .end_rule = "F-INS-01",
                              .err = err},
                        .segments = segments};
    ttp_instant_model_init(&r.r.m);
    out->instant_count = out->frame_count = 0;
    for (uint32_t s = 0; s < segments->segment_count; s++) {
        TTP_TRY(read_segment(&r, &segments->segments[s], &out->segments[s]));
        TTP_TRY(ttp_instant_check_end(&r.r));
    }
    return TTAPE_OK;
}

/* Counts are checked before anything is made of them: a few bits can say a million frames. */
#include "format/base/fail.h"
#include "format/levels/instants.h"
#include "format/levels/instants_model.h"

struct reading {
    struct ttp_decoder d;
    struct ttp_instant_model m;
    const struct ttp_segments *segments;
    struct ttp_symbol *stack;
    uint32_t height;
    struct ttp_instants *out;
    ttape_error *err;
};

static ttape_status refuse(const struct reading *r, const char *rule, const char *what)
{
    return ttp_fail(r->err, TTAPE_E_CORRUPT, rule, 0, "instants: %s", what);
}

static ttape_status check_end(const struct reading *r)
{
    return ttp_decoder_cut(&r->d) ? refuse(r, "F-INS-01", "they end early") : TTAPE_OK;
}

static ttape_status read_frame(struct reading *r, struct ttp_symbol *frame)
{
    struct ttp_instant_slot *slot =
        ttp_instant_slot_of(&r->m, r->height != 0 ? &r->stack[r->height - 1] : NULL);
    uint64_t rank = ttp_decode_number(&r->d, &r->m.rank);
    TTP_TRY(check_end(r));
    if (rank > slot->count)
        return refuse(r, "F-INS-05", "a frame has a rank that no frame has");
    if (rank < slot->count) {
        *frame = slot->frames[rank];
    } else {
        bool is_signal = ttp_decode_bit(&r->d, &r->m.is_signal);
        int64_t more = ttp_decode_signed(&r->d, &r->m.argument);
        int64_t least = -(int64_t)r->m.last_argument;
        TTP_TRY(check_end(r));
        if (more < least || more > least + (int64_t)UINT32_MAX)
            return refuse(r, "F-INS-05", "a site or signal number is out of range");
        *frame = (struct ttp_symbol){(uint32_t)(more - least),
                                     is_signal ? TTP_CLASS_SIGNAL : TTP_CLASS_ENTER};
        r->m.last_argument = frame->argument;
    }
    ttp_instant_front(slot, (uint32_t)rank, *frame);
    return TTAPE_OK;
}

/* What is left of the stack before. */
static ttape_status read_kept(struct reading *r, uint32_t *kept, bool *has_gap)
{
    *has_gap = ttp_decode_bit(&r->d, &r->m.has_gap);
    uint64_t left = ttp_decode_number(&r->d, &r->m.left);
    TTP_TRY(check_end(r));
    if (left > r->height)
        return refuse(r, "F-INS-03", "more frames leave a stack than it has");
    *kept = r->height -= (uint32_t)left;
    return TTAPE_OK;
}

static ttape_status read_instant(struct reading *r, struct ttp_instant *to)
{
    struct ttp_instants *out = r->out;
    *to = (struct ttp_instant){.first = out->frame_count};
    TTP_TRY(read_kept(r, &to->kept, &to->has_gap));
    uint64_t added = ttp_decode_number(&r->d, &r->m.added);
    TTP_TRY(check_end(r));
    if (added > TTP_INSTANT_FRAMES_MOST - out->frame_count)
        return refuse(r, "F-INS-04", "too many frames");
    for (to->added = 0; to->added < added; to->added++) {
        struct ttp_symbol *frame = &out->frames[out->frame_count];
        TTP_TRY(read_frame(r, frame));
        r->stack[r->height++] = *frame;
        out->frame_count++;
    }
    return TTAPE_OK;
}

static bool has_one_stack(const struct reading *r, const struct ttp_segment *g)
{
    for (uint32_t i = 0; i < g->start.frame_count; i++)
        if (r->segments->start_frames[g->start.frame_start + i].stack != g->start.stack)
            return false;
    return g->end_tick >= g->base_tick;
}

static ttape_status read_segment(struct reading *r, const struct ttp_segment *g,
                                 struct ttp_instant_segment *to)
{
    struct ttp_instants *out = r->out;
    uint64_t exponent = ttp_decode_number(&r->d, &r->m.exponent);
    *to =
        (struct ttp_instant_segment){.exponent = TTP_INSTANTS_UNKNOWN, .start = out->instant_count};
    if (exponent == 0)
        return TTAPE_OK;
    if (exponent > 64 || !has_one_stack(r, g))
        return refuse(r, "F-INS-02", "a segment cannot have such instants");
    to->exponent = (uint32_t)exponent - 1;
    to->first = ttp_instant_from(g->base_tick, to->exponent);
    uint64_t count = (uint64_t)ttp_instant_from(g->end_tick, to->exponent) - (uint64_t)to->first;
    if (count > TTP_INSTANTS_MOST - out->instant_count)
        return refuse(r, "F-INS-04", "too many instants");
    r->height = g->start.frame_count;
    for (uint32_t i = 0; i < g->start.frame_count; i++) {
        const struct ttp_frame *frame = &r->segments->start_frames[g->start.frame_start + i];
        r->stack[i] = (struct ttp_symbol){frame->argument, frame->event_class};
    }
    for (; to->count < count; to->count++)
        TTP_TRY(read_instant(r, &out->instants[out->instant_count++]));
    return read_kept(r, &to->kept, &to->has_gap);
}

ttape_status ttp_instants_read(const uint8_t *data, size_t size_bytes,
                               const struct ttp_segments *segments, struct ttp_symbol *stack,
                               struct ttp_instants *out, ttape_error *err)
{
    struct reading r = {.d = ttp_decoder_init(data, size_bytes),
                        .segments = segments,
                        .stack = stack,
                        .out = out,
                        .err = err};
    ttp_instant_model_init(&r.m);
    out->instant_count = out->frame_count = 0;
    for (uint32_t s = 0; s < segments->segment_count; s++) {
        TTP_TRY(read_segment(&r, &segments->segments[s], &out->segments[s]));
        TTP_TRY(check_end(&r));
    }
    return TTAPE_OK;
}

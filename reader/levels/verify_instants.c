/* Event by event, with the frames of one stack: a segment with several has no instants. */
#include "reader/levels/verify_instants.h"

#include "format/base/fail.h"
#include "format/times/times.h"
#include "reader/partition/partition_decoder.h"

struct walk {
    struct ttp_trace_decoder *decoder;
    const struct ttp_loaded *p;
    const struct ttp_instants *said;
    uint32_t *stack; /* symbols */
    uint32_t height, capacity;
    uint32_t low;     /* least frames since the last instant ... */
    uint32_t before;  /* ... and how many there were at it */
    uint32_t instant; /* the next of the segment */
    uint32_t wide;
    bool has_gap;
};

static ttape_status push_frame(struct walk *w, uint32_t symbol, ttape_error *err)
{
    TTP_TRY(ttp_memory_reserve(&w->decoder->memory, &w->stack, &w->capacity, w->height + 1ull,
                               sizeof *w->stack, err));
    w->stack[w->height++] = symbol;
    return TTAPE_OK;
}

static bool same_frame(const struct ttp_symbol *said, const struct ttp_symbol *have)
{
    return said->argument == have->argument &&
           (said->event_class == TTP_CLASS_SIGNAL) == (have->event_class == TTP_CLASS_SIGNAL);
}

static bool same_kept(struct walk *w, uint32_t kept, bool has_gap)
{
    bool same = kept == (w->low < w->before ? w->low : w->before) && has_gap == w->has_gap;
    w->has_gap = false;
    w->low = w->before = w->height;
    return same;
}

static bool same_instant(struct walk *w, const struct ttp_instant *at)
{
    if (!same_kept(w, at->kept, at->has_gap) || at->added != w->height - at->kept)
        return false;
    for (uint32_t i = 0; i < at->added; i++)
        if (!same_frame(&w->said->frames[at->first + i], &w->p->symbols[w->stack[at->kept + i]]))
            return false;
    return true;
}

static ttape_status apply(struct walk *w, uint32_t event, ttape_error *err)
{
    uint32_t code = w->p->codes[event];
    const struct ttp_code_view *v = &w->p->views[code];
    w->height += (uint32_t)v->before;
    w->low = w->height < w->low ? w->height : w->low;
    w->has_gap = w->has_gap || v->event_class == TTP_CLASS_GAP;
    return v->after != 0 ? push_frame(w, code >> 1, err) : TTAPE_OK;
}

/* Instants before `tick`, which have what is on the stack now. */
static bool same_before(struct walk *w, const struct ttp_instant_segment *s, int64_t tick)
{
    int64_t end = ttp_instant_from(tick, s->exponent);
    for (; w->instant < s->count && s->first + (int64_t)w->instant < end; w->instant++)
        if (!same_instant(w, &w->said->instants[s->start + w->instant]))
            return false;
    return true;
}

static ttape_status walk_events(struct walk *w, uint32_t segment, bool *same, ttape_error *err)
{
    const struct ttp_loaded *p = w->p;
    const struct ttp_instant_segment *s = &w->said->segments[segment];
    int64_t tick = p->segments.segments[segment].base_tick;
    w->wide = ttp_loaded_wide_from(p, p->segment_start[segment]);
    for (uint32_t i = p->segment_start[segment]; i < p->segment_start[segment + 1] && *same; i++) {
        uint32_t delta = p->delta[i];
        uint64_t step = delta != TTP_DELTA_WIDE ? delta : (uint64_t)p->wide[w->wide++];
        tick = (int64_t)((uint64_t)tick + step);
        *same = (int64_t)step >= 0 && same_before(w, s, tick) &&
                p->views[p->codes[i]].event_class != TTP_CLASS_SWITCH;
        if (*same)
            TTP_TRY(apply(w, i, err));
    }
    *same = *same && w->instant == s->count && same_kept(w, s->kept, s->has_gap);
    return TTAPE_OK;
}

static ttape_status walk_segment(struct walk *w, uint32_t segment, bool *same, ttape_error *err)
{
    const struct ttp_segment *g = &w->p->segments.segments[segment];
    *same = true;
    if (w->said->segments[segment].exponent == TTP_INSTANTS_UNKNOWN)
        return TTAPE_OK;
    w->height = w->instant = 0;
    w->has_gap = false;
    for (uint32_t i = 0; i < g->start.frame_count; i++)
        TTP_TRY(push_frame(w, w->p->open[g->start.frame_start + i], err));
    w->low = w->before = w->height;
    return walk_events(w, segment, same, err);
}

ttape_status ttp_verify_instants(struct ttp_trace_decoder *d, const struct ttp_loaded *p,
                                 uint32_t *wrong, ttape_error *err)
{
    struct ttp_read_instants said;
    struct walk w = {.decoder = d, .p = p};
    *wrong = UINT32_MAX;
    TTP_TRY(ttp_instants_load(d, p, &said, err));
    ttape_status status = TTAPE_OK;
    w.said = &said.in;
    for (uint32_t s = 0; status == TTAPE_OK && said.in.segments != NULL && *wrong == UINT32_MAX &&
                         s < said.segment_count;
         s++) {
        bool same;
        status = walk_segment(&w, s, &same, err);
        if (status == TTAPE_OK && !same)
            *wrong = s;
    }
    ttp_memory_give(&d->memory, w.stack, w.capacity, sizeof *w.stack);
    ttp_instants_drop(d, &said);
    return status;
}

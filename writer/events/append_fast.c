/* One tight loop without calls; everything unusual leaves it. State lives in locals and is written
 * back once. */
#include "writer/events/append_fast.h"

#include "format/container/partition.h"
#include "writer/events/off_times.h"
#include "writer/frames.h"

/* From here on 2^24 differences of less than 2^32 do not get to INT64_MAX, which no tick may be. */
#define LAST_TICK (INT64_MAX - ((int64_t)1 << 57))

#define DEPTH_AUTO_ENTER (TTAPE_DEPTH_AUTO - 1) /* of calls; of an exit it is one more */

/* What a copy of the loop is for: calls of 16 bytes, ticks that are nanoseconds, depths. */
enum { CALLS = 1, EXACT = 2, DEEP = 4 };

/* What the loop has in registers: stores to measures must not make the compiler load the writer's
 * fields again for every event. */
struct fast {
    struct ttp_site_state *sites;
    struct ttp_open *frames, *top,
        *low;                     /* behind the innermost that is open; the lowest of these */
    const struct ttp_open *floor; /* below it all is for the slow path */
    uint64_t origin, resolution;
    int64_t depth, last; /* of the next enter, where depths are recorded; tick */
    uint32_t site_count, epoch;
    uint32_t event; /* of the segment, at first */
    bool timed;
};

/* One event, of either shape. */
struct item {
    uint64_t time_ns;
    uint32_t site, depth; /* TTAPE_DEPTH_AUTO */
    bool exits, is_plain; /* and says no depth, where none is asked for */
};

static inline struct item item_at(const struct ttp_events *from, uint32_t i, bool calls, bool deep)
{
    if (calls) {
        const ttape_enter_exit *c = from->calls + i;
        uint32_t depth = c->depth_exit >> 1;
        return (struct item){c->time_ns, c->site,
                             depth == TTAPE_DEPTH_AUTO >> 1 ? TTAPE_DEPTH_AUTO : depth,
                             (c->depth_exit & 1) != 0, deep || c->depth_exit >= DEPTH_AUTO_ENTER};
    }
    const ttape_event *e = &from->events[i];
    return (struct item){e->time_ns, e->site, e->depth, e->kind == TTAPE_EVENT_EXIT,
                         e->kind <= TTAPE_EVENT_EXIT && (deep || e->depth == TTAPE_DEPTH_AUTO)};
}

/* exact: ticks are nanoseconds from the origin. */
static inline int64_t tick_of(const struct fast *f, uint64_t time_ns, bool exact)
{
    if (exact)
        return (int64_t)(time_ns - f->origin);
    return f->timed ? ttp_tick_of(time_ns, f->origin, f->resolution) : 0;
}

static inline __attribute__((always_inline)) bool enter(struct fast *f, uint32_t site, int64_t tick,
                                                        uint64_t elapsed, uint32_t event,
                                                        uint32_t *code, bool deep)
{
    if (site >= f->site_count)
        return false;
    struct ttp_site_state *state = &f->sites[site];
    if (state->enter_symbol == 0 || state->touched != f->epoch)
        return false;
    uint32_t symbol = state->enter_symbol - 1;
    if (f->top != f->frames)
        f->top[-1].self_ticks = ttp_add_ticks(f->top[-1].self_ticks, (int64_t)elapsed, 0);
    *f->top++ = (struct ttp_open){tick, 0, 0, symbol, site, site, TTP_CLASS_ENTER, event, 0};
    f->depth += deep;
    *code = symbol << 1;
    state->call_count++;
    if (state->active++ == 0)
        state->active_since = tick;
    return true;
}

static inline __attribute__((always_inline)) bool leave(struct fast *f, uint32_t site, int64_t tick,
                                                        uint64_t elapsed, uint32_t *code, bool deep)
{
    if (f->top == f->floor || f->top[-1].site != site)
        return false;
    if (ttp_frame_ticks(f->top - 1, tick) >= f->sites[site].wanted_ticks)
        return false; /* it may be one of the longest */
    struct ttp_open *frame = --f->top;
    f->depth -= deep;
    if (__builtin_expect(frame < f->low, 0))
        f->low = frame;
    frame->self_ticks = ttp_add_ticks(frame->self_ticks, (int64_t)elapsed, 0);
    *code = frame->symbol << 1 | 1;
    ttp_end_frame(&f->sites[site], frame, tick);
    return true;
}

static inline __attribute__((always_inline)) uint32_t
take(struct fast *state, const struct ttp_events *from, uint32_t first, uint32_t count,
     uint32_t *codes, uint32_t *delta, uint32_t shape)
{
    const bool calls = (shape & CALLS) != 0, exact = (shape & EXACT) != 0;
    const bool deep = (shape & DEEP) != 0;
    const struct ttp_events rest = {calls ? NULL : from->events + first,
                                    calls ? from->calls + first : NULL};
    struct fast f = *state;
    uint32_t i = 0;
    for (; i < count; i++) {
        struct item item = item_at(&rest, i, calls, deep);
        if (!item.is_plain)
            break;
        int64_t tick = tick_of(&f, item.time_ns, exact);
        uint64_t elapsed = (uint64_t)tick - (uint64_t)f.last;
        bool in_step =
            !deep || item.depth == TTAPE_DEPTH_AUTO || item.depth == f.depth - item.exits;
        if (elapsed >= UINT32_MAX || !in_step)
            break;
        bool taken = item.exits ? leave(&f, item.site, tick, elapsed, &codes[i], deep)
                                : enter(&f, item.site, tick, elapsed, f.event + i, &codes[i], deep);
        if (!taken)
            break;
        delta[i] = (uint32_t)elapsed;
        f.last = tick;
    }
    *state = f;
    return i;
}

/* Copies that do not share their registers. */
static __attribute__((noinline)) uint32_t take_calls(struct fast *state,
                                                     const struct ttp_events *from, uint32_t first,
                                                     uint32_t count, uint32_t *codes,
                                                     uint32_t *delta)
{
    return take(state, from, first, count, codes, delta, CALLS | EXACT);
}

uint32_t ttp_append_fast(ttape_writer *w, struct ttp_pending *p, struct ttp_scope *scope,
                         struct ttp_stream_state *s, struct ttp_segment *g,
                         const struct ttp_events *from, uint32_t first, uint32_t count)
{
    struct ttp_stack *stack = &s->stacks[s->current];
    uint32_t *codes = p->codes + p->event_count, *delta = p->delta + p->event_count, i;
    bool calls = from->calls != NULL, exact = w->timed && w->resolution == 1;
    int64_t base = (int64_t)s->depth_offset + s->unknown_depth;
    if (!s->started || base < 0 || count == 0 || s->last_tick > LAST_TICK || stack->frames == NULL)
        return 0;
    struct fast f = {scope->site_states.data,
                     stack->frames,
                     stack->frames + stack->count,
                     stack->frames + stack->count,
                     stack->frames + ttp_off_height(stack),
                     w->options.origin_ns,
                     w->resolution,
                     base + stack->count,
                     s->last_tick,
                     scope->site_count,
                     w->epoch,
                     g->event_count,
                     w->timed};
    /* as many as the stack has room for, whatever they are: the loop does not ask */
    count = count < stack->capacity - stack->count ? count : stack->capacity - stack->count;
    bool deep = item_at(from, first, calls, true).depth != TTAPE_DEPTH_AUTO;
    if (calls && exact && deep)
        i = take(&f, from, first, count, codes, delta, CALLS | EXACT | DEEP);
    else if (calls && exact)
        i = take_calls(&f, from, first, count, codes, delta);
    else if (calls)
        i = take(&f, from, first, count, codes, delta, CALLS | DEEP);
    else
        i = take(&f, from, first, count, codes, delta, DEEP | (exact ? EXACT : 0));
    if (i == 0)
        return 0;
    if (w->timed) {
        int64_t start = tick_of(&f, item_at(from, first, calls, true).time_ns, exact);
        p->first_tick = start < p->first_tick ? start : p->first_tick;
        p->last_tick = f.last > p->last_tick ? f.last : p->last_tick;
    }
    stack->count = (uint32_t)(f.top - f.frames);
    uint32_t low = (uint32_t)(f.low - f.frames);
    stack->low = low < stack->low ? low : stack->low;
    if (base + low < g->min_depth)
        g->min_depth = (uint32_t)(base + low);
    s->last_tick = f.last;
    s->valued = false;
    s->next_event += i;
    g->event_count += i;
    p->event_count += i;
    return i;
}

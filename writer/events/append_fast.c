/* One tight loop without calls; everything unusual leaves it. State lives in locals and is written
 * back once. */
#include "writer/events/append_fast.h"

#include "format/container/partition.h"
#include "writer/events/frames.h"
#include "writer/events/off_times.h"

/* What the loop has in registers: stores to measures must not make the compiler load the writer's
 * fields again for every event. `exact`: ticks are nanoseconds from the origin. */
struct fast {
    struct ttp_site_state *sites;
    struct ttp_open *frames;
    uint64_t origin, resolution;
    int64_t depth_base, last;
    uint32_t site_count, epoch, capacity, off_height, open, low;
    bool timed, exact;
};

/* One event, of either shape. */
struct item {
    uint64_t time_ns;
    uint32_t site, depth; /* TTAPE_DEPTH_AUTO */
    bool exits, is_plain;
};

static inline struct item item_at(const struct ttp_events *from, uint32_t i, bool calls)
{
    if (calls) {
        const ttape_enter_exit *c = &from->calls[i];
        uint32_t depth = c->depth_exit >> 1;
        return (struct item){c->time_ns, c->site,
                             depth == TTAPE_DEPTH_AUTO >> 1 ? TTAPE_DEPTH_AUTO : depth,
                             (c->depth_exit & 1) != 0, true};
    }
    const ttape_event *e = &from->events[i];
    return (struct item){e->time_ns, e->site, e->depth, e->kind == TTAPE_EVENT_EXIT,
                         e->kind <= TTAPE_EVENT_EXIT};
}

static inline int64_t tick_of(const struct fast *f, uint64_t time_ns)
{
    if (f->exact)
        return (int64_t)(time_ns - f->origin);
    return f->timed ? ttp_tick_of(time_ns, f->origin, f->resolution) : 0;
}

static inline __attribute__((always_inline)) bool enter(struct fast *f, uint32_t site, int64_t tick,
                                                        uint64_t elapsed, uint32_t *code)
{
    struct ttp_site_state *state = &f->sites[site];
    if (state->enter_symbol == 0 || state->touched != f->epoch || f->open == f->capacity)
        return false;
    uint32_t symbol = state->enter_symbol - 1;
    if (f->open != 0)
        f->frames[f->open - 1].self_ticks =
            ttp_add_ticks(f->frames[f->open - 1].self_ticks, (int64_t)elapsed, 0);
    f->low = f->open < f->low ? f->open : f->low;
    f->frames[f->open++] = (struct ttp_open){tick, 0, 0, symbol, site, site, TTP_CLASS_ENTER};
    *code = symbol << 1;
    state->call_count++;
    if (state->active++ == 0)
        state->active_since = tick;
    return true;
}

static inline __attribute__((always_inline)) bool leave(struct fast *f, uint32_t site, int64_t tick,
                                                        uint64_t elapsed, uint32_t *code)
{
    if (f->open == f->off_height || f->frames[f->open - 1].site != site)
        return false;
    struct ttp_open *frame = &f->frames[--f->open];
    f->low = f->open < f->low ? f->open : f->low;
    frame->self_ticks = ttp_add_ticks(frame->self_ticks, (int64_t)elapsed, 0);
    *code = frame->symbol << 1 | 1;
    ttp_end_frame(&f->sites[site], frame, tick);
    return true;
}

static inline __attribute__((always_inline)) uint32_t
take(struct fast *state, const struct ttp_events *from, uint32_t first, uint32_t count,
     uint32_t *codes, uint32_t *delta, bool calls, bool exact)
{
    struct fast f = *state;
    uint32_t i = 0;
    f.exact = exact;
    for (; i < count; i++) {
        struct item item = item_at(from, first + i, calls);
        if (!item.is_plain || item.site >= f.site_count)
            break;
        int64_t tick = tick_of(&f, item.time_ns);
        uint64_t elapsed = (uint64_t)tick - (uint64_t)f.last;
        uint32_t below = f.open - item.exits;
        bool in_step = item.depth == TTAPE_DEPTH_AUTO || item.depth == f.depth_base + below;
        if (elapsed >= UINT32_MAX || !in_step || tick == INT64_MAX)
            break;
        bool taken = item.exits ? leave(&f, item.site, tick, elapsed, &codes[i])
                                : enter(&f, item.site, tick, elapsed, &codes[i]);
        if (!taken)
            break;
        delta[i] = (uint32_t)elapsed;
        f.last = tick;
    }
    *state = f;
    return i;
}

uint32_t ttp_append_fast(ttape_writer *w, struct ttp_pending *p, struct ttp_scope *scope,
                         struct ttp_stream_state *s, struct ttp_segment *g,
                         const struct ttp_events *from, uint32_t first, uint32_t count)
{
    struct ttp_stack *stack = &s->stacks[s->current];
    uint32_t *codes = p->codes + p->event_count, *delta = p->delta + p->event_count, i;
    bool calls = from->calls != NULL, exact = w->timed && w->resolution == 1;
    struct fast f = {scope->site_states.data,
                     stack->frames,
                     w->options.origin_ns,
                     w->resolution,
                     (int64_t)s->depth_offset + s->unknown_depth,
                     s->last_tick,
                     scope->site_count,
                     w->epoch,
                     stack->capacity,
                     ttp_off_height(stack),
                     stack->count,
                     stack->count,
                     w->timed,
                     exact};
    if (!s->started || f.depth_base < 0 || count == 0)
        return 0;
    if (calls && exact)
        i = take(&f, from, first, count, codes, delta, true, true);
    else if (calls)
        i = take(&f, from, first, count, codes, delta, true, false);
    else
        i = take(&f, from, first, count, codes, delta, false, exact);
    if (i == 0)
        return 0;
    if (w->timed) {
        int64_t start = tick_of(&f, item_at(from, first, calls).time_ns);
        p->first_tick = start < p->first_tick ? start : p->first_tick;
        p->last_tick = f.last > p->last_tick ? f.last : p->last_tick;
    }
    stack->count = f.open;
    stack->low = f.low < stack->low ? f.low : stack->low;
    if (f.depth_base + f.low < g->min_depth)
        g->min_depth = (uint32_t)(f.depth_base + f.low);
    s->last_tick = f.last;
    s->valued = false;
    s->next_event += i;
    g->event_count += i;
    p->event_count += i;
    return i;
}

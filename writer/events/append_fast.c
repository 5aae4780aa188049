/* One tight loop without calls; everything unusual leaves it. State lives in locals and is written
 * back once. */
#include "writer/events/append_fast.h"

#include "format/container/partition.h"
#include "writer/events/frames.h"
#include "writer/events/off_times.h"

/* The writer's clock in locals: stores to measures must not make the compiler load it again for
 * every event. */
struct clock {
    uint64_t origin, resolution;
    bool timed;
};

static inline int64_t tick_of(const struct clock *clock, const ttape_event *event)
{
    return clock->timed ? ttp_tick_of(event->time_ns, clock->origin, clock->resolution) : 0;
}

uint32_t ttp_append_fast(ttape_writer *w, struct ttp_pending *p, struct ttp_scope *scope,
                         struct ttp_stream_state *s, struct ttp_segment *g,
                         const ttape_event *events, uint32_t count)
{
    struct ttp_stack *stack = &s->stacks[s->current];
    struct ttp_site_state *sites = scope->site_states.data;
    struct ttp_open *frames = stack->frames;
    uint32_t *codes = p->codes + p->event_count, *delta = p->delta + p->event_count;
    const uint32_t site_count = scope->site_count, epoch = w->epoch, capacity = stack->capacity;
    const struct clock clock = {w->options.origin_ns, w->resolution, w->timed};
    const int64_t depth_base = (int64_t)s->depth_offset + s->unknown_depth;
    const uint32_t off_height = ttp_off_height(stack);
    uint32_t open = stack->count, low = open, i = 0;
    int64_t last = s->last_tick, tick = last;
    if (!s->started || depth_base < 0)
        return 0;
    for (; i < count; i++) {
        const ttape_event *event = &events[i];
        if (event->kind > TTAPE_EVENT_EXIT || event->site >= site_count)
            break;
        tick = tick_of(&clock, event);
        uint64_t elapsed = (uint64_t)tick - (uint64_t)last;
        uint32_t below = open - (event->kind == TTAPE_EVENT_EXIT);
        bool in_step = event->depth == TTAPE_DEPTH_AUTO || event->depth == depth_base + below;
        if (elapsed >= UINT32_MAX || !in_step || tick == INT64_MAX)
            break;
        struct ttp_site_state *site = &sites[event->site];
        if (event->kind == TTAPE_EVENT_ENTER) {
            if (site->enter_symbol == 0 || site->touched != epoch || open == capacity)
                break;
            if (open != 0)
                frames[open - 1].self_ticks =
                    ttp_add_ticks(frames[open - 1].self_ticks, (int64_t)elapsed, 0);
            low = open < low ? open : low;
            frames[open++] = (struct ttp_open){
                tick, 0, 0, site->enter_symbol - 1, event->site, event->site, TTP_CLASS_ENTER};
            codes[i] = (site->enter_symbol - 1) << 1;
            site->call_count++;
            if (site->active++ == 0)
                site->active_since = tick;
        } else {
            if (open == off_height || frames[open - 1].site != event->site)
                break;
            struct ttp_open *f = &frames[--open];
            low = open < low ? open : low;
            f->self_ticks = ttp_add_ticks(f->self_ticks, (int64_t)elapsed, 0);
            codes[i] = f->symbol << 1 | 1;
            ttp_end_frame(site, f, tick);
        }
        delta[i] = (uint32_t)elapsed;
        last = tick;
    }
    if (i == 0)
        return 0;
    if (w->timed) {
        int64_t first = tick_of(&clock, &events[0]);
        p->first_tick = first < p->first_tick ? first : p->first_tick;
        p->last_tick = last > p->last_tick ? last : p->last_tick;
    }
    stack->count = open;
    stack->low = low < stack->low ? low : stack->low;
    if (depth_base + low < g->min_depth)
        g->min_depth = (uint32_t)(depth_base + low);
    s->last_tick = last;
    s->valued = false;
    s->next_event += i;
    g->event_count += i;
    p->event_count += i;
    return i;
}

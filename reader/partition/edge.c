/* The state of a stream between two events: at a segment's edges it is stored, inside it is what
 * replaying the segment up to there gives. */
#include <string.h>

#include "format/base/fail.h"
#include "format/base/limits.h"
#include "format/times/times.h"
#include "reader/decoder_pool.h"
#include "reader/partition/frame_stacks.h"
#include "reader/partition/partition_decoder.h"
#include "reader/partition/times_reader.h"

struct edge_out {
    struct ttp_trace_decoder *decoder;
    const struct ttp_loaded *p;
    struct ttp_edge_frames *frames;
    uint32_t count;
    bool without_self;
};

static ttape_status put_frame(struct edge_out *o, uint8_t event_class, uint32_t argument,
                              uint32_t stack, int64_t enter_tick, int64_t self_ticks,
                              ttape_error *err)
{
    const struct ttp_loaded *p = o->p;
    TTP_TRY(ttp_memory_reserve(o->frames->memory, &o->frames->items, &o->frames->capacity,
                               o->count + 1ull, sizeof *o->frames->items, err));
    ttape_open_frame *f = &o->frames->items[o->count++];
    *f = (ttape_open_frame){.kind = TTAPE_EVENT_SIGNAL_BEGIN, .site = TTAPE_NONE, .stack = stack};
    if (p->head.resolution_ns != 0) {
        f->enter_time_ns = ttp_time_of(enter_tick, p->head.origin_ns, p->head.resolution_ns);
        f->self_ns = o->without_self ? 0 : (int64_t)((uint64_t)self_ticks * p->head.resolution_ns);
    }
    if (event_class == TTP_CLASS_SIGNAL) {
        f->argument = argument;
        return TTAPE_OK;
    }
    f->kind = event_class == TTP_CLASS_ENTER ? TTAPE_EVENT_ENTER : TTAPE_EVENT_OPEN;
    f->site = ttp_definitions_find(&o->decoder->reader->definitions, p->scope, TTP_DEFINES_SITES,
                                   argument);
    if (f->site == TTAPE_NONE)
        return ttp_fail(err, TTAPE_E_CORRUPT, "F-EVT-08", p->payload_offset,
                        "partition names site '%u', which is not defined", argument);
    return TTAPE_OK;
}

/* kept_to_end: start frames as they are at the end edge. */
static ttape_status put_stored(struct edge_out *o, const struct ttp_frame *frames, uint32_t count,
                               bool kept_to_end, ttape_error *err)
{
    for (uint32_t i = 0; i < count; i++)
        TTP_TRY(put_frame(o, frames[i].event_class, frames[i].argument, frames[i].stack,
                          frames[i].enter_tick,
                          kept_to_end ? frames[i].end_self_ticks : frames[i].self_ticks, err));
    return TTAPE_OK;
}

static uint64_t time_of(const struct ttp_loaded *p, int64_t tick)
{
    return p->head.resolution_ns == 0 ? 0
                                      : ttp_time_of(tick, p->head.origin_ns, p->head.resolution_ns);
}

static ttape_status stored_edge(struct edge_out *o, const struct ttp_segment *g, bool at_end,
                                ttape_edge *out, ttape_error *err)
{
    const struct ttp_segments *s = &o->p->segments;
    const struct ttp_edge_state *state = at_end ? &g->end : &g->start;
    uint32_t kept = at_end ? g->kept : g->start.frame_count;
    TTP_TRY(put_stored(o, s->start_frames + g->start.frame_start, kept, at_end, err));
    if (at_end)
        TTP_TRY(put_stored(o, s->end_frames + g->end.frame_start, g->end.frame_count - kept, false,
                           err));
    *out = (ttape_edge){.event_number = g->first_event + (at_end ? g->event_count : 0),
                        .time_ns = time_of(o->p, at_end ? g->end_tick : g->base_tick),
                        .stack = state->stack,
                        .unknown_depth = state->unknown_depth,
                        .depth_offset = state->depth_offset};
    return TTAPE_OK;
}

/* ---- replay ---- */

struct replay {
    struct ttp_frame_stacks stacks;
    const struct ttp_loaded *p;
    int64_t tick;
    uint32_t wide;
    bool timed;
};

#define FRAME_ENTERED 1u /* in this segment; without times enter_tick is the event that did */

/* The codes were verified, so nothing here can be wrong. */
static ttape_status replay_event(struct replay *r, uint32_t event, ttape_error *err)
{
    const struct ttp_loaded *p = r->p;
    struct ttp_frame_stacks *s = &r->stacks;
    uint32_t code = p->codes[event];
    const struct ttp_code_view *v = &p->views[code];
    if (r->timed) {
        uint32_t delta = p->delta[event];
        uint64_t step = delta != TTP_DELTA_WIDE ? delta : (uint64_t)p->wide[r->wide++];
        r->tick = (int64_t)((uint64_t)r->tick + step);
        if (s->current->top != TTP_NO_FRAME) {
            struct ttp_stack_frame *top = &s->frames[s->current->top];
            top->self_ticks = (int64_t)((uint64_t)top->self_ticks + step);
        }
    }
    if (v->after != 0) {
        TTP_TRY(ttp_stacks_push(s, code >> 1, err));
        struct ttp_stack_frame *top = &s->frames[s->current->top];
        top->enter_tick = r->timed ? r->tick : (int64_t)event;
        top->self_ticks = 0;
        top->flags = FRAME_ENTERED;
    }
    for (int32_t frames = v->before; frames != 0; frames++)
        ttp_stacks_pop(s);
    if (v->event_class == TTP_CLASS_SWITCH)
        ttp_stacks_switch(s, v->argument);
    return TTAPE_OK;
}

static ttape_status replay(struct replay *r, uint32_t segment, uint32_t event, ttape_error *err)
{
    const struct ttp_loaded *p = r->p;
    const struct ttp_segment *g = &p->segments.segments[segment];
    ttp_stacks_start(&r->stacks);
    for (uint32_t i = 0; i < g->start.frame_count; i++) {
        uint32_t frame = g->start.frame_start + i;
        ttp_stacks_switch(&r->stacks, p->segments.start_frames[frame].stack);
        TTP_TRY(ttp_stacks_push(&r->stacks, p->open[frame], err));
        struct ttp_stack_frame *top = &r->stacks.frames[r->stacks.current->top];
        top->enter_tick = p->segments.start_frames[frame].enter_tick;
        top->self_ticks = p->segments.start_frames[frame].self_ticks;
        top->flags = 0;
    }
    ttp_stacks_switch(&r->stacks, g->start.stack);
    r->tick = g->base_tick;
    r->wide = ttp_loaded_wide_from(p, p->segment_start[segment]);
    for (uint32_t i = p->segment_start[segment]; i < event; i++)
        TTP_TRY(replay_event(r, i, err));
    return TTAPE_OK;
}

/* After a replay without times: the blocks that the open frames were entered in are enough. */
static ttape_status find_enter_ticks(struct replay *r, struct ttp_trace_decoder *d,
                                     uint32_t segment, ttape_error *err)
{
    const struct ttp_loaded *p = r->p;
    struct ttp_frame_stacks *s = &r->stacks;
    struct ttp_loaded *same;
    for (uint32_t slot = 0; slot < s->stack_count; slot++) {
        uint32_t frame = s->stacks[slot].epoch == s->epoch ? s->stacks[slot].top : TTP_NO_FRAME;
        for (; frame != TTP_NO_FRAME; frame = s->frames[frame].below) {
            if ((s->frames[frame].flags & FRAME_ENTERED) == 0)
                continue;
            uint32_t event = (uint32_t)s->frames[frame].enter_tick;
            const struct ttp_range range = {event, event + 1, 0, false};
            TTP_TRY(ttp_loaded_reach(d, p->partition, &range, &same, err));
            s->frames[frame].enter_tick = ttp_times_tick_at(p, segment, event);
        }
    }
    return TTAPE_OK;
}

static ttape_status put_stacks(struct edge_out *o, const struct ttp_frame_stacks *s,
                               ttape_error *err)
{
    for (uint32_t slot = 0; slot < s->stack_count; slot++) {
        const struct ttp_frame_stack *stack = &s->stacks[slot];
        if (stack->epoch != s->epoch || stack->height == 0)
            continue;
        uint32_t first = o->count, frame = stack->top;
        for (uint32_t i = 0; i < stack->height; i++, frame = s->frames[frame].below) {
            struct ttp_symbol symbol = o->p->symbols[s->frames[frame].symbol];
            TTP_TRY(put_frame(o, symbol.event_class, symbol.argument, s->numbers.numbers[slot],
                              s->frames[frame].enter_tick, s->frames[frame].self_ticks, err));
        }
        for (uint32_t a = first, b = o->count - 1; a < b; a++, b--) {
            ttape_open_frame *list = o->frames->items, swap = list[a];
            list[a] = list[b];
            list[b] = swap;
        }
    }
    return TTAPE_OK;
}

static ttape_status replayed_edge(struct edge_out *o, uint32_t segment, uint32_t event,
                                  ttape_edge *out, ttape_error *err)
{
    const struct ttp_loaded *p = o->p;
    struct replay r = {.p = p, .timed = p->delta != NULL && !o->without_self};
    struct ttp_walker w = ttp_walker_at(p, segment, event);
    TTP_TRY(ttp_stacks_open(&r.stacks, &o->decoder->memory, &p->stack_numbers, err));
    ttape_status status = replay(&r, segment, event, err);
    if (status == TTAPE_OK && p->delta != NULL && o->without_self)
        status = find_enter_ticks(&r, o->decoder, segment, err);
    if (status == TTAPE_OK)
        status = put_stacks(o, &r.stacks, err);
    *out = (ttape_edge){.event_number = p->segments.segments[segment].first_event + event -
                                        p->segment_start[segment],
                        .time_ns = time_of(p, w.tick),
                        .stack = r.stacks.current_number,
                        .unknown_depth = w.unknown,
                        .depth_offset = w.offset};
    ttp_stacks_close(&r.stacks);
    return status;
}

ttape_status ttp_loaded_edge(struct ttp_trace_decoder *d, const struct ttp_loaded *p,
                             uint32_t segment, uint32_t event, struct ttp_edge_frames *frames,
                             bool without_self, ttape_edge *out, ttape_error *err)
{
    struct edge_out o = {d, p, frames, 0, without_self};
    const struct ttp_segment *g = &p->segments.segments[segment];
    bool at_start = event == p->segment_start[segment];
    bool at_end = event == p->segment_start[segment + 1];
    TTP_TRY(at_start || at_end ? stored_edge(&o, g, at_end, out, err)
                               : replayed_edge(&o, segment, event, out, err));
    out->frame_count = o.count;
    out->frames = frames->items;
    return TTAPE_OK;
}

static ttape_status get_segment(struct ttp_trace_decoder *d, uint32_t partition, uint32_t segment,
                                struct ttp_edge_frames *frames, ttape_segment_info *out,
                                ttape_error *err)
{
    struct ttp_loaded *p;
    TTP_TRY(ttp_loaded_get(d, partition, TTP_STAGE_LIGHT, &p, err));
    if (segment >= p->segments.segment_count)
        return ttp_fail(err, TTAPE_E_NOT_FOUND, "", TTAPE_ERROR_NO_OFFSET,
                        "no segment '%u' in partition '%u'", segment, partition);
    const struct ttp_segment *g = &p->segments.segments[segment];
    struct edge_out o = {d, p, frames, 0, false};
    ttape_segment_info info = {.event_count = g->event_count, .min_depth = g->min_depth};
    info.stream =
        ttp_definitions_find(&d->reader->definitions, p->scope, TTP_DEFINES_STREAMS, g->stream);
    TTP_TRY(stored_edge(&o, g, false, &info.start, err));
    info.start.frame_count = o.count;
    TTP_TRY(stored_edge(&o, g, true, &info.end, err));
    info.end.frame_count = o.count - info.start.frame_count;
    info.start.frames = frames->items;
    info.end.frames = frames->items != NULL ? frames->items + info.start.frame_count : NULL;
    *out = info;
    return TTAPE_OK;
}

ttape_status ttape_reader_get_segment(ttape_reader *r, uint32_t partition, uint32_t segment,
                                      ttape_segment_info *out, ttape_error *err)
{
    struct ttp_thread_results *results;
    struct ttp_trace_decoder *d = NULL;
    if (partition >= r->partition_count)
        return ttp_fail(err, TTAPE_E_NOT_FOUND, "", TTAPE_ERROR_NO_OFFSET, "no partition '%u'",
                        partition);
    TTP_TRY(ttp_thread_results(r, &results, err));
    TTP_TRY(ttp_decoder_take(&r->pool, &d, err));
    ttape_status status = get_segment(d, partition, segment, &results->frames, out, err);
    ttp_decoder_give(d);
    return status;
}

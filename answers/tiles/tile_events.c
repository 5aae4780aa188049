/* From a decoded segment to what was on the stack at its instants. Between two of them events only
 * push and pop. */
#include "answers/tiles/tiles_internal.h"
#include "format/base/fail.h"
#include "format/times/times.h"

struct walk {
    struct ttape_tile *t;
    const struct ttp_loaded *p;
    struct ttp_frame_stacks stacks; /* flags of a frame: its node + 1; 0: none yet */
    bool same_axis;
    int64_t tick;      /* of the partition */
    int64_t at;        /* the same, of the tile's axis */
    int64_t next;      /* instant of the segment */
    int64_t next_tick; /* its tick; INT64_MAX: behind all ticks, or there is none */
    uint32_t wide;
};

static void wait_for(struct walk *w, int64_t instant)
{
    int64_t most = INT64_MAX >> w->t->spacing;
    w->next = instant;
    w->next_tick = instant > most ? INT64_MAX : (int64_t)((uint64_t)instant << w->t->spacing);
}

/* The node of the current stack's top frame. Frames without one stand above those that have one. */
static ttape_status name_stack(struct walk *w, uint32_t *node, ttape_error *err)
{
    struct ttape_tile *t = w->t;
    struct ttp_frame_stacks *s = &w->stacks;
    uint32_t frame = s->current->top, count = 0;
    while (frame != TTP_NO_FRAME && s->frames[frame].flags == 0) {
        TTP_TRY(ttp_memory_reserve(&t->memory, &t->scratch, &t->scratch_capacity, count + 1ull,
                                   sizeof *t->scratch, err));
        t->scratch[count++] = frame;
        frame = s->frames[frame].below;
    }
    *node = frame == TTP_NO_FRAME ? TTP_NODE_NONE : s->frames[frame].flags - 1;
    while (count != 0) {
        struct ttp_stack_frame *f = &s->frames[t->scratch[--count]];
        const struct ttp_code_view *v = &w->p->views[f->symbol << 1];
        bool is_signal = v->event_class == TTP_CLASS_SIGNAL;
        TTP_TRY(ttp_tile_name_frame(t, is_signal, is_signal ? v->argument : v->site, node, err));
        f->flags = *node + 1;
    }
    return TTAPE_OK;
}

/* The interval that ends with this event has what was there before it (F-TIL-02). */
static ttape_status pass_time(struct walk *w, uint32_t event, ttape_error *err)
{
    const struct ttp_loaded *p = w->p;
    uint32_t delta = p->delta[event];
    uint64_t step = delta != TTP_DELTA_WIDE ? delta : (uint64_t)p->wide[w->wide++];
    int64_t before = w->at;
    w->tick = (int64_t)((uint64_t)w->tick + step);
    w->at = w->same_axis ? w->tick
                         : ttp_tile_tick(w->t, p->head.origin_ns, p->head.resolution_ns, w->tick);
    if (w->at <= w->next_tick || w->at <= before)
        return TTAPE_OK;
    uint32_t node = TTP_NODE_NONE;
    int64_t end = ttp_tile_instant_from(w->t, w->at);
    if (ttp_tile_wants(w->t, w->next, end))
        TTP_TRY(name_stack(w, &node, err));
    ttp_tile_give(w->t, w->next, end, node);
    wait_for(w, end);
    return TTAPE_OK;
}

static ttape_status walk_event(struct walk *w, uint32_t event, ttape_error *err)
{
    struct ttp_frame_stacks *s = &w->stacks;
    uint32_t code = w->p->codes[event];
    const struct ttp_code_view *v = &w->p->views[code];
    TTP_TRY(pass_time(w, event, err));
    for (int32_t frames = v->before; frames != 0; frames++)
        ttp_stacks_pop(s);
    if (v->after != 0) {
        TTP_TRY(ttp_stacks_push(s, code >> 1, err));
        s->frames[s->current->top].flags = 0;
    }
    if (v->event_class == TTP_CLASS_SWITCH && (code & 1) == 0)
        ttp_stacks_switch(s, v->argument);
    if (v->event_class == TTP_CLASS_GAP)
        w->t->has_gap = true;
    return TTAPE_OK;
}

static ttape_status start_walk(struct walk *w, const struct ttp_segment *g, ttape_error *err)
{
    const struct ttp_loaded *p = w->p;
    const struct ttp_tile_carry *carry = &w->t->carry;
    bool carries = carry->is_valid && carry->count == g->start.frame_count;
    struct ttp_frame_stacks *s = &w->stacks;
    ttp_stacks_start(s);
    for (uint32_t i = 0; i < g->start.frame_count; i++) {
        ttp_stacks_switch(s, p->segments.start_frames[g->start.frame_start + i].stack);
        TTP_TRY(ttp_stacks_push(s, p->open[g->start.frame_start + i], err));
        s->frames[s->current->top].flags = carries ? carry->nodes[i] : 0;
    }
    ttp_stacks_switch(s, g->start.stack);
    w->tick = g->base_tick;
    w->at = w->same_axis ? w->tick
                         : ttp_tile_tick(w->t, p->head.origin_ns, p->head.resolution_ns, w->tick);
    wait_for(w, ttp_tile_instant_from(w->t, w->at));
    return TTAPE_OK;
}

/* Frames of all stacks, by stack, outermost first: as the edges section has them. */
static ttape_status keep_open(struct walk *w, ttape_error *err)
{
    struct ttp_tile_carry *carry = &w->t->carry;
    const struct ttp_frame_stacks *s = &w->stacks;
    carry->count = 0;
    for (uint32_t slot = 0; slot < s->stack_count; slot++) {
        const struct ttp_frame_stack *stack = &s->stacks[slot];
        if (stack->epoch != s->epoch)
            continue;
        TTP_TRY(ttp_memory_reserve(&w->t->memory, &carry->nodes, &carry->capacity,
                                   (uint64_t)carry->count + stack->height, sizeof *carry->nodes,
                                   err));
        uint32_t at = carry->count + stack->height;
        carry->count = at;
        for (uint32_t f = stack->top; f != TTP_NO_FRAME; f = s->frames[f].below)
            carry->nodes[--at] = s->frames[f].flags;
    }
    return TTAPE_OK;
}

static ttape_status walk_segment(struct walk *w, uint32_t segment, ttape_error *err)
{
    const struct ttp_loaded *p = w->p;
    TTP_TRY(start_walk(w, &p->segments.segments[segment], err));
    w->wide = ttp_loaded_wide_from(p, p->segment_start[segment]);
    uint32_t end = p->segment_start[segment + 1];
    for (uint32_t i = p->segment_start[segment]; i < end && !ttp_tile_is_complete(w->t); i++)
        TTP_TRY(walk_event(w, i, err));
    return keep_open(w, err);
}

ttape_status ttp_tile_from_events(struct ttape_tile *t, const struct ttp_loaded *p,
                                  uint32_t segment, ttape_error *err)
{
    struct walk w = {.t = t,
                     .p = p,
                     .same_axis = p->head.origin_ns == t->axis.origin_ns &&
                                  p->head.resolution_ns == t->axis.resolution_ns};
    w.stacks.memory = &t->memory;
    TTP_TRY(ttp_stacks_open(&w.stacks, &t->memory, &p->stack_numbers, err));
    ttape_status status = walk_segment(&w, segment, err);
    ttp_stacks_close(&w.stacks);
    return status;
}

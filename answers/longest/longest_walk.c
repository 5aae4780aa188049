/* The loop over events: frames with when and by which event they were entered. */
#include "answers/longest/longest_internal.h"

#include <string.h>

#include "format/base/fail.h"
#include "format/times/times.h"
#include "reader/partition/partition_decoder.h"

ttape_status ttp_long_walk_open(struct ttp_long_walk *w, struct ttp_memory *memory,
                                const struct ttp_loaded *p, ttape_error *err)
{
    w->p = p;
    return ttp_stacks_open(&w->stacks, memory, &p->stack_numbers, err);
}

void ttp_long_walk_close(struct ttp_long_walk *w)
{
    if (w->stacks.memory != NULL)
        ttp_memory_give(w->stacks.memory, w->callee_ticks, w->callee_capacity,
                        sizeof *w->callee_ticks);
    ttp_stacks_close(&w->stacks);
}

const struct ttp_stack_frame *ttp_long_walk_frame(const struct ttp_long_walk *w, uint32_t stack,
                                                  uint32_t height)
{
    const struct ttp_frame_stacks *s = &w->stacks;
    uint32_t slot = ttp_stack_slot(&s->numbers, stack);
    if (slot >= s->stack_count || s->numbers.numbers[slot] != stack ||
        s->stacks[slot].epoch != s->epoch || s->stacks[slot].height <= height)
        return NULL;
    uint32_t frame = s->stacks[slot].top;
    for (uint32_t above = s->stacks[slot].height - height - 1; above > 0; above--)
        frame = s->frames[frame].below;
    return &s->frames[frame];
}

static ttape_call_end end_of(const struct ttp_loaded *p, uint32_t event,
                             const struct ttp_code_view *v, int32_t left)
{
    if (!ttp_code_unwinds(v, left))
        return TTAPE_CALL_RETURNED;
    return ttp_call_end_of(p->end_count != 0 ? ttp_loaded_unwind_kind(p, event)
                                             : TTAPE_UNWIND_LEFT);
}

/* F-END-04. A call that was open before the recording, and ends in it, is not even so long. */
static bool is_partial(const struct ttp_long_plan *plan, const struct ttp_code_view *opened,
                       ttape_call_end end)
{
    bool is_least = end == TTAPE_CALL_UNSEEN || end == TTAPE_CALL_LATE || end == TTAPE_CALL_LOST;
    return (plan->ended_only && is_least) ||
           (opened->event_class == TTP_CLASS_OPEN && end != TTAPE_CALL_LEFT);
}

/* Only what is open to the end is asked for: that which ends is_partial() leaves out. */
static bool is_inherited(struct ttp_long_walk *w, const struct ttp_stack_frame *f,
                         const struct ttp_long_call *call)
{
    if (call->end != TTAPE_CALL_LEFT)
        return false;
    uint32_t first = w->reader->partitions[w->p->partition].first_segment;
    uint32_t stream = w->reader->segments[first + w->segment].stream;
    return w->p->views[2 * f->symbol].event_class == TTP_CLASS_OPEN &&
           ttp_long_is_inherited(&w->fork, w->reader, stream, call->enter_ns);
}

/* A frame that is long enough, as it seems. */
static void add_call(struct ttp_long_walk *w, struct ttp_long_heap *heap,
                     const struct ttp_stack_frame *f, int64_t rank_ns, uint32_t site,
                     uint32_t event, ttape_call_end end)
{
    const struct ttp_partition_head *head = &w->p->head;
    const struct ttp_long_plan *plan = w->plan;
    struct ttp_long_call call = {
        .rank_ns = rank_ns,
        .partition = w->p->partition,
        .segment = w->segment,
        .end_event = event,
        .enter_event = f->start == TTP_NO_FRAME ? f->flags : TTP_LONGEST_NO_EVENT,
        .site = site,
        .stack = w->stacks.current_number,
        .height = w->stacks.current->height - 1,
        .end = end,
        .enter_ns = ttp_time_of(f->enter_tick, head->origin_ns, head->resolution_ns),
        .end_ns = ttp_time_of(w->tick, head->origin_ns, head->resolution_ns),
        .self_ns = (int64_t)((uint64_t)f->self_ticks * head->resolution_ns)};
    if (!ttp_long_is_in_range(plan, call.end_ns) || is_inherited(w, f, &call))
        return;
    if (w->paths != NULL && heap == w->heap && call.enter_event != TTP_LONGEST_NO_EVENT)
        ttp_long_paths_add(w, &call);
    ttp_long_heap_add(heap, &call);
}

/* The caller is the frame that is the top one now. */
static void note_callee(struct ttp_long_walk *w, int64_t duration_ticks)
{
    uint32_t caller = w->stacks.current->top;
    if (caller == TTP_NO_FRAME)
        return;
    int64_t *most = &w->callee_ticks[caller];
    *most = duration_ticks > *most ? duration_ticks : *most;
}

/* The top frame of the current stack ends. */
static inline void end_frame(struct ttp_long_walk *w, uint32_t event, ttape_call_end end)
{
    const struct ttp_stack_frame *f = &w->stacks.frames[w->stacks.current->top];
    const struct ttp_code_view *opened = &w->p->views[2 * f->symbol];
    int64_t ticks = (int64_t)((uint64_t)w->tick - (uint64_t)f->enter_tick);
    bool counts = w->plan != NULL && opened->site != TTAPE_NONE &&
                  w->plan->sites[opened->site] != 0 && !is_partial(w->plan, opened, end) &&
                  ttp_long_lasts(w->plan, (int64_t)((uint64_t)ticks * w->p->head.resolution_ns));
    if (counts) {
        const struct ttp_partition_head *head = &w->p->head;
        bool is_omitted = w->plan->without_callers &&
                          ttp_long_is_most(w->callee_ticks[w->stacks.current->top], ticks);
        struct ttp_long_heap *heap = is_omitted ? w->omitted : w->heap;
        int64_t rank_ns =
            ttp_long_rank(w->plan, ttp_time_of(f->enter_tick, head->origin_ns, head->resolution_ns),
                          ttp_time_of(w->tick, head->origin_ns, head->resolution_ns),
                          (int64_t)((uint64_t)f->self_ticks * head->resolution_ns),
                          (int64_t)((uint64_t)w->stacks.current->clock - (uint64_t)f->clock));
        if (ttp_long_heap_wants(heap, rank_ns, w->p->partition) &&
            (is_omitted || w->known == NULL ||
             ttp_long_heap_wants(w->known, rank_ns, w->p->partition)))
            add_call(w, heap, f, rank_ns, opened->site, event, end);
    }
    ttp_stacks_pop(&w->stacks);
    if (counts && w->plan->without_callers &&
        ttp_long_is_in_range(w->plan,
                             ttp_time_of(w->tick, w->p->head.origin_ns, w->p->head.resolution_ns)))
        note_callee(w, ticks);
}

void ttp_long_walk_left(struct ttp_long_walk *w)
{
    for (uint32_t slot = 0; slot < w->stacks.stack_count; slot++) {
        if (w->stacks.stacks[slot].epoch != w->stacks.epoch)
            continue;
        ttp_stacks_switch(&w->stacks, w->stacks.numbers.numbers[slot]);
        while (w->stacks.current->top != TTP_NO_FRAME)
            end_frame(w, w->p->head.event_count, TTAPE_CALL_LEFT);
    }
}

static ttape_status push_call(struct ttp_long_walk *w, uint32_t symbol, uint32_t event,
                              ttape_error *err)
{
    TTP_TRY(ttp_stacks_push(&w->stacks, symbol, err));
    uint32_t top = w->stacks.current->top;
    if (w->plan != NULL && w->plan->without_callers) {
        TTP_TRY(ttp_memory_reserve(w->stacks.memory, &w->callee_ticks, &w->callee_capacity,
                                   top + 1ull, sizeof *w->callee_ticks, err));
        w->callee_ticks[top] = INT64_MIN;
    }
    struct ttp_stack_frame *f = &w->stacks.frames[top];
    f->start = TTP_NO_FRAME;
    f->flags = event;
    f->enter_tick = w->tick;
    f->self_ticks = 0;
    f->clock = w->on_cpu ? w->stacks.current->clock : w->step;
    return TTAPE_OK;
}

static void pass_on_cpu(struct ttp_long_walk *w, uint32_t event, uint64_t length_ns)
{
    int64_t *clock = &w->stacks.current->clock;
    uint64_t on = length_ns;
    if (event >= ttp_switch_walk_next(&w->switches)) {
        struct ttp_off_time off =
            ttp_switch_walk_take(&w->switches, event, (int64_t)length_ns, 0, INT64_MAX);
        on -= off.preempted_ns + off.blocked_ns + off.unknown_ns;
    }
    *clock = (int64_t)((uint64_t)*clock + on);
}

/* The interval that ends with this event belongs to what was there before it. */
static inline void pass_time(struct ttp_long_walk *w, uint32_t event)
{
    const struct ttp_loaded *p = w->p;
    uint32_t delta = p->delta[event];
    uint64_t step = delta != TTP_DELTA_WIDE ? delta : (uint64_t)p->wide[w->wide++];
    w->tick = (int64_t)((uint64_t)w->tick + step);
    w->step = (int64_t)step;
    if (w->on_cpu)
        pass_on_cpu(w, event, step * p->head.resolution_ns);
    uint32_t top = w->stacks.current->top;
    if (top != TTP_NO_FRAME)
        w->stacks.frames[top].self_ticks =
            (int64_t)((uint64_t)w->stacks.frames[top].self_ticks + step);
}

static ttape_status walk_events(struct ttp_long_walk *w, uint32_t first, uint32_t end,
                                ttape_error *err)
{
    const struct ttp_loaded *p = w->p;
    const bool has_times = p->delta != NULL && !w->without_times;
    for (uint32_t event = first; event < end; event++) {
        uint32_t code = p->codes[event];
        const struct ttp_code_view *v = &p->views[code];
        if (has_times)
            pass_time(w, event);
        for (int32_t left = v->before; left != 0; left++)
            end_frame(w, event, end_of(p, event, v, left));
        if (v->after != 0)
            TTP_TRY(push_call(w, code >> 1, event, err));
        else if (v->event_class == TTP_CLASS_SWITCH && (code & 1) == 0)
            ttp_stacks_switch(&w->stacks, v->argument);
    }
    return TTAPE_OK;
}

/* Time on the CPU of a start frame, up to the base. */
static uint64_t on_so_far(const struct ttp_long_walk *w, const struct ttp_segment *g, uint32_t i)
{
    uint32_t at = g->start.frame_start + i;
    const struct ttp_frame *from = &w->p->segments.start_frames[at];
    if (w->start_off_ns == NULL)
        return 0;
    return ((uint64_t)g->base_tick - (uint64_t)from->enter_tick) * w->p->head.resolution_ns -
           (uint64_t)w->start_off_ns[at];
}

ttape_status ttp_long_walk_segment(struct ttp_long_walk *w, uint32_t segment, ttape_error *err)
{
    const struct ttp_loaded *p = w->p;
    const struct ttp_segment *g = &p->segments.segments[segment];
    struct ttp_frame_stacks *s = &w->stacks;
    uint32_t first = p->segment_start[segment], end = p->segment_start[segment + 1];
    ttp_stacks_start(s);
    w->segment = segment;
    w->wide = p->delta != NULL && !w->without_times ? ttp_loaded_wide_from(p, first) : 0;
    w->tick = g->base_tick;
    if (w->on_cpu)
        w->switches = ttp_switch_walk_init(&p->switches, segment);
    for (uint32_t i = 0; i < g->start.frame_count; i++) {
        const struct ttp_frame *from = &p->segments.start_frames[g->start.frame_start + i];
        ttp_stacks_switch(s, from->stack);
        TTP_TRY(push_call(w, p->open[g->start.frame_start + i], 0, err));
        struct ttp_stack_frame *f = &s->frames[s->current->top];
        f->start = i;
        f->enter_tick = from->enter_tick;
        f->self_ticks = from->self_ticks;
        f->clock = (int64_t)(0 - on_so_far(w, g, i));
    }
    ttp_stacks_switch(s, g->start.stack);
    return walk_events(w, first, end, err);
}

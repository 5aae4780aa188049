/* The loop over events, in two shapes: one stack and no time range, which is nearly every segment;
 * and everything.
 *
 * A stack has clocks of its own, which run only while it is the current one: a frame's total is the
 * clock's difference, whatever other stacks did meanwhile. Frame 0 stands below every stack. */
#include "answers/report/account_internal.h"

#include <string.h>

#include "answers/report/report_work.h"
#include "format/base/fail.h"
#include "format/base/wide.h"
#include "format/times/times.h"
#include "reader/partition/partition_decoder.h"

/* The loop's shapes: one stack and no time range; everything; and with switches. */
enum shape { SIMPLE, GENERAL, SWITCHED };

#define ALWAYS_INLINE static inline __attribute__((always_inline))
#define NOINLINE      __attribute__((noinline))

#define FRAME_OUTERMOST 1u /* the first of its row on its stack */
#define FRAME_IDLE      2u
#define FRAME_OPENED    4u /* before the recording began: how long it is nobody knows */
#define FRAME_BELOW     8u /* what is below it is counted */

/* A clock of a frame is set. */
static ttape_status start_clock(struct ttp_memory *memory, struct frame_clocks *clocks,
                                uint32_t frame, uint64_t ns, ttape_error *err)
{
    TTP_TRY(ttp_memory_reserve(memory, &clocks->ns, &clocks->capacity, frame + 1ull,
                               sizeof *clocks->ns, err));
    clocks->ns[frame] = ns;
    return TTAPE_OK;
}

ttape_status ttp_account_open(struct ttp_account **out, const struct ttp_account_plan *plan,
                              struct ttp_account_rows *rows, ttape_error *err)
{
    struct ttp_account *a = ttp_memory_take(rows->memory, 1, sizeof *a, err);
    *out = a;
    if (a == NULL)
        return rows->memory->status;
    *a = (struct ttp_account){.plan = plan, .rows = rows, .active.memory = rows->memory};
    TTP_TRY(ttp_memory_reserve(rows->memory, &a->frames, &a->frame_capacity, 64, sizeof *a->frames,
                               err));
    a->frames[0] = (struct account_frame){.key = TTAPE_NONE};
    return start_clock(rows->memory, &a->own, 0, 0, err);
}

void ttp_account_close(struct ttp_account *a)
{
    if (a == NULL)
        return;
    struct ttp_memory *memory = a->rows->memory;
    ttp_memory_give(memory, a->frames, a->frame_capacity, sizeof *a->frames);
    ttp_memory_give(memory, a->unknown.ns, a->unknown.capacity, sizeof *a->unknown.ns);
    ttp_memory_give(memory, a->own.ns, a->own.capacity, sizeof *a->own.ns);
    ttp_memory_give(memory, a->stacks, a->stack_capacity, sizeof *a->stacks);
    ttp_memory_give(memory, a->symbols, a->symbol_capacity, sizeof *a->symbols);
    ttp_active_close(&a->active);
    ttp_account_sites_close(a);
    ttp_memory_give(memory, a, 1, sizeof *a);
}

/* ---- frames ---- */

static inline uint64_t active_key(const struct ttp_account *a, uint32_t row)
{
    return (uint64_t)a->current << 32 | row;
}

static ttape_status new_frame(struct ttp_account *a, uint32_t *out, ttape_error *err)
{
    if (a->frame_count + 1 >= a->frame_capacity) {
        TTP_TRY(ttp_memory_reserve(a->rows->memory, &a->frames, &a->frame_capacity,
                                   a->frame_count + 2ull, sizeof *a->frames, err));
    }
    *out = ++a->frame_count;
    return TTAPE_OK;
}

/* The row of a call: looked up unless the caller is the same as last time. */
static ttape_status find_call(struct ttp_account *a, struct account_symbol *s, uint32_t caller,
                              ttape_error *err)
{
    const struct ttp_account_plan *plan = a->plan;
    s->caller = caller;
    s->row = 0;
    if (s->key == TTP_NO_KEY || s->key == TTAPE_REPORT_SIGNAL)
        return TTAPE_OK;
    if (plan->focus_sites != NULL) {
        bool of = plan->focus_sites[ttp_report_key_site(plan->keys, s->key)] != 0;
        bool by = caller < plan->keys->key_count &&
                  plan->focus_sites[ttp_report_key_site(plan->keys, caller)] != 0;
        if (!of && !by)
            return TTAPE_OK;
    }
    s->row = ttp_account_find(a->rows, caller, s->key, err);
    return s->row != 0 ? TTAPE_OK : a->rows->memory->status;
}

ALWAYS_INLINE ttape_status set_caller(struct ttp_account *a, struct account_symbol *s,
                                      uint32_t caller, ttape_error *err)
{
    return s->caller == caller ? TTAPE_OK : find_call(a, s, caller, err);
}

ALWAYS_INLINE ttape_status push(struct ttp_account *a, struct account_stack *st, uint32_t symbol,
                                const enum shape shape, ttape_error *err)
{
    const bool general = shape != SIMPLE;
    struct account_symbol *s = &a->symbols[symbol];
    uint32_t frame = a->free_frame;
    if (frame != 0)
        a->free_frame = a->frames[frame].below;
    else
        TTP_TRY(new_frame(a, &frame, err));
    if (shape == SWITCHED)
        TTP_TRY(start_clock(a->rows->memory, &a->unknown, frame, st->unknown_clock, err));
    if (general && a->plan->self_times)
        TTP_TRY(start_clock(a->rows->memory, &a->own, frame, 0, err));
    if (general && a->plan->by_call)
        TTP_TRY(set_caller(a, s, a->plan->by_site ? a->sites.call : a->frames[st->top].key, err));
    if (general)
        st->below_depth += s->below / FRAME_BELOW;
    uint32_t number = !general || st->below_depth != 0 ? s->row : 0;
    struct account_frame *f = &a->frames[frame];
    struct ttp_account_row *row = &a->rows->rows[number];
    bool outermost;
    if (!general || a->stack_count == 1)
        outermost = row->active++ == 0;
    else
        TTP_TRY(ttp_active_add(&a->active, active_key(a, number), &outermost, err));
    *f = (struct account_frame){.row = number,
                                .below = st->top,
                                .key = s->key,
                                .flags = outermost | s->idle | s->opened | s->below,
                                .enter_ns = a->time_ns,
                                .clock = st->clock,
                                .idle_clock = st->idle_clock};
    st->top = frame;
    st->idle_depth += s->idle / FRAME_IDLE;
    return TTAPE_OK;
}

static inline void add_signed(int64_t *to, uint64_t value)
{
    *to = (int64_t)((uint64_t)*to + value);
}

/* The frame's part of its row's total, up to now. */
ALWAYS_INLINE void leave(const struct ttp_account *a, struct ttp_account_row *row, uint32_t frame,
                         const struct account_stack *st, const enum shape shape)
{
    const struct account_frame *f = &a->frames[frame];
    if ((f->flags & FRAME_OUTERMOST) == 0)
        return;
    add_signed(&row->total_ns, st->clock - f->clock);
    add_signed(shape == SWITCHED ? &row->total_blocked_ns : &row->idle_ns,
               st->idle_clock - f->idle_clock);
    if (shape == SWITCHED)
        add_signed(&row->total_unknown_ns, st->unknown_clock - a->unknown.ns[frame]);
}

ALWAYS_INLINE ttape_status end_frame(struct ttp_account *a, struct ttp_account_row *row,
                                     const struct account_frame *f, ttape_error *err)
{
    int64_t duration = (int64_t)(a->time_ns - f->enter_ns);
    ttp_account_add_exits(row, 1, duration, duration, ttp_wide_square(duration));
    add_signed(&row->duration_ns, (uint64_t)duration);
    if (a->plan->percentiles && f->row != 0)
        return ttp_durations_add(&row->durations, &a->rows->store, duration, err);
    return TTAPE_OK;
}

/* What counts of an end. */
enum ending { OUT_OF_RANGE, NOT_SEEN, LATE, LOST, SEEN };

static NOINLINE void end_unknown(const struct ttp_account *a, struct ttp_account_row *row,
                                 const struct account_frame *f, enum ending ending)
{
    row->unknown_end_count++;
    row->unseen_end_count += ending == NOT_SEEN;
    row->late_end_count += ending == LATE;
    if ((f->flags & FRAME_OUTERMOST) != 0)
        add_signed(&row->unknown_end_ns, a->time_ns - f->enter_ns);
}

/* F-END-01 */
static NOINLINE enum ending unwound_at(const struct ttp_loaded *p, uint32_t event)
{
    switch (ttp_loaded_unwind_kind(p, event)) {
    case TTAPE_UNWIND_UNSEEN: return NOT_SEEN;
    case TTAPE_UNWIND_LATE: return LATE;
    case TTAPE_UNWIND_LOST: return LOST;
    default: return SEEN;
    }
}

/* The top frame ends. */
ALWAYS_INLINE ttape_status pop(struct ttp_account *a, struct account_stack *st,
                               const enum ending ending, const enum shape shape, ttape_error *err)
{
    const bool general = shape != SIMPLE;
    uint32_t frame = st->top;
    struct account_frame *f = &a->frames[frame];
    struct ttp_account_row *row = &a->rows->rows[f->row];
    bool is_seen = ending == SEEN && (f->flags & FRAME_OPENED) == 0;
    if (general && a->plan->self_times && is_seen)
        ttp_account_add_own(row, (int64_t)a->own.ns[frame], (int64_t)a->own.ns[frame]);
    if (is_seen)
        TTP_TRY(end_frame(a, row, f, err));
    else if (ending != OUT_OF_RANGE)
        end_unknown(a, row, f, ending);
    if (!general || a->stack_count == 1)
        row->active--;
    else
        ttp_active_find(&a->active, active_key(a, f->row))->count--;
    leave(a, row, frame, st, shape);
    st->idle_depth -= (f->flags & FRAME_IDLE) / FRAME_IDLE;
    if (general)
        st->below_depth -= (f->flags & FRAME_BELOW) / FRAME_BELOW;
    st->top = f->below;
    f->below = a->free_frame;
    a->free_frame = frame;
    return TTAPE_OK;
}

static struct account_stack *switch_to(struct ttp_account *a, uint32_t number)
{
    uint32_t slot = ttp_stack_slot(&a->p->stack_numbers, number);
    struct account_stack *st = &a->stacks[slot];
    if (st->epoch != a->active.epoch)
        *st = (struct account_stack){.epoch = a->active.epoch,
                                     .below_depth = a->plan->below_sites == NULL};
    a->current = slot;
    return st;
}

/* ---- events ---- */

/* Does the top frame wait for the recorder? Rows by place find it here, as all is decoded for them
 * in order, and recorder_waits.c knows no places; of others that one takes it off. */
static bool waits_for_recorder(const struct ttp_account *a, const struct account_stack *st)
{
    const struct ttp_definition_tables *d = a->sites.definitions;
    uint32_t key = a->frames[st->top].key;
    if (!a->plan->by_site || key >= a->plan->keys->key_count)
        return false;
    uint32_t site = ttp_report_key_site(a->plan->keys, key);
    return site < d->site_count && ttp_read_site_is_recorder(&d->sites[site]);
}

/* What of the interval, from before_ns on, was not on the CPU. Of a cut one counts what is in the
 * range. */
static NOINLINE void pass_off(struct ttp_account *a, struct account_stack *st, uint32_t event,
                              uint64_t before_ns)
{
    const struct ttp_account_plan *plan = a->plan;
    struct ttp_account_row *row = &a->rows->rows[a->frames[st->top].row];
    int64_t from = 0, to = INT64_MAX;
    if (plan->has_range) {
        from = (int64_t)(ttp_account_cut(plan, before_ns) - before_ns);
        to = (int64_t)(ttp_account_cut(plan, a->time_ns) - before_ns);
    }
    struct ttp_off_time off =
        ttp_switch_walk_take(&a->walk, event, (int64_t)(a->time_ns - before_ns), from, to);
    a->next_off = ttp_switch_walk_next(&a->walk);
    if (waits_for_recorder(a, st)) /* its own, and not of what is around it */
        add_signed(&row->total_blocked_ns, off.blocked_ns);
    else
        st->idle_clock += off.blocked_ns;
    st->unknown_clock += off.unknown_ns;
    add_signed(&row->preempted_ns, off.preempted_ns);
    add_signed(&row->blocked_ns, off.blocked_ns);
    add_signed(&row->unknown_ns, off.unknown_ns);
    if (st->below_depth == 0)
        return;
    add_signed(&a->rows->preempted_ns, off.preempted_ns);
    add_signed(&a->rows->blocked_ns, off.blocked_ns);
    add_signed(&a->rows->unknown_ns, off.unknown_ns);
}

/* The time of a report on some functions is what passes below them. */
static NOINLINE void pass_below(struct ttp_account *a, const struct account_stack *st,
                                uint64_t step)
{
    if (st->below_depth == 0)
        return;
    add_signed(&a->rows->span_ns, step);
    if (a->walk.is_known)
        add_signed(&a->rows->known_ns, step);
    if (a->plan->stream_keys != NULL)
        add_signed(&a->rows->rows[a->symbols[0].row].span_ns, step);
}

/* The interval that ends with this event belongs to what was there before it. */
ALWAYS_INLINE void pass_time(struct ttp_account *a, struct account_stack *st, uint32_t event,
                             const enum shape shape)
{
    const bool general = shape != SIMPLE;
    const struct ttp_loaded *p = a->p;
    uint32_t delta = p->delta[event];
    uint64_t step = delta != TTP_DELTA_WIDE ? delta : (uint64_t)p->wide[a->wide++];
    step *= p->head.resolution_ns;
    uint64_t before = a->time_ns;
    a->time_ns += step;
    if (general && a->plan->self_times)
        a->own.ns[st->top] += step;
    if (general && a->plan->has_range)
        step = ttp_account_cut(a->plan, a->time_ns) - ttp_account_cut(a->plan, before);
    st->clock += step;
    if (general && a->plan->below_sites != NULL)
        pass_below(a, st, step);
    if (shape == SWITCHED) {
        add_signed(&a->rows->rows[a->frames[st->top].row].known_self_ns, step);
        if (event >= a->next_off)
            pass_off(a, st, event, before);
        return;
    }
    st->idle_clock += st->idle_depth != 0 ? step : 0;
    add_signed(&a->rows->rows[a->frames[st->top].row].self_ns, step);
    if (st->idle_depth != 0 && (!general || st->below_depth != 0))
        add_signed(&a->rows->idle_ns, step);
}

ALWAYS_INLINE ttape_status go(struct ttp_account *a, uint32_t first, uint32_t end,
                              const enum shape shape, ttape_error *err)
{
    const bool general = shape != SIMPLE;
    const struct ttp_loaded *p = a->p;
    const struct ttp_account_plan *plan = a->plan;
    struct account_stack *st = &a->stacks[a->current];
    uint64_t calls = 0;
    for (uint32_t event = first; event < end; event++) {
        uint32_t code = p->codes[event];
        const struct ttp_code_view *v = &p->views[code];
        if (p->delta != NULL)
            pass_time(a, st, event, shape);
        bool counts = !general || !plan->has_range ||
                      (a->time_ns >= plan->from_ns && a->time_ns < plan->to_ns);
        if (general)
            a->event_count += counts && st->below_depth != 0;
        for (int32_t frames = v->before; frames != 0; frames++) {
            enum ending ending = counts ? SEEN : OUT_OF_RANGE;
            if (counts && p->end_count != 0 && ttp_code_unwinds(v, frames))
                ending = unwound_at(p, event);
            TTP_TRY(pop(a, st, ending, shape, err));
        }
        if (v->after != 0) {
            if (general && plan->by_site)
                ttp_account_site_see(a, event, code >> 1);
            TTP_TRY(push(a, st, code >> 1, shape, err));
            struct ttp_account_row *row = &a->rows->rows[a->frames[st->top].row];
            uint64_t one = v->event_class == TTP_CLASS_ENTER && counts;
            row->call_count += one;
            row->recursion_count += one & ~a->frames[st->top].flags & FRAME_OUTERMOST;
            calls += !general || st->below_depth != 0 ? one : 0;
        } else if (v->event_class == TTP_CLASS_EXIT_UNSEEN && counts &&
                   (!general || st->below_depth != 0)) {
            a->rows->rows[a->symbols[code >> 1].row].unseen_count++;
            a->rows->unseen_count++;
        } else if (general && v->event_class == TTP_CLASS_SWITCH) {
            st = switch_to(a, v->argument);
        }
    }
    a->rows->call_count += calls;
    return TTAPE_OK;
}

static ttape_status go_simple(struct ttp_account *a, uint32_t first, uint32_t end, ttape_error *err)
{
    return go(a, first, end, SIMPLE, err);
}

static ttape_status go_general(struct ttp_account *a, uint32_t first, uint32_t end,
                               ttape_error *err)
{
    return go(a, first, end, GENERAL, err);
}

static ttape_status go_switched(struct ttp_account *a, uint32_t first, uint32_t end,
                                ttape_error *err)
{
    return go(a, first, end, SWITCHED, err);
}

/* ---- segments ---- */

static ttape_status push_open(struct ttp_account *a, const struct ttp_segment *g, enum shape shape,
                              ttape_error *err)
{
    const struct ttp_loaded *p = a->p;
    for (uint32_t i = 0; i < g->start.frame_count; i++) {
        uint32_t at = g->start.frame_start + i;
        const struct ttp_frame *from = &p->segments.start_frames[at];
        struct account_stack *st = switch_to(a, from->stack);
        uint64_t enter_ns = ttp_time_of(from->enter_tick, p->head.origin_ns, p->head.resolution_ns);
        if (a->plan->by_site)
            ttp_account_site_recall(a, from->stack, enter_ns);
        TTP_TRY(push(a, st, p->open[at], shape, err));
        a->frames[st->top].enter_ns = enter_ns;
        if (a->plan->self_times)
            a->own.ns[st->top] = (uint64_t)from->self_ticks * p->head.resolution_ns;
    }
    return TTAPE_OK;
}

/* Where a stream ends: its frames that are open, outermost first. */
static void add_open(struct ttp_account *a, uint32_t top)
{
    uint32_t above = 0;
    for (uint32_t below; top != 0; top = below) { /* turns the stack round ... */
        below = a->frames[top].below;
        a->frames[top].below = above;
        above = top;
    }
    a->rows->stamp++;
    for (uint32_t below = 0; above != 0;) { /* ... and back */
        uint32_t frame = above;
        above = a->frames[frame].below;
        a->frames[frame].below = below;
        below = frame;
        if (a->frames[frame].row != 0)
            ttp_account_add_open(a->rows, a->frames[frame].row, a->frames[frame].enter_ns,
                                 a->time_ns);
    }
}

/* What is still open counts to the totals. */
static void leave_all(struct ttp_account *a, enum shape shape, bool is_last)
{
    for (uint32_t slot = 0; slot < a->stack_count; slot++) {
        struct account_stack *st = &a->stacks[slot];
        if (is_last && st->epoch == a->active.epoch)
            add_open(a, st->top);
        for (uint32_t top = st->epoch == a->active.epoch ? st->top : 0; top != 0;
             top = a->frames[top].below) {
            struct ttp_account_row *row = &a->rows->rows[a->frames[top].row];
            leave(a, row, top, st, shape);
            row->active = 0;
        }
    }
}

/* Threads and processes: all frames of a segment are of one row, signal handlers' too. */
static ttape_status set_thread_row(struct ttp_account *a, uint32_t stream, ttape_error *err)
{
    uint32_t row = ttp_account_find(a->rows, TTAPE_NONE, a->plan->stream_keys[stream], err);
    if (row == 0)
        return a->rows->memory->status;
    for (uint32_t i = 0; i < a->p->symbol_count; i++)
        a->symbols[i].row = row;
    return TTAPE_OK;
}

/* What a segment has as a whole. */
static void add_segment(struct ttp_account *a, const struct ttp_segment *g)
{
    const struct ttp_loaded *p = a->p;
    if (a->plan->stream_keys != NULL)
        a->rows->rows[a->symbols[0].row].event_count += a->event_count;
    if (p->head.resolution_ns == 0 || a->plan->below_sites != NULL)
        return;
    uint64_t from = ttp_time_of(g->base_tick, p->head.origin_ns, p->head.resolution_ns);
    uint64_t to = ttp_time_of(g->end_tick, p->head.origin_ns, p->head.resolution_ns);
    if (a->plan->has_range) {
        from = ttp_account_cut(a->plan, from);
        to = ttp_account_cut(a->plan, to);
    }
    add_signed(&a->rows->span_ns, to - from);
    if (a->walk.is_known)
        add_signed(&a->rows->known_ns, to - from);
    if (a->plan->stream_keys != NULL)
        add_signed(&a->rows->rows[a->symbols[0].row].span_ns, to - from);
}

static ttape_status do_segment(struct ttp_account *a, uint32_t segment, bool is_last,
                               ttape_error *err)
{
    const struct ttp_loaded *p = a->p;
    const struct ttp_segment *g = &p->segments.segments[segment];
    enum shape shape = a->stack_count != 1 || a->plan->has_range || a->plan->by_call ||
                               a->plan->below_sites != NULL || a->plan->self_times
                           ? GENERAL
                           : SIMPLE;
    a->walk = ttp_switch_walk_init(&p->switches, segment);
    a->next_off = ttp_switch_walk_next(&a->walk);
    shape = a->walk.is_known ? SWITCHED : shape;
    a->rows->has_switches = a->rows->has_switches || a->walk.is_known;
    ttp_active_start(&a->active);
    ttp_account_sites_start(a, p->segment_start[segment]);
    a->frame_count = a->free_frame = 0;
    (void)switch_to(a, 0);
    TTP_TRY(push_open(a, g, shape == SIMPLE ? GENERAL : shape, err));
    (void)switch_to(a, g->start.stack);
    a->time_ns = ttp_time_of(g->base_tick, p->head.origin_ns, p->head.resolution_ns);
    uint32_t first = p->segment_start[segment], end = p->segment_start[segment + 1];
    a->event_count = shape != SIMPLE ? 0 : end - first;
    TTP_TRY(shape == SIMPLE    ? go_simple(a, first, end, err)
            : shape == GENERAL ? go_general(a, first, end, err)
                               : go_switched(a, first, end, err));
    if (a->plan->by_site)
        TTP_TRY(ttp_account_sites_keep(a, err));
    leave_all(a, shape, is_last);
    add_segment(a, g);
    return TTAPE_OK;
}

/* ---- partitions ---- */

/* Any table that is too small is made anew: nothing of the partition before is needed. */
static ttape_status make_room(struct ttp_account *a, ttape_error *err)
{
    struct ttp_memory *memory = a->rows->memory;
    uint32_t before = a->stack_capacity;
    TTP_TRY(ttp_memory_reserve(memory, &a->symbols, &a->symbol_capacity, a->p->symbol_count,
                               sizeof *a->symbols, err));
    TTP_TRY(ttp_memory_reserve(memory, &a->stacks, &a->stack_capacity, a->stack_count,
                               sizeof *a->stacks, err));
    memset(a->stacks + before, 0, (a->stack_capacity - before) * sizeof *a->stacks);
    return TTAPE_OK;
}

static bool has_site(uint8_t event_class)
{
    return event_class == TTP_CLASS_ENTER || event_class == TTP_CLASS_OPEN ||
           event_class == TTP_CLASS_EXIT_UNSEEN;
}

static ttape_status set_symbols(struct ttp_account *a, ttape_error *err)
{
    const struct ttp_loaded *p = a->p;
    const struct ttp_account_plan *plan = a->plan;
    for (uint32_t i = 0; i < p->symbol_count; i++) {
        struct account_symbol *s = &a->symbols[i];
        uint32_t site = p->views[2ull * i].site;
        uint8_t kind = p->symbols[i].event_class;
        *s = (struct account_symbol){.key = kind == TTP_CLASS_SIGNAL ? TTAPE_REPORT_SIGNAL
                                                                     : TTP_NO_KEY,
                                     .caller = TTP_NO_KEY - 2};
        if (!has_site(kind))
            continue;
        s->key = ttp_report_key(plan->keys, site);
        s->idle = plan->idle_sites[site] != 0 ? FRAME_IDLE : 0;
        s->opened = kind == TTP_CLASS_OPEN ? FRAME_OPENED : 0;
        if (plan->below_sites != NULL && plan->below_sites[site] != 0)
            s->below = kind != TTP_CLASS_EXIT_UNSEEN ? FRAME_BELOW : 0;
        a->rows->has_idle = a->rows->has_idle || s->idle != 0;
        if (plan->by_call || plan->stream_keys != NULL || s->key == TTP_NO_KEY)
            continue;
        s->row = ttp_account_find(a->rows, TTAPE_NONE, s->key, err);
        if (s->row == 0)
            return a->rows->memory->status;
    }
    return TTAPE_OK;
}

ttape_status ttp_account_partition(struct ttp_account *a, const struct ttp_loaded *p,
                                   const ttape_reader *r, ttape_error *err)
{
    const struct ttp_partition_entry *entry = &r->partitions[p->partition];
    a->p = p;
    a->sites.definitions = &r->definitions;
    a->wide = 0;
    a->stack_count = p->stack_numbers.count;
    TTP_TRY(make_room(a, err));
    TTP_TRY(set_symbols(a, err));
    for (uint32_t s = 0; s < p->segments.segment_count; s++) {
        uint32_t stream = r->segments[entry->first_segment + s].stream;
        if (a->plan->streams != NULL && a->plan->streams[stream] == 0)
            continue;
        a->wide = ttp_loaded_wide_from(p, p->segment_start[s]);
        a->sites.stream = stream;
        if (a->plan->stream_keys != NULL)
            TTP_TRY(set_thread_row(a, stream, err));
        TTP_TRY(do_segment(a, s, ttp_report_is_last(r, entry->first_segment + s), err));
    }
    return TTAPE_OK;
}

/* Time on a stack is counted by the stack's own clock, which only runs while the stack is the
 * current one. A site's total on a stack is then the clock's difference over its outermost frame
 * there, and a switch costs nothing. */
#include "answers/check/measure.h"

#include <string.h>

#include "base/sort.h"
#include "format/base/fail.h"
#include "format/base/wide.h"
#include "format/times/times.h"

#define FRAME_OUTERMOST 1u /* above that, the event that opened the frame */
#define NO_ROW          UINT32_MAX

static bool has_row(uint8_t event_class)
{
    return event_class == TTP_CLASS_ENTER || event_class == TTP_CLASS_OPEN;
}

static bool symbol_less(const void *context, uint32_t a, uint32_t b)
{
    const struct ttp_symbol *symbols = context;
    return symbols[a].argument < symbols[b].argument;
}

/* One row per site that has frames, whatever opened them. */
static ttape_status make_rows(struct ttp_measuring *m, ttape_error *err)
{
    const struct ttp_loaded *p = m->p;
    struct ttp_memory *memory = &m->decoder->memory;
    uint32_t *order = ttp_memory_take(memory, p->symbol_count, sizeof *order, err);
    uint32_t count = 0;
    if (order == NULL)
        return memory->status;
    for (uint32_t i = 0; i < p->symbol_count; i++) {
        m->row_of[i] = NO_ROW;
        if (has_row(p->symbols[i].event_class))
            order[count++] = i;
    }
    ttp_sort(order, count, symbol_less, p->symbols);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t site = p->symbols[order[i]].argument;
        if (m->row_count == 0 || m->rows[m->row_count - 1].site != site)
            m->rows[m->row_count++] = (struct ttp_measure){.site = site};
        m->row_of[order[i]] = m->row_count - 1;
    }
    ttp_memory_give(memory, order, p->symbol_count, sizeof *order);
    return TTAPE_OK;
}

ttape_status ttp_measuring_open(struct ttp_measuring *m, struct ttp_trace_decoder *d,
                                const struct ttp_loaded *p, ttape_error *err)
{
    struct ttp_memory *memory = &d->memory;
    *m = (struct ttp_measuring){
        .decoder = d, .p = p, .least_tick = INT64_MAX, .most_tick = INT64_MIN};
    m->stacks.memory = m->active.memory = memory;
    m->row_capacity = p->symbol_count;
    m->rows = ttp_memory_take(memory, m->row_capacity, sizeof *m->rows, err);
    if (m->rows == NULL)
        return memory->status;
    m->row_of = ttp_memory_take(memory, p->symbol_count, sizeof *m->row_of, err);
    if (m->row_of == NULL)
        return memory->status;
    TTP_TRY(make_rows(m, err));
    return ttp_stacks_open(&m->stacks, memory, &p->stack_numbers, err);
}

void ttp_measuring_close(struct ttp_measuring *m)
{
    struct ttp_memory *memory = &m->decoder->memory;
    ttp_memory_give(memory, m->rows, m->row_capacity, sizeof *m->rows);
    ttp_memory_give(memory, m->row_of, m->p->symbol_count, sizeof *m->row_of);
    ttp_memory_give(memory, m->counts, (uint64_t)m->row_count * TTP_OVERVIEW_BUCKETS,
                    sizeof *m->counts);
    ttp_measuring_cpu_close(&m->cpu);
    ttp_active_close(&m->active);
    ttp_stacks_close(&m->stacks);
}

void ttp_measuring_count(struct ttp_measuring *m)
{
    size_t count = (size_t)m->row_count * TTP_OVERVIEW_BUCKETS;
    m->counts = ttp_memory_take(&m->decoder->memory, count, sizeof *m->counts, NULL);
    if (m->counts != NULL)
        memset(m->counts, 0, count * sizeof *m->counts);
}

static inline uint64_t active_key(const struct ttp_frame_stacks *s, uint32_t row)
{
    return (uint64_t)s->current_number << 32 | row;
}

static ttape_status push_frame(struct ttp_measuring *m, uint32_t symbol, ttape_error *err)
{
    struct ttp_frame_stacks *s = &m->stacks;
    uint32_t row = m->row_of[symbol];
    TTP_TRY(ttp_stacks_push(s, symbol, err));
    struct ttp_stack_frame *f = &s->frames[s->current->top];
    f->start = TTP_NO_FRAME;
    f->flags = 0;
    f->self_ticks = 0;
    f->enter_tick = m->tick;
    f->clock = s->current->clock;
    if (row == NO_ROW)
        return TTAPE_OK;
    bool is_outermost;
    TTP_TRY(ttp_active_add(&m->active, active_key(s, row), &is_outermost, err));
    f->flags = m->event << 1 | (is_outermost ? FRAME_OUTERMOST : 0);
    return TTAPE_OK;
}

static void leave_frame(struct ttp_measuring *m, uint32_t frame,
                        const struct ttp_frame_stack *stack)
{
    const struct ttp_stack_frame *f = &m->stacks.frames[frame];
    uint32_t row = m->row_of[f->symbol];
    if (row == NO_ROW || (f->flags & FRAME_OUTERMOST) == 0)
        return;
    ttp_measuring_cpu_leave(&m->cpu, frame, (uint32_t)(stack - m->stacks.stacks), row);
    m->rows[row].total_ticks =
        (int64_t)((uint64_t)m->rows[row].total_ticks + (uint64_t)stack->clock - (uint64_t)f->clock);
}

static void add_duration(struct ttp_measure *row, int64_t duration, int64_t self)
{
    if (row->exit_count == 0 || self > row->max_self_ticks)
        row->max_self_ticks = self;
    row->squares = ttp_wide_add(row->squares, ttp_wide_square(duration));
    if (row->exit_count == 0 || duration < row->min_ticks)
        row->min_ticks = duration;
    if (row->exit_count == 0 || duration > row->max_ticks)
        row->max_ticks = duration;
    row->exit_count++;
}

static void list_frame(struct ttp_measuring *m, uint32_t row, bool is_unwound)
{
    const struct ttp_frame_stacks *s = &m->stacks;
    const struct ttp_listed_ending ending = {.p = m->p,
                                             .stacks = s,
                                             .segment = m->segment,
                                             .enter_event = s->frames[s->current->top].flags >> 1,
                                             .end_event = m->event,
                                             .tick = m->tick,
                                             .is_unwound = is_unwound};
    ttp_listed_sums_add(m->listed, &m->decoder->memory, m->rows[row].site, &ending);
}

/* The top frame ends here. */
static void pop_frame(struct ttp_measuring *m, bool is_unwound)
{
    struct ttp_frame_stacks *s = &m->stacks;
    const struct ttp_stack_frame *f = &s->frames[s->current->top];
    uint32_t row = m->row_of[f->symbol];
    if (row != NO_ROW) {
        int64_t duration = (int64_t)((uint64_t)m->tick - (uint64_t)f->enter_tick);
        add_duration(&m->rows[row], duration, f->self_ticks);
        if (m->counts != NULL)
            m->counts[(size_t)row * TTP_OVERVIEW_BUCKETS + ttp_overview_bucket(duration)]++;
        if (m->listed != NULL && m->p->delta != NULL)
            list_frame(m, row, is_unwound);
        ttp_measuring_cpu_end(&m->cpu, row);
        ttp_active_find(&m->active, active_key(s, row))->count--;
        leave_frame(m, s->current->top, s->current);
    }
    ttp_stacks_pop(s);
}

/* The interval that ends with this event belongs to what was there before it. */
static void pass_time(struct ttp_measuring *m, uint32_t event)
{
    const struct ttp_loaded *p = m->p;
    struct ttp_frame_stacks *s = &m->stacks;
    if (p->delta == NULL)
        return;
    uint32_t delta = p->delta[event];
    uint64_t step = delta != TTP_DELTA_WIDE ? delta : (uint64_t)p->wide[m->wide++];
    m->tick = (int64_t)((uint64_t)m->tick + step);
    m->least_tick = m->tick < m->least_tick ? m->tick : m->least_tick;
    m->most_tick = m->tick > m->most_tick ? m->tick : m->most_tick;
    s->current->clock = (int64_t)((uint64_t)s->current->clock + step);
    uint32_t top = s->current->top;
    ttp_measuring_cpu_pass(&m->cpu, event, step,
                           top == TTP_NO_FRAME ? NO_ROW : m->row_of[s->frames[top].symbol]);
    if (top == TTP_NO_FRAME)
        return;
    struct ttp_stack_frame *f = &s->frames[s->current->top];
    f->self_ticks = (int64_t)((uint64_t)f->self_ticks + step);
    uint32_t row = m->row_of[f->symbol];
    if (row != NO_ROW)
        m->rows[row].self_ticks = (int64_t)((uint64_t)m->rows[row].self_ticks + step);
}

static ttape_status measure_event(struct ttp_measuring *m, uint32_t event, ttape_error *err)
{
    uint32_t code = m->p->codes[event];
    const struct ttp_code_view *v = &m->p->views[code];
    m->event = event;
    pass_time(m, event);
    for (int32_t left = v->before; left != 0; left++)
        pop_frame(m, ttp_code_unwinds(v, left));
    if (v->after != 0) {
        TTP_TRY(push_frame(m, code >> 1, err));
        TTP_TRY(ttp_measuring_cpu_push(&m->cpu, TTP_NO_FRAME, 0, err));
        if (v->event_class == TTP_CLASS_ENTER)
            m->rows[m->row_of[code >> 1]].call_count++;
    }
    if (v->event_class == TTP_CLASS_SWITCH && (code & 1) == 0)
        ttp_stacks_switch(&m->stacks, v->argument);
    return TTAPE_OK;
}

/* What is still open counts to the totals. */
static void leave_all(struct ttp_measuring *m)
{
    const struct ttp_frame_stacks *s = &m->stacks;
    for (uint32_t slot = 0; slot < s->stack_count; slot++) {
        const struct ttp_frame_stack *stack = &s->stacks[slot];
        if (stack->epoch != s->epoch)
            continue;
        for (uint32_t f = stack->top; f != TTP_NO_FRAME; f = s->frames[f].below)
            leave_frame(m, f, stack);
    }
}

ttape_status ttp_measuring_segment(struct ttp_measuring *m, uint32_t segment, ttape_error *err)
{
    const struct ttp_loaded *p = m->p;
    const struct ttp_segment *g = &p->segments.segments[segment];
    struct ttp_frame_stacks *s = &m->stacks;
    ttp_stacks_start(s);
    ttp_active_start(&m->active);
    m->tick = g->base_tick;
    m->segment = segment;
    m->event = 0;
    ttp_measuring_cpu_start(&m->cpu, segment);
    for (uint32_t i = 0; i < g->start.frame_count; i++) {
        const struct ttp_frame *from = &p->segments.start_frames[g->start.frame_start + i];
        ttp_stacks_switch(s, from->stack);
        TTP_TRY(push_frame(m, p->open[g->start.frame_start + i], err));
        struct ttp_stack_frame *f = &s->frames[s->current->top];
        f->start = i;
        f->enter_tick = from->enter_tick;
        f->self_ticks = from->self_ticks;
        TTP_TRY(ttp_measuring_cpu_push(&m->cpu, g->start.frame_start + i, g->base_tick, err));
    }
    ttp_stacks_switch(s, g->start.stack);
    for (uint32_t i = p->segment_start[segment]; i < p->segment_start[segment + 1]; i++)
        TTP_TRY(measure_event(m, i, err));
    leave_all(m);
    return TTAPE_OK;
}

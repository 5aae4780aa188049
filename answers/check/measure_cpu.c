/* Each stack has clocks that run only while it is the current one: one of the time on the CPU, and
 * one of each part that was off. What a frame has of them is a difference. */
#include "answers/check/measure_cpu.h"

#include <string.h>

#include "format/base/fail.h"

ttape_status ttp_measuring_cpu_open(struct ttp_measuring_cpu *c, struct ttp_memory *memory,
                                    const struct ttp_loaded *p,
                                    const struct ttp_frame_stacks *stacks, uint32_t row_count,
                                    const int64_t *start_off_ns, ttape_error *err)
{
    *c = (struct ttp_measuring_cpu){.memory = memory, .stacks = stacks};
    c->start_off_ns = start_off_ns;
    c->rows = ttp_memory_take(memory, row_count, sizeof *c->rows, err);
    if (c->rows == NULL)
        return memory->status;
    c->row_count = row_count;
    c->exit_counts = ttp_memory_take(memory, row_count, sizeof *c->exit_counts, err);
    if (c->exit_counts == NULL)
        return memory->status;
    memset(c->rows, 0, row_count * sizeof *c->rows);
    memset(c->exit_counts, 0, row_count * sizeof *c->exit_counts);
    TTP_TRY(ttp_memory_reserve(memory, &c->stack_clocks, &c->stack_capacity, stacks->stack_count,
                               sizeof *c->stack_clocks, err));
    memset(c->stack_clocks, 0, stacks->stack_count * sizeof *c->stack_clocks);
    c->p = p;
    return TTAPE_OK;
}

void ttp_measuring_cpu_close(struct ttp_measuring_cpu *c)
{
    struct ttp_memory *memory = c->memory;
    if (memory == NULL)
        return;
    ttp_memory_give(memory, c->rows, c->row_count, sizeof *c->rows);
    ttp_memory_give(memory, c->exit_counts, c->row_count, sizeof *c->exit_counts);
    ttp_memory_give(memory, c->stack_clocks, c->stack_capacity, sizeof *c->stack_clocks);
    ttp_memory_give(memory, c->frame_clocks, c->frame_capacity, sizeof *c->frame_clocks);
}

void ttp_measuring_cpu_start(struct ttp_measuring_cpu *c, uint32_t segment)
{
    if (c->p != NULL)
        c->walk = ttp_switch_walk_init(&c->p->switches, segment);
}

static struct ttp_cpu_clock *current(const struct ttp_measuring_cpu *c)
{
    return &c->stack_clocks[c->stacks->current - c->stacks->stacks];
}

ttape_status ttp_measuring_cpu_push(struct ttp_measuring_cpu *c, uint32_t start_frame,
                                    int64_t base_tick, ttape_error *err)
{
    if (c->p == NULL)
        return TTAPE_OK;
    uint32_t frame = c->stacks->current->top;
    TTP_TRY(ttp_memory_reserve(c->memory, &c->frame_clocks, &c->frame_capacity, frame + 1ull,
                               sizeof *c->frame_clocks, err));
    c->frame_clocks[frame] = *current(c);
    if (start_frame == TTP_NO_FRAME)
        return TTAPE_OK;
    const struct ttp_frame *from = &c->p->segments.start_frames[start_frame];
    uint64_t before = ((uint64_t)base_tick - (uint64_t)from->enter_tick) * c->p->head.resolution_ns;
    c->frame_clocks[frame].on_ns -= before - (uint64_t)c->start_off_ns[start_frame];
    return TTAPE_OK;
}

void ttp_measuring_cpu_pass(struct ttp_measuring_cpu *c, uint32_t event, uint64_t ticks,
                            uint32_t row)
{
    if (c->p == NULL)
        return;
    uint64_t length = ticks * c->p->head.resolution_ns;
    struct ttp_off_time off = ttp_switch_walk_take(&c->walk, event, (int64_t)length, 0, INT64_MAX);
    const uint64_t kinds[] = {off.preempted_ns, off.blocked_ns, off.unknown_ns};
    struct ttp_cpu_clock *clock = current(c);
    clock->on_ns += length;
    for (int i = 0; i < TTP_OFF_KINDS; i++) {
        clock->on_ns -= kinds[i];
        clock->kinds_ns[i] += kinds[i];
        c->all_ns[i] += kinds[i];
        if (row != UINT32_MAX)
            c->rows[row].self_ns[i] += kinds[i];
    }
}

void ttp_measuring_cpu_leave(struct ttp_measuring_cpu *c, uint32_t frame, uint32_t slot,
                             uint32_t row)
{
    for (int i = 0; i < TTP_OFF_KINDS && c->p != NULL; i++)
        c->rows[row].total_ns[i] +=
            c->stack_clocks[slot].kinds_ns[i] - c->frame_clocks[frame].kinds_ns[i];
}

void ttp_measuring_cpu_end(struct ttp_measuring_cpu *c, uint32_t row)
{
    if (c->p == NULL)
        return;
    int64_t on = (int64_t)(current(c)->on_ns - c->frame_clocks[c->stacks->current->top].on_ns);
    int64_t *most = &c->rows[row].max_on_ns;
    *most = c->exit_counts[row]++ == 0 || on > *most ? on : *most;
}

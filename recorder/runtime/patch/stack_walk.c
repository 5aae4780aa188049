/* A walk up the stack by the rows of plans. Only words of the stack that the thread is on are read,
 * or of the one that a signal handler interrupted; where a row would have it otherwise, the walk
 * ends. */
#include "recorder/arena/plan_walk.h"
#include "recorder/runtime/patch/probe.h"

/* -- memory that may be read -- */

struct state {
    struct ttp_walk *walk;
    struct ttp_plan_frame frame;
    uintptr_t low, high; /* of the stack */
};

static bool read_word(void *context, uint64_t at, uint64_t *word)
{
    struct state *s = (struct state *)context;
    struct ttp_walk *walk = s->walk;
    if (at < s->low || at > s->high - 8 || at % 8 != 0)
        return false;
    *word = *(const uint64_t *)at;
    if (walk->word_count < TTP_WALK_WORDS) {
        walk->words[walk->word_count][0] = at;
        walk->words[walk->word_count++][1] = *word;
    } else {
        walk->is_whole = false;
    }
    return true;
}

/* Below the stack pointer nothing is looked at. */
static bool find_stack(struct state *s, uintptr_t sp)
{
    const struct ttp_stacks *stacks = ttp_thread.stacks;
    bool is_alternate;
    if (stacks == NULL)
        return false;
    if (!ttp_stack_current()->exact)
        ttp_stack_exact();
    const struct ttp_runtime_stack *stack = ttp_stack_current();
    s->low = sp;
    if (!ttp_stack_holds(stack, sp)) {
        uint32_t index = ttp_stack_locate(sp, NULL, &is_alternate);
        if (index == UINT32_MAX)
            return false;
        if (is_alternate) {
            s->high = stacks->alternate_high;
            return true;
        }
        stack = &stacks->list[index];
    }
    s->high = stack->is_loose && sp < stack->high ? ttp_loose_end(stack, sp) : stack->high;
    return sp < s->high && (stack->exact || stack->is_loose);
}

/* -- one frame -- */

/* Of a handler that interrupted a stub: as if its code had been where the jump to the stub is. */
static void leave_signal(struct ttp_plan_frame *frame)
{
    const struct ttp_area *area = ttp_area_of(frame->pc);
    frame->is_exact = area == NULL || area->plan == NULL;
    if (!frame->is_exact)
        frame->pc = ((const struct ttp_stub *)(frame->pc & ~(uint64_t)(TTP_STUB_BYTES - 1)))->after;
    else if (area != NULL)
        ttp_probe_origin(area, &frame->pc, &frame->sp);
}

static bool step_signal(struct state *s)
{
    struct ttp_plan_frame interrupted;
    if (!ttp_plan_read_signal(&s->frame, read_word, s, &interrupted))
        return false;
    if ((interrupted.sp < s->frame.sp || interrupted.sp >= s->high) &&
        !find_stack(s, interrupted.sp))
        return false;
    s->frame = interrupted;
    leave_signal(&s->frame);
    return true;
}

static bool step_frame(struct state *s, const struct ttp_plan_row *row)
{
    return row->cfa_kind == TTP_PLAN_CFA_SIGNAL ? step_signal(s)
                                                : ttp_plan_step(&s->frame, row, read_word, s);
}

/* A thread begins at a row that says so, or with a return address of 0. */
void ttp_walk_stack(struct ttp_walk *walk, uint64_t after, uintptr_t sp, uintptr_t rbp)
{
    struct state s = {.walk = walk, .frame = {.pc = after, .sp = sp, .rbp = rbp, .has_rbp = true}};
    const struct ttp_plan_frame *frame = &s.frame;
    walk->frame_count = walk->word_count = 0;
    walk->is_cut = walk->is_whole = true;
    bool has_stack = find_stack(&s, sp);
    for (uint32_t i = 0; frame->pc != 0 && i < TTP_WALK_FRAMES; i++) {
        uint64_t looked_up = frame->is_exact ? frame->pc : frame->pc - 1;
        const struct ttp_seen_module *module = ttp_seen_module_at(looked_up);
        if (module == NULL || !module->is_own)
            walk->frames[walk->frame_count++] = frame->pc;
        const struct ttp_plan_row *row =
            module == NULL || module->plan == NULL
                ? NULL
                : ttp_plan_row_at(module->plan, looked_up - module->bias);
        if (row != NULL && row->cfa_kind == TTP_PLAN_CFA_OUTERMOST) {
            walk->is_cut = false;
            return;
        }
        if (!has_stack || row == NULL || !step_frame(&s, row))
            return;
    }
    walk->is_cut = frame->pc != 0;
}

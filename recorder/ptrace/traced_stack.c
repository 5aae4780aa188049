#define _GNU_SOURCE
#include "recorder/ptrace/traced_stack.h"

#include <string.h>
#include <sys/uio.h>

#include "recorder/arena/plan_walk.h"

#define FIRST_BYTES 4096u

struct state {
    struct ttp_traced_stack *stack;
    uint32_t tid;
    struct ttp_plan_frame frame;
};

static const struct ttp_traced_module *find_module(const struct ttp_traced_modules *modules,
                                                   uint64_t pc)
{
    for (size_t i = 0; i < modules->count; i++)
        if (pc >= modules->modules[i].code_start && pc < modules->modules[i].code_end)
            return &modules->modules[i];
    return NULL;
}

static const struct ttp_plan_row *find_row(const struct ttp_traced_module *module, uint64_t pc)
{
    return module != NULL && module->plan != NULL ? ttp_plan_row_at(module->plan, pc - module->bias)
                                                  : NULL;
}

/* ---- words ---- */

/* Fills the copy up to so many bytes, or to where the mapping ends. */
static void fill_window(struct state *s, uint64_t bytes)
{
    struct ttp_traced_stack *stack = s->stack;
    const struct iovec to = {stack->bytes + stack->filled, bytes - stack->filled};
    const struct iovec from = {(void *)(uintptr_t)(stack->low + stack->filled),
                               bytes - stack->filled};
    ssize_t got = process_vm_readv((pid_t)s->tid, &to, 1, &from, 1, 0);
    stack->filled += got > 0 ? (uint64_t)got : 0;
}

static bool read_word(void *context, uint64_t at, uint64_t *word)
{
    struct state *s = context;
    struct ttp_traced_stack *stack = s->stack;
    if (at < stack->low || at - stack->low > TTP_STACK_BYTES - 8 || at % 8 != 0)
        return false;
    if (at - stack->low + 8 > stack->filled)
        fill_window(s, TTP_STACK_BYTES);
    if (at - stack->low + 8 > stack->filled)
        return false;
    memcpy(word, stack->bytes + (at - stack->low), 8);
    return true;
}

/* The copy begins anew where a handler's alternate stack ends. */
static void restart(struct state *s, uint64_t sp)
{
    uint64_t page_rest = FIRST_BYTES - sp % FIRST_BYTES;
    s->stack->low = sp;
    s->stack->filled = 0;
    fill_window(s, FIRST_BYTES);
    if (s->stack->filled < 8) /* the next page is no memory */
        fill_window(s, page_rest);
}

/* ---- one frame ---- */

static bool step_signal(struct state *s)
{
    struct ttp_plan_frame interrupted;
    if (!ttp_plan_read_signal(&s->frame, read_word, s, &interrupted))
        return false;
    if (interrupted.sp < s->frame.sp || interrupted.sp - s->stack->low >= s->stack->filled)
        restart(s, interrupted.sp);
    s->frame = interrupted;
    return true;
}

static bool step_frame(struct state *s, const struct ttp_plan_row *row)
{
    return row->cfa_kind == TTP_PLAN_CFA_SIGNAL ? step_signal(s)
                                                : ttp_plan_step(&s->frame, row, read_word, s);
}

void ttp_stack_walk(struct ttp_traced_stack *stack, const struct ttp_traced_modules *modules,
                    uint32_t tid, uint64_t pc, uint64_t sp, uint64_t rbp)
{
    struct state s = {
        .stack = stack, .tid = tid, .frame = {.pc = pc, .sp = sp, .rbp = rbp, .has_rbp = true}};
    const struct ttp_plan_frame *frame = &s.frame;
    stack->count = 0;
    stack->is_cut = true;
    restart(&s, sp);
    while (frame->pc != 0 && stack->count < TTP_STACK_FRAMES) {
        stack->frames[stack->count++] = frame->pc;
        uint64_t looked_up = frame->is_exact ? frame->pc : frame->pc - 1;
        const struct ttp_plan_row *row = find_row(find_module(modules, looked_up), looked_up);
        if (row != NULL && row->cfa_kind == TTP_PLAN_CFA_OUTERMOST) {
            stack->is_cut = false;
            return;
        }
        if (row == NULL || !step_frame(&s, row))
            return;
    }
    stack->is_cut = frame->pc != 0;
}

#define _GNU_SOURCE
#include "writer/syscalls/traced_stack.h"

#include <string.h>
#include <sys/uio.h>

#define FIRST_BYTES 4096u
#define SIGNAL_RBP  120u /* in the kernel's frame, as plan.h has it */
#define SIGNAL_RSP  160u
#define SIGNAL_PC   168u
#define PLT_MASK    15u
#define PLT_PUSHED  11u

struct state {
    struct ttp_traced_stack *stack;
    uint32_t tid;
    uint64_t pc, sp, rbp;
    bool has_rbp, is_exact; /* is_exact: pc is no return address */
};

/* ---- rows ---- */

static const struct ttp_traced_module *find_module(const struct ttp_traced_modules *modules,
                                                   uint64_t pc)
{
    for (size_t i = 0; i < modules->count; i++)
        if (pc >= modules->modules[i].code_start && pc < modules->modules[i].code_end)
            return &modules->modules[i];
    return NULL;
}

/* The last row at or before the address. The index may say anything: it only narrows the search. */
static const struct ttp_plan_row *find_row(const struct ttp_traced_module *module, uint64_t pc)
{
    const struct ttp_plan_head *plan = module != NULL ? module->plan : NULL;
    if (plan == NULL)
        return NULL;
    const uint8_t *bytes = (const uint8_t *)plan;
    const struct ttp_plan_row *rows = (const void *)(bytes + plan->rows_at);
    const uint32_t *index = (const void *)(bytes + plan->row_index_at);
    uint64_t address = pc - module->bias;
    if (address < plan->code_start || address >= plan->code_end)
        return NULL;
    uint64_t entry = (address - plan->code_start) >> plan->row_index_shift;
    if (entry >= plan->row_index_count)
        return NULL;
    uint32_t low = index[entry], high = index[entry + 1];
    if (low > high || high > plan->row_count)
        return NULL;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (rows[middle].address <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low == 0 ? NULL : &rows[low - 1];
}

/* ---- words ---- */

/* Fills the copy up to so many bytes, or to where the mapping ends. */
static void fill(struct state *s, uint64_t bytes)
{
    struct ttp_traced_stack *stack = s->stack;
    const struct iovec to = {stack->bytes + stack->filled, bytes - stack->filled};
    const struct iovec from = {(void *)(uintptr_t)(stack->low + stack->filled),
                               bytes - stack->filled};
    ssize_t got = process_vm_readv((pid_t)s->tid, &to, 1, &from, 1, 0);
    stack->filled += got > 0 ? (uint64_t)got : 0;
}

static bool read_word(struct state *s, uint64_t at, uint64_t *word)
{
    struct ttp_traced_stack *stack = s->stack;
    if (at < stack->low || at - stack->low > TTP_STACK_BYTES - 8 || at % 8 != 0)
        return false;
    if (at - stack->low + 8 > stack->filled)
        fill(s, TTP_STACK_BYTES);
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
    fill(s, FIRST_BYTES);
    if (s->stack->filled < 8) /* the next page is no memory */
        fill(s, page_rest);
}

/* ---- one frame ---- */

static bool step_signal(struct state *s)
{
    uint64_t sp, rbp, pc;
    if (!read_word(s, s->sp + SIGNAL_RSP, &sp) || !read_word(s, s->sp + SIGNAL_RBP, &rbp) ||
        !read_word(s, s->sp + SIGNAL_PC, &pc))
        return false;
    if (sp < s->sp || sp - s->stack->low >= s->stack->filled)
        restart(s, sp);
    s->sp = sp;
    s->rbp = rbp;
    s->pc = pc;
    s->has_rbp = s->is_exact = true;
    return true;
}

static bool find_cfa(struct state *s, const struct ttp_plan_row *row, uint64_t *cfa)
{
    uint64_t offset = (uint64_t)(int64_t)row->cfa_offset;
    switch (row->cfa_kind) {
    case TTP_PLAN_CFA_RSP: *cfa = s->sp + offset; return true;
    case TTP_PLAN_CFA_RBP: *cfa = s->rbp + offset; return s->has_rbp;
    case TTP_PLAN_CFA_AT_RBP: return s->has_rbp && read_word(s, s->rbp + offset, cfa);
    case TTP_PLAN_CFA_AT_RSP: return read_word(s, s->sp + offset, cfa);
    case TTP_PLAN_CFA_PLT:
        *cfa = s->sp + offset + 8 * ((s->pc & PLT_MASK) >= PLT_PUSHED);
        return true;
    default: return false;
    }
}

static bool step(struct state *s, const struct ttp_plan_row *row)
{
    uint64_t cfa, pc, offset = (uint64_t)(int64_t)row->rbp_offset;
    if (row->cfa_kind == TTP_PLAN_CFA_SIGNAL)
        return step_signal(s);
    if (!find_cfa(s, row, &cfa) || cfa <= s->sp || !read_word(s, cfa - 8, &pc))
        return false;
    if (row->rbp_kind == TTP_PLAN_RBP_CFA)
        s->has_rbp = read_word(s, cfa + offset, &s->rbp);
    else if (row->rbp_kind == TTP_PLAN_RBP_AT_RBP)
        s->has_rbp = s->has_rbp && read_word(s, s->rbp + offset, &s->rbp);
    else if (row->rbp_kind == TTP_PLAN_RBP_GONE)
        s->has_rbp = false;
    s->sp = cfa;
    s->pc = pc;
    s->is_exact = false;
    return true;
}

void ttp_stack_walk(struct ttp_traced_stack *stack, const struct ttp_traced_modules *modules,
                    uint32_t tid, uint64_t pc, uint64_t sp, uint64_t rbp)
{
    struct state s = {.stack = stack, .tid = tid, .pc = pc, .sp = sp, .rbp = rbp, .has_rbp = true};
    stack->count = 0;
    stack->is_cut = true;
    restart(&s, sp);
    while (s.pc != 0 && stack->count < TTP_STACK_FRAMES) {
        stack->frames[stack->count++] = s.pc;
        uint64_t looked_up = s.is_exact ? s.pc : s.pc - 1;
        const struct ttp_plan_row *row = find_row(find_module(modules, looked_up), looked_up);
        if (row != NULL && row->cfa_kind == TTP_PLAN_CFA_OUTERMOST) {
            stack->is_cut = false;
            return;
        }
        if (row == NULL || !step(&s, row))
            return;
    }
    stack->is_cut = s.pc != 0;
}

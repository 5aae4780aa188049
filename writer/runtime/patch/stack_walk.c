/* A walk up the stack by the rows of plans. Only words of the stack that the thread is on are read,
 * or of the one that a signal handler interrupted; where a row would have it otherwise, the walk
 * ends. */
#include "writer/runtime/patch/patch.h"

#define MODULES        256u
#define SIGNAL_RBP     120u /* in the kernel's frame, as plan.h has it */
#define SIGNAL_RSP     160u
#define SIGNAL_PC      168u
#define PLT_ENTRY_MASK 15u
#define PLT_PUSHED     11u

/* Sorted by start; changed only while there is one thread and no signal. */
static struct module {
    uint64_t start, end, bias;
    const struct ttp_plan_head *plan;
} modules[MODULES];
static uint32_t module_count;

void ttp_walk_add_module(const struct ttp_module_seen *module, uint64_t bias,
                         const struct ttp_plan_head *plan)
{
    uint32_t at = module_count;
    if (at == MODULES)
        return;
    for (; at != 0 && modules[at - 1].start > module->start; at--)
        modules[at] = modules[at - 1];
    modules[at] = (struct module){module->start, module->end, bias, plan};
    module_count++;
}

static const struct module *find_module(uint64_t pc)
{
    uint32_t low = 0, high = module_count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (modules[middle].end <= pc)
            low = middle + 1;
        else
            high = middle;
    }
    return low < module_count && pc >= modules[low].start ? &modules[low] : NULL;
}

/* The last row at or before the address. The index may say anything: it only narrows the search. */
static const struct ttp_plan_row *find_row(const struct module *module, uint64_t pc)
{
    const struct ttp_plan_head *plan = module->plan;
    const struct ttp_plan_row *rows = ttp_plan_at(plan, plan->rows_at);
    const uint32_t *index = ttp_plan_at(plan, plan->row_index_at);
    uint64_t address = pc - module->bias;
    if (address < plan->code_start || address >= plan->code_end || plan->row_index_shift >= 32)
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

/* -- memory that may be read -- */

struct state {
    struct ttp_walk *walk;
    uint64_t pc, sp, rbp;
    uintptr_t low, high;    /* of the stack */
    bool has_rbp, is_exact; /* is_exact: pc is not a return address */
};

static bool read_word(struct state *s, uint64_t at, uint64_t *word)
{
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
    s->high = stack->high;
    if (ttp_stack_holds(stack, sp))
        return stack->exact;
    uint32_t index = ttp_stack_locate(sp, &is_alternate);
    if (index == UINT32_MAX)
        return false;
    s->high = is_alternate ? stacks->alternate_high : stacks->list[index].high;
    return sp < s->high && (is_alternate || stacks->list[index].exact);
}

/* -- one frame -- */

/* Of a handler that interrupted a stub: as if its code had been where the jump to the stub is. */
static void leave_signal(struct state *s)
{
    const struct ttp_area *area = ttp_area_of(s->pc);
    if (area != NULL)
        s->pc = ((const struct ttp_stub *)(s->pc & ~(uint64_t)(TTP_STUB_BYTES - 1)))->after;
    s->is_exact = area == NULL;
}

static bool step_signal(struct state *s)
{
    uint64_t sp, rbp, pc;
    if (!read_word(s, s->sp + SIGNAL_RSP, &sp) || !read_word(s, s->sp + SIGNAL_RBP, &rbp) ||
        !read_word(s, s->sp + SIGNAL_PC, &pc))
        return false;
    if ((sp < s->sp || sp >= s->high) && !find_stack(s, sp))
        return false;
    s->sp = sp;
    s->rbp = rbp;
    s->pc = pc;
    s->has_rbp = true;
    leave_signal(s);
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
        *cfa = s->sp + offset + 8 * ((s->pc & PLT_ENTRY_MASK) >= PLT_PUSHED);
        return true;
    default: return false;
    }
}

static bool step(struct state *s, const struct ttp_plan_row *row)
{
    uint64_t cfa, pc;
    if (row->cfa_kind == TTP_PLAN_CFA_SIGNAL)
        return step_signal(s);
    if (!find_cfa(s, row, &cfa) || cfa <= s->sp || !read_word(s, cfa - 8, &pc))
        return false;
    uint64_t offset = (uint64_t)(int64_t)row->rbp_offset;
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

/* A thread begins at a row that says so, or with a return address of 0. */
void ttp_walk_stack(struct ttp_walk *walk, uint64_t after, uintptr_t sp, uintptr_t rbp)
{
    struct state s = {.walk = walk, .pc = after, .sp = sp, .rbp = rbp, .has_rbp = true};
    walk->frame_count = walk->word_count = 0;
    walk->is_cut = walk->is_whole = true;
    bool has_stack = find_stack(&s, sp);
    while (s.pc != 0 && walk->frame_count < TTP_WALK_FRAMES) {
        walk->frames[walk->frame_count++] = s.pc;
        uint64_t looked_up = s.is_exact ? s.pc : s.pc - 1;
        const struct module *module = find_module(looked_up);
        const struct ttp_plan_row *row = module == NULL ? NULL : find_row(module, looked_up);
        if (row != NULL && row->cfa_kind == TTP_PLAN_CFA_OUTERMOST) {
            walk->is_cut = false;
            return;
        }
        if (!has_stack || row == NULL || !step(&s, row))
            return;
    }
    walk->is_cut = s.pc != 0;
}

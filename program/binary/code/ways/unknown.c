/* Functions that a jump may lead into anywhere, as it is not seen where it leads:
 *
 *     a jump of their own whose target is calculated         TOOL_CODE_UNKNOWN, by flow_jumps.c
 *     code takes the address of a place within them          distances from it may be added
 *     code takes their address and calculates with it        the same
 *     a function with such a jump takes their address        the same
 *     a return that is none, as it was pushed, or written    of who calls or jumps there, too
 *     tables of distances that nobody was seen to jump by    of what they list, and of who has them
 *
 * What holds of one holds of its group. */
#include <stdlib.h>

#include "program/binary/code/ways/ways.h"

#define LOOK_AHEAD 4096u
#define BRANCHES   16u /* that are ahead at a time */
#define RSP        4u
#define CALLED     0x0FC7u /* registers that a call may change */

/* The function that a place is in, and the one that ends there: distances may be negative. */
static void set_computed(struct tool_code *code, uint64_t address)
{
    for (uint64_t back = 0; back < 2 && back < address && address <= UINT32_MAX; back++) {
        size_t function = tool_code_function_at(code, (uint32_t)(address - back));
        if (function < code->function_count)
            code->functions[function].flags |= TTP_PLAN_FUNCTION_COMPUTED;
    }
}

/* Does code take the address of a place within it? The range of a signal's frame begins a byte in
 * front. */
static bool is_taken_within(const struct tool_code *code, const struct tool_function *function)
{
    uint32_t first = function->start + 1 + ((function->flags & TTP_PLAN_FUNCTION_SIGNAL) != 0);
    uint32_t end = function->end;
    while (first < end) {
        uint64_t bit = first - code->image->code_start;
        if (bit % 64 == 0 && end - first >= 64 && code->taken[bit / 64] == 0) {
            first += 64;
            continue;
        }
        if (tool_code_bit(code, code->taken, first))
            return true;
        first++;
    }
    return false;
}

/* The places whose addresses an instruction takes. */
static unsigned addresses_of(const struct tool_code *code, const struct tool_instruction *found,
                             uint32_t addresses[2])
{
    unsigned count = 0;
    if (found->is_address ||
        (code->image->is_fixed && found->kind != TOOL_CODE_CALL && found->kind != TOOL_CODE_JUMP &&
         found->kind != TOOL_CODE_BRANCH && found->kind != TOOL_CODE_LOOP && !found->has_place))
        addresses[count++] = found->target;
    if (code->image->is_fixed)
        addresses[count++] = found->constant;
    unsigned kept = 0;
    for (unsigned i = 0; i < count; i++)
        if (addresses[i] != 0 && tool_code_holds(code, addresses[i]))
            addresses[kept++] = addresses[i];
    return kept;
}

/* Registers that hold an address of code, or copies of it; and where branches go on with it. */
struct held {
    uint16_t holders;
    uint32_t count;
    struct {
        uint32_t target;
        uint16_t holders;
    } branches[BRANCHES];
};

/* False: there are more of them than can be remembered. */
static bool hold_at(struct held *held, uint32_t target)
{
    uint32_t i = 0;
    while (i < held->count && held->branches[i].target != target)
        i++;
    if (i == BRANCHES)
        return false;
    if (i == held->count) {
        held->count++;
        held->branches[i].target = target;
        held->branches[i].holders = 0;
    }
    held->branches[i].holders |= held->holders;
    return true;
}

static void come_to(struct held *held, uint32_t address)
{
    for (uint32_t i = 0; i < held->count; i++)
        if (held->branches[i].target == address) {
            held->holders |= held->branches[i].holders;
            held->branches[i] = held->branches[--held->count];
            return;
        }
}

/* What an instruction does with them; true: something is calculated. */
static bool calculates(const struct tool_code *code, const struct tool_instruction *next,
                       struct held *held)
{
    switch (next->kind) {
    case TOOL_CODE_CALL:
    case TOOL_CODE_CALL_INDIRECT: held->holders &= (uint16_t)~CALLED; return false;
    case TOOL_CODE_BRANCH:
    case TOOL_CODE_LOOP: return next->target > next->address && !hold_at(held, next->target);
    case TOOL_CODE_JUMP: {
        bool is_more = next->target > next->address && !hold_at(held, next->target);
        held->holders = 0;
        return is_more;
    }
    case TOOL_CODE_JUMP_INDIRECT:
    case TOOL_CODE_RETURN:
    case TOOL_CODE_STOP: held->holders = 0; return false;
    case TOOL_CODE_PLAIN: break;
    default: return false;
    }
    struct tool_step step = tool_code_step_of(code, next);
    bool is_copy = (step.kind == TOOL_STEP_COPY && step.each == 8) ||
                   step.kind == TOOL_STEP_CHOOSE || step.kind == TOOL_STEP_GUARD;
    bool is_other = step.kind == TOOL_STEP_LOAD || step.kind == TOOL_STEP_CONSTANT;
    uint16_t changed = step.writes & (uint16_t) ~(1u << RSP);
    bool was_read = (step.reads & held->holders) != 0;
    if (!is_copy && !is_other && was_read && changed != 0)
        return true;
    held->holders &= (uint16_t)~changed;
    if (is_copy && was_read && step.to < TOOL_FLOW_REGISTERS)
        held->holders |= (uint16_t)(1u << step.to);
    return false;
}

/* Whether something is calculated with an address before it is given away: as far as the code
 * behind goes, by forward branches, too. */
static bool is_calculated(const struct tool_code *code, const struct tool_function *function,
                          size_t i, uint16_t holders)
{
    size_t end = function->first + function->count;
    struct held held = {.holders = holders};
    for (size_t left = LOOK_AHEAD; ++i < end && left > 0; left--) {
        const struct tool_instruction *next = &code->instructions[i];
        if (next[-1].address + next[-1].length != next->address)
            held.holders = 0;
        come_to(&held, next->address);
        if (held.holders == 0 && held.count == 0)
            return false;
        if (held.holders != 0 && calculates(code, next, &held))
            return true;
    }
    return false;
}

static void find_calculated(struct tool_code *code, const struct tool_function *function, size_t i)
{
    uint32_t addresses[2];
    unsigned count = addresses_of(code, &code->instructions[i], addresses);
    if (count == 0)
        return;
    struct tool_step step = tool_code_step_of(code, &code->instructions[i]);
    bool is_held = (step.kind == TOOL_STEP_ADDRESS && step.memory.is_known &&
                    step.memory.index == TOOL_STEP_NOTHING) ||
                   step.kind == TOOL_STEP_CONSTANT;
    uint16_t holders = (uint16_t)(step.to < TOOL_FLOW_REGISTERS ? 1u << step.to : 0);
    bool is_given = step.kind == TOOL_STEP_STORE || step.kind == TOOL_STEP_COMPARE ||
                    (step.writes & (uint16_t) ~(1u << RSP)) == 0;
    if (code->instructions[i].kind != TOOL_CODE_PLAIN || step.kind == TOOL_STEP_LOAD)
        return;
    if (is_given || (is_held && !is_calculated(code, function, i, holders)))
        return;
    for (unsigned k = 0; k < count; k++)
        set_computed(code, addresses[k]);
}

/* A return that goes where the code before says: what it returns to was pushed, or written over. */
static bool is_no_return(const struct tool_code *code, const struct tool_function *function,
                         size_t i)
{
    const struct tool_instruction *at = &code->instructions[i];
    const struct ttp_plan_row *row = tool_code_row_at(code, at->address);
    if (at->kind != TOOL_CODE_RETURN)
        return false;
    if (row != NULL && row->cfa_kind != TTP_PLAN_CFA_NONE && row->cfa_kind != TTP_PLAN_CFA_HARD &&
        function->frame_at != TOOL_CODE_NO_FRAME &&
        (row->cfa_kind != TTP_PLAN_CFA_RSP || row->cfa_offset != 8))
        return true;
    if (i == function->first || at[-1].kind != TOOL_CODE_PLAIN ||
        at[-1].address + at[-1].length != at->address)
        return false;
    row = tool_code_row_at(code, at[-1].address);
    if (row != NULL && row->cfa_kind == TTP_PLAN_CFA_RDI)
        return false; /* there the return address was, meanwhile: vfork */
    struct tool_step before = tool_code_step_of(code, &at[-1]);
    bool is_push = before.writes_memory && (before.writes >> RSP & 1) != 0;
    return is_push || (before.writes_memory && before.has_memory && before.memory.base == RSP &&
                       before.memory.displacement == 0 && before.memory.index == TOOL_STEP_NOTHING);
}

static bool is_pop_of_return(const struct tool_code *code, const struct tool_instruction *at)
{
    const struct ttp_plan_row *row = tool_code_row_at(code, at->address);
    return at->kind == TOOL_CODE_PLAIN && row != NULL && row->cfa_kind == TTP_PLAN_CFA_RSP &&
           row->cfa_offset == 8 && tool_code_step_of(code, at).kind == TOOL_STEP_POP;
}

/* Functions that return elsewhere than to who called them, or may. */
static bool returns_elsewhere(const struct tool_code *code, const struct tool_function *function)
{
    bool is_unknown = (function->flags & TOOL_CODE_UNKNOWN) != 0;
    for (size_t i = function->first; i < function->first + function->count; i++)
        if (is_no_return(code, function, i) ||
            (is_unknown && is_pop_of_return(code, &code->instructions[i])))
            return true;
    return false;
}

static void spread_to_callers(struct tool_code *code, const uint64_t *elsewhere)
{
    for (size_t i = 0; i < code->function_count; i++) {
        struct tool_function *function = &code->functions[i];
        for (size_t n = function->first; n < function->first + function->count; n++) {
            const struct tool_instruction *at = &code->instructions[n];
            if (at->kind != TOOL_CODE_CALL && at->kind != TOOL_CODE_JUMP &&
                at->kind != TOOL_CODE_BRANCH)
                continue;
            size_t to = tool_code_function_at(code, at->target);
            if (to != i && to < code->function_count && (elsewhere[to / 64] >> to % 64 & 1) != 0)
                function->flags |= TTP_PLAN_FUNCTION_COMPUTED;
        }
    }
}

/* Of functions that have such a jump themselves: whatever they take the address of. */
static void spread_to_taken(struct tool_code *code, const struct tool_function *function)
{
    uint32_t addresses[2];
    for (size_t i = function->first; i < function->first + function->count; i++)
        for (unsigned k = addresses_of(code, &code->instructions[i], addresses); k-- > 0;)
            set_computed(code, addresses[k]);
}

static void spread_in_group(struct tool_code *code, const struct tool_groups *groups,
                            uint32_t first)
{
    uint32_t flags = 0;
    for (uint32_t i = first;; i = groups->next[i]) {
        flags |= code->functions[i].flags;
        if (groups->next[i] == i)
            break;
    }
    if ((flags & (TTP_PLAN_FUNCTION_COMPUTED | TOOL_CODE_UNKNOWN)) == 0)
        return;
    for (uint32_t i = first;; i = groups->next[i]) {
        code->functions[i].flags |= TTP_PLAN_FUNCTION_COMPUTED;
        if (groups->next[i] == i)
            return;
    }
}

bool tool_unknown_mark(struct tool_code *code, const struct tool_groups *groups)
{
    uint64_t *elsewhere = tool_code_new_bits(code, code->function_count);
    if (elsewhere == NULL)
        return false;
    for (uint32_t i = 0; i < code->function_count; i++) {
        struct tool_function *function = &code->functions[i];
        if ((function->flags & TTP_PLAN_FUNCTION_LOOKED) == 0)
            continue;
        for (size_t n = function->first; n < function->first + function->count; n++)
            find_calculated(code, function, n);
        if (is_taken_within(code, function) || code->entries_left == 0)
            function->flags |= TTP_PLAN_FUNCTION_COMPUTED;
        if ((function->flags & TOOL_CODE_UNKNOWN) != 0)
            spread_to_taken(code, function);
        if (returns_elsewhere(code, function)) {
            elsewhere[i / 64] |= (uint64_t)1 << i % 64;
            function->flags |= TTP_PLAN_FUNCTION_COMPUTED;
        }
    }
    spread_to_callers(code, elsewhere);
    free(elsewhere);
    for (uint32_t i = 0; i < code->function_count; i++)
        if (groups->first[i] == i)
            spread_in_group(code, groups, i);
    return true;
}

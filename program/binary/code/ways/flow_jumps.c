/* Each place where ways meet has a state: what registers hold, as far as all ways agree. It is gone
 * through again when less of it is known, so the number of steps is bounded. */
#include <stdlib.h>
#include <string.h>

#include "program/binary/code/code_move.h"
#include "program/binary/code/ways/ways.h"

#define STEPS_EACH 64u /* for each instruction of a group */
#define STEPS_MOST 40000000u
#define LOOK_BACK  16u
#define RSP        4u
#define RAX        0u

struct tool_jumps_state {
    const struct tool_instruction *at;
    uint32_t next_waiting;
    bool is_waiting;
    struct tool_facts facts;
};

static size_t index_of(const struct tool_jumps *jumps, const struct tool_instruction *at)
{
    return (size_t)(at - jumps->code->instructions);
}

static bool is_in_group(const struct tool_jumps *jumps, uint32_t address, size_t *function)
{
    *function = tool_code_function_at(jumps->code, address);
    return *function < jumps->code->function_count &&
           jumps->groups->first[*function] == jumps->group;
}

static bool wait_for(struct tool_jumps *jumps, uint32_t number)
{
    struct tool_jumps_state *state = &jumps->all[number];
    if (!state->is_waiting) {
        state->is_waiting = true;
        state->next_waiting = jumps->waiting;
        jumps->waiting = number + 1;
    }
    return true;
}

static bool add_state(struct tool_jumps *jumps, const struct tool_instruction *at,
                      const struct tool_facts *facts)
{
    void *array = jumps->all;
    if (!tool_bounded_grow(&jumps->code->memory, &array, &jumps->state_capacity,
                           jumps->state_count + 1, sizeof *jumps->all))
        return false;
    jumps->all = array;
    jumps->all[jumps->state_count++] = (struct tool_jumps_state){.at = at, .facts = *facts};
    jumps->states[index_of(jumps, at)] = (uint32_t)jumps->state_count;
    return wait_for(jumps, (uint32_t)jumps->state_count - 1);
}

static bool meet_at(struct tool_jumps *jumps, const struct tool_instruction *at,
                    const struct tool_facts *facts)
{
    uint32_t number = jumps->states[index_of(jumps, at)];
    if (number == 0)
        return add_state(jumps, at, facts);
    if (tool_facts_meet(&jumps->all[number - 1].facts, facts))
        (void)wait_for(jumps, number - 1);
    return true;
}

static void step_instruction(const struct tool_jumps *jumps, const struct tool_instruction *at,
                             struct tool_facts *facts)
{
    struct tool_step found = tool_code_step_of(jumps->code, at);
    bool is_stack = found.has_memory && found.memory.base == RSP;
    const struct ttp_plan_row *row = is_stack ? tool_code_row_at(jumps->code, at->address) : NULL;
    bool is_framed = row != NULL && row->cfa_kind == TTP_PLAN_CFA_RSP;
    tool_facts_step(facts, &found, is_framed, is_framed ? row->cfa_offset : 0);
}

/* Into an instruction, behind a prefix of it: it is the same without. Else nobody knows where the
 * code goes on. */
static bool go_within(struct tool_jumps *jumps, uint32_t address, const struct tool_facts *facts)
{
    const struct tool_code *code = jumps->code;
    struct tool_instruction found;
    size_t available;
    const uint8_t *bytes = tool_image_at(code->image, address, &available);
    struct tool_facts behind = *facts;
    if (bytes == NULL || !tool_decode(bytes, available, address, &found) ||
        found.kind != TOOL_CODE_PLAIN)
        return jumps->is_bad = true;
    const struct tool_instruction *next = tool_code_instruction_at(code, address + found.length);
    struct tool_step all = tool_step_of(bytes, found.length, address);
    if (next == NULL)
        return jumps->is_bad = true;
    tool_facts_step(&behind, &all, false, 0);
    if (!tool_code_is_marked(code, next->address)) {
        tool_code_set_mark(jumps->code, next->address);
        jumps->is_again = true;
    }
    return meet_at(jumps, next, &behind);
}

/* Somebody comes to an address of the group with these facts. Others are theirs, marked. */
static bool go_to(struct tool_jumps *jumps, uint32_t address, const struct tool_facts *facts)
{
    size_t function;
    if (!is_in_group(jumps, address, &function)) {
        tool_code_set_mark(jumps->code, address);
        return true;
    }
    const struct tool_instruction *at = tool_code_instruction_at(jumps->code, address);
    if (!tool_code_is_marked(jumps->code, address)) {
        tool_code_set_mark(jumps->code, address);
        jumps->is_again = true;
    }
    return at == NULL ? go_within(jumps, address, facts) : meet_at(jumps, at, facts);
}

static void set_unknown(struct tool_jumps *jumps, const struct tool_instruction *jump)
{
    size_t function = tool_code_function_at(jumps->code, jump->address);
    jumps->code->functions[function].flags |= TOOL_CODE_UNKNOWN;
}

struct going {
    struct tool_jumps *jumps;
    const struct tool_facts *facts;
};

/* Of another group it may have been gone through before. */
static bool take_target(void *context, uint32_t target)
{
    struct going *going = context;
    struct tool_code *code = going->jumps->code;
    size_t function;
    if (is_in_group(going->jumps, target, &function))
        return go_to(going->jumps, target, going->facts);
    tool_code_set_entered(code, target);
    if (function < code->function_count && code->functions[function].start != target)
        code->functions[function].flags |= TTP_PLAN_FUNCTION_COMPUTED;
    return true;
}

/* A call into the group's middle is of code that keeps to no convention. */
static bool is_start(const struct tool_jumps *jumps, uint32_t address)
{
    size_t function;
    return !is_in_group(jumps, address, &function) ||
           jumps->code->functions[function].start == address;
}

/* Called, and not jumped to: what is there knows nothing of the caller's registers. */
static bool take_call(void *context, uint32_t target)
{
    struct going *going = context;
    struct tool_jumps *jumps = going->jumps;
    if (!tool_code_is_entered(jumps->code, target) && !is_start(jumps, target))
        jumps->is_again = true;
    tool_code_set_entered(jumps->code, target);
    return true;
}

/* The register of an indirect branch. */
static uint8_t register_of(const struct tool_code *code, const struct tool_instruction *jump)
{
    uint16_t reads = tool_code_step_of(code, jump).reads & (uint16_t) ~(1u << RSP);
    uint8_t number = 0;
    while (number < TOOL_FLOW_REGISTERS && (reads >> number & 1) == 0)
        number++;
    return number;
}

/* Memory has whole addresses: those that are of code are marked wherever they come from. Calls are
 * of functions, unless something was calculated. */
static bool go_indirect(struct tool_jumps *jumps, const struct tool_instruction *jump,
                        const struct tool_facts *facts)
{
    struct going going = {jumps, facts};
    if (!jump->by_register)
        return true;
    uint8_t number = register_of(jumps->code, jump);
    if (number == TOOL_FLOW_REGISTERS)
        number = RSP;
    const struct tool_fact *fact = &facts->of[number];
    bool is_call = jump->kind == TOOL_CODE_CALL_INDIRECT;
    switch (fact->kind) {
    case TOOL_FACT_WORD: return true;
    case TOOL_FACT_PLACE:
        return is_call ? take_call(&going, fact->place) : take_target(&going, fact->place);
    case TOOL_FACT_TARGETS:
        if (!tool_table_read(jumps->code, fact, is_call ? take_call : take_target, &going))
            set_unknown(jumps, jump);
        else if (fact->base == fact->place)
            tool_table_claim(jumps->code, fact->place);
        return !jumps->code->memory.is_short;
    case TOOL_FACT_UNKNOWN:
        if (!is_call)
            set_unknown(jumps, jump);
        return true;
    default: set_unknown(jumps, jump); return true;
    }
}

static bool branch(struct tool_jumps *jumps, const struct tool_instruction *at,
                   struct tool_facts *facts)
{
    struct tool_facts taken = *facts;
    if (at->kind == TOOL_CODE_BRANCH) {
        uint8_t condition = tool_code_condition(jumps->code->image, at);
        tool_facts_branch(&taken, condition, true);
        tool_facts_branch(facts, condition, false);
    }
    return go_to(jumps, at->target, &taken);
}

static bool never_returns(const struct tool_jumps *jumps, uint32_t address)
{
    size_t function = tool_code_function_at(jumps->code, address);
    return function < jumps->code->function_count &&
           jumps->code->functions[function].start == address &&
           (jumps->code->functions[function].flags & TOOL_CODE_ENDLESS) != 0;
}

/* The instruction, and where it leads beside the next one. *goes_on: something is behind it. */
static bool pass(struct tool_jumps *jumps, const struct tool_instruction *at,
                 struct tool_facts *facts, bool *goes_on)
{
    *goes_on = true;
    switch (at->kind) {
    case TOOL_CODE_CALL:
        *goes_on = !never_returns(jumps, at->target);
        tool_facts_call(facts, is_start(jumps, at->target));
        return true;
    case TOOL_CODE_CALL_INDIRECT:
        if (!go_indirect(jumps, at, facts))
            return false;
        tool_facts_call(facts, true);
        return true;
    case TOOL_CODE_JUMP: *goes_on = false; return go_to(jumps, at->target, facts);
    case TOOL_CODE_BRANCH:
    case TOOL_CODE_LOOP: return branch(jumps, at, facts);
    case TOOL_CODE_JUMP_INDIRECT: *goes_on = false; return go_indirect(jumps, at, facts);
    case TOOL_CODE_RETURN:
    case TOOL_CODE_STOP: *goes_on = false; return true;
    default: step_instruction(jumps, at, facts); return true;
    }
}

static bool step_over(struct tool_jumps *jumps, const struct tool_instruction *at,
                      struct tool_facts facts)
{
    const struct tool_code *code = jumps->code;
    size_t number = tool_code_function_at(code, at->address);
    const struct tool_function *function = &code->functions[number];
    const struct tool_instruction *end = code->instructions + function->first + function->count;
    for (bool is_first = true, goes_on = true; goes_on && at < end; at++, is_first = false) {
        if (!is_first && (tool_code_is_marked(code, at->address) ||
                          at[-1].address + at[-1].length != at->address))
            return meet_at(jumps, at, &facts);
        if (jumps->steps_left == 0)
            return true;
        jumps->steps_left--;
        jumps->passed[index_of(jumps, at) / 64] |= (uint64_t)1 << index_of(jumps, at) % 64;
        if (!pass(jumps, at, &facts, &goes_on))
            return false;
        if (goes_on && at + 1 == end && function->end == at->address + at->length)
            return go_to(jumps, function->end, &facts);
    }
    return true;
}

/* Where the group is entered: functions with what they are given; other places that something else
 * than a branch of the group leads to, with who knows what. */
static bool enter_instruction(struct tool_jumps *jumps, uint32_t number)
{
    const struct tool_code *code = jumps->code;
    const struct tool_function *function = &code->functions[number];
    struct tool_facts given, unknown;
    tool_facts_start(&given, true);
    tool_facts_start(&unknown, false);
    for (size_t i = function->first; i < function->first + function->count; i++) {
        const struct tool_instruction *at = &code->instructions[i];
        bool is_given = i == function->first && (function->flags & TOOL_CODE_PIECE) == 0;
        if ((is_given || tool_code_is_entered(code, at->address)) &&
            !meet_at(jumps, at, is_given ? &given : &unknown))
            return false;
    }
    return true;
}

static void forget_tables(struct tool_jumps *jumps)
{
    for (size_t i = 0; i < jumps->state_count; i++)
        jumps->states[index_of(jumps, jumps->all[i].at)] = 0;
    jumps->state_count = jumps->waiting = 0;
    jumps->is_again = jumps->is_bad = false;
}

static bool run_all(struct tool_jumps *jumps)
{
    while (jumps->waiting != 0 && jumps->steps_left > 0) {
        struct tool_jumps_state *state = &jumps->all[jumps->waiting - 1];
        jumps->waiting = state->next_waiting;
        state->is_waiting = false;
        if (!step_over(jumps, state->at, state->facts))
            return false;
    }
    return true;
}

/* ---- which groups are worth it ---- */

static bool chooses(const struct tool_instruction *at)
{
    return (at->kind == TOOL_CODE_JUMP_INDIRECT || at->kind == TOOL_CODE_CALL_INDIRECT) &&
           at->by_register;
}

/* A few instructions in front of a jump or call say that its register was loaded from memory, was
 * given, or is what a call returned. */
static bool is_plain(const struct tool_jumps *jumps, const struct tool_function *function, size_t i)
{
    const struct tool_code *code = jumps->code;
    const struct tool_instruction *all = code->instructions;
    uint8_t wanted = register_of(code, &all[i]);
    for (size_t left = LOOK_BACK; left > 0 && wanted < TOOL_FLOW_REGISTERS; left--, i--) {
        if (i == function->first)
            return (function->flags & TOOL_CODE_PIECE) == 0;
        const struct tool_instruction *before = &all[i - 1];
        if (tool_code_is_marked(code, all[i].address) ||
            before->address + before->length != all[i].address)
            return false;
        if (before->kind == TOOL_CODE_CALL_INDIRECT ||
            (before->kind == TOOL_CODE_CALL && is_start(jumps, before->target))) {
            if (wanted == RAX)
                return true;
            continue;
        }
        if (before->kind == TOOL_CODE_BRANCH)
            continue;
        if (before->kind != TOOL_CODE_PLAIN)
            return false;
        struct tool_step found = tool_code_step_of(code, before);
        if ((found.writes >> wanted & 1) == 0)
            continue;
        if (found.kind == TOOL_STEP_LOAD)
            return found.each == 8 && found.to == wanted;
        if (found.kind != TOOL_STEP_COPY || found.each != 8)
            return false;
        wanted = found.from;
    }
    return false;
}

static bool is_worth_it(const struct tool_jumps *jumps, size_t *instructions)
{
    const struct tool_code *code = jumps->code;
    bool is_worth = false;
    *instructions = 0;
    for (uint32_t number = jumps->group;; number = jumps->groups->next[number]) {
        const struct tool_function *function = &code->functions[number];
        *instructions += function->count;
        for (size_t i = function->first; !is_worth && i < function->first + function->count; i++)
            is_worth = chooses(&code->instructions[i]) && !is_plain(jumps, function, i);
        if (jumps->groups->next[number] == number)
            return is_worth;
    }
}

/* ---- all of it ---- */

static bool was_passed(const struct tool_jumps *jumps, size_t i)
{
    return (jumps->passed[i / 64] >> i % 64 & 1) != 0;
}

/* Jumps that no way was found to may lead anywhere; all of them, if not all ways were gone. */
static void doubt(struct tool_jumps *jumps, bool is_all)
{
    for (uint32_t number = jumps->group;; number = jumps->groups->next[number]) {
        struct tool_function *function = &jumps->code->functions[number];
        for (size_t i = function->first; i < function->first + function->count; i++)
            if (chooses(&jumps->code->instructions[i]) && (is_all || !was_passed(jumps, i)))
                function->flags |= TOOL_CODE_UNKNOWN;
        if (jumps->groups->next[number] == number)
            return;
    }
}

bool tool_jumps_follow(struct tool_jumps *jumps, uint32_t group)
{
    size_t instructions;
    jumps->group = group;
    if (!is_worth_it(jumps, &instructions))
        return true;
    jumps->steps_left = (uint64_t)instructions * STEPS_EACH;
    if (jumps->steps_left > STEPS_MOST)
        jumps->steps_left = STEPS_MOST;
    bool fits = true;
    do {
        forget_tables(jumps);
        for (uint32_t number = group; fits; number = jumps->groups->next[number]) {
            fits = enter_instruction(jumps, number);
            if (jumps->groups->next[number] == number)
                break;
        }
        fits = fits && run_all(jumps);
    } while (fits && jumps->is_again && jumps->steps_left > 0);
    if (fits)
        doubt(jumps, jumps->steps_left == 0 || jumps->is_bad);
    forget_tables(jumps);
    return fits;
}

bool tool_jumps_open(struct tool_code *code, const struct tool_groups *groups,
                     struct tool_jumps *jumps)
{
    size_t capacity = 0;
    void *array = NULL;
    *jumps = (struct tool_jumps){.code = code, .groups = groups};
    if (!tool_bounded_grow(&code->memory, &array, &capacity, code->instruction_count + 1,
                           sizeof *jumps->states))
        return false;
    jumps->states = array;
    memset(jumps->states, 0, (code->instruction_count + 1) * sizeof *jumps->states);
    jumps->passed = tool_code_new_bits(code, code->instruction_count + 1);
    return jumps->passed != NULL;
}

void tool_jumps_close(struct tool_jumps *jumps)
{
    free(jumps->states);
    free(jumps->all);
    free(jumps->passed);
    *jumps = (struct tool_jumps){0};
}

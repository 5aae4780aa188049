/* Each place where paths meet has a state for each list of open functions; what registers hold is
 * kept as far as all paths agree. A state is gone through again when less of it is known, so the
 * number of steps is bounded. */
#include <string.h>

#include "base/ordered.h"
#include "program/callgraph/code_flow.h"

#define OPEN_MOST    24u /* functions that are inlined in one another */
#define SLOTS        12u
#define STEPS_EACH   96u /* for each instruction of a function */
#define TABLE_MOST   4096u
#define CALLER_SAVED 0x0FC7u /* rax, rcx, rdx, rsi, rdi, r8 to r11 */
#define REGISTER_RDI 7u

/* An address, and which instruction took it. 0: not known. */
struct value {
    uint32_t constant, by;
};
struct slot {
    int32_t place;
    bool by_rbp;
    struct value value;
};
struct tool_flow_state {
    uint32_t address, open_count;
    uint32_t open[OPEN_MOST];
    struct value registers[TOOL_FLOW_REGISTERS];
    struct slot slots[SLOTS];
    uint32_t next_same; /* with other open functions, plus 1 */
    uint32_t next_waiting;
    bool is_waiting;
};

/* A part that compilers split off is called, as other functions are; cold pieces are jumped to. */
static uint32_t parent_of(const struct tool_code *code, size_t number)
{
    uint32_t parent = code->functions[number].parent;
    const char *name = code->functions[number].name;
    if (name != NULL && strstr(name, ".part.") != NULL && strstr(name, ".cold") == NULL)
        return (uint32_t)number;
    return parent < code->function_count ? parent : (uint32_t)number;
}

static bool keep_call(void *context, const struct tool_code_call *call)
{
    struct tool_flow *flow = context;
    struct tool_code_call *kept = ttp_region_add(flow->region, &flow->calls, &flow->call_count,
                                                 &flow->call_capacity, sizeof *call);
    if (kept != NULL)
        *kept = *call;
    return kept != NULL;
}

static const struct tool_code_call *call_at(const struct tool_flow *flow, uint32_t address)
{
    struct ttp_bisect s = {.end = flow->call_count};
    while (ttp_bisect_next(&s))
        ttp_bisect_turn(&s, flow->calls[s.middle].address < address);
    return s.first < flow->call_count && flow->calls[s.first].address == address
               ? &flow->calls[s.first]
               : NULL;
}

static size_t instruction_at(const struct tool_code *code, uint32_t address)
{
    struct ttp_bisect s = {.end = code->instruction_count};
    while (ttp_bisect_next(&s))
        ttp_bisect_turn(&s, code->instructions[s.middle].address < address);
    return s.first < code->instruction_count && code->instructions[s.first].address == address
               ? s.first
               : code->instruction_count;
}

static const char *name_of(const struct tool_flow *flow, const struct tool_code_call *call)
{
    const char *name = call->name;
    if (name == NULL && call->callee < flow->code->function_count)
        name = flow->code->functions[call->callee].name;
    return name != NULL ? name : "";
}

enum hook { NO_HOOK, ENTER_HOOK, EXIT_HOOK };
static enum hook hook_of(const struct tool_flow *flow, const struct tool_code_call *call)
{
    const char *name = name_of(flow, call);
    if (strncmp(name, "__cyg_profile_func_", 19) != 0)
        return NO_HOOK;
    return strncmp(name + 19, "enter", 5) == 0  ? ENTER_HOOK
           : strncmp(name + 19, "exit", 4) == 0 ? EXIT_HOOK
                                                : NO_HOOK;
}

static bool never_returns(const struct tool_flow *flow, const struct tool_code_call *call)
{
    static const char *const names[] = {
        "abort",       "exit",          "_exit",          "longjmp",          "_longjmp",
        "siglongjmp",  "__longjmp_chk", "pthread_exit",   "__stack_chk_fail", "__assert_fail",
        "__cxa_throw", "__cxa_rethrow", "_Unwind_Resume", "_ZSt9terminatev"};
    if (call->callee < flow->code->function_count)
        return !flow->returns[call->callee];
    for (size_t i = 0; call->name != NULL && i < sizeof names / sizeof names[0]; i++)
        if (strcmp(call->name, names[i]) == 0)
            return true;
    return false;
}

/* A function without any way out ends elsewhere. */
static void find_returns(struct tool_flow *flow)
{
    const struct tool_code *code = flow->code;
    for (size_t i = 0; i < code->function_count; i++) {
        const struct tool_function *function = &code->functions[i];
        uint32_t parent = parent_of(code, i);
        bool returns = function->count == 0;
        for (size_t k = function->first; k < function->first + function->count; k++) {
            uint8_t kind = code->instructions[k].kind;
            returns |= kind == TOOL_CODE_RETURN || kind == TOOL_CODE_JUMP_INDIRECT ||
                       kind == TOOL_CODE_SYSCALL || kind == TOOL_CODE_FIXED;
        }
        flow->returns[parent] |= returns;
        flow->returns[i] |= returns;
    }
    for (size_t i = 0; i < flow->call_count; i++)
        if (flow->calls[i].is_tail && flow->calls[i].function < code->function_count)
            flow->returns[parent_of(code, flow->calls[i].function)] = true;
}

bool tool_flow_open(struct tool_flow *flow, struct tool_code *code,
                    const struct tool_flow_handler *handler, struct ttp_region *region,
                    void *context)
{
    *flow =
        (struct tool_flow){.code = code, .handler = handler, .region = region, .context = context};
    if (!tool_code_calls(code, keep_call, flow))
        return false;
    flow->returns = ttp_region_take(region, code->function_count + 1, sizeof *flow->returns);
    flow->marks = ttp_region_take(region, code->instruction_count + 1, 1);
    flow->pieces = ttp_region_take(region, code->function_count + 1, sizeof *flow->pieces);
    if (region->is_short)
        return false;
    for (uint32_t i = 0; i < code->function_count; i++) {
        uint32_t parent = parent_of(code, i);
        if (parent != i) {
            flow->pieces[i] = flow->pieces[parent];
            flow->pieces[parent] = i + 1;
        }
    }
    find_returns(flow);
    for (size_t i = 0; i < flow->call_count; i++)
        flow->has_hooks |= hook_of(flow, &flow->calls[i]) != NO_HOOK;
    return true;
}

void tool_flow_close(struct tool_flow *flow)
{
    ttp_region_give(flow->region, flow->calls);
    ttp_region_give(flow->region, flow->returns);
    ttp_region_give(flow->region, flow->pieces);
    ttp_region_give(flow->region, flow->marks);
    ttp_region_give(flow->region, flow->states);
    ttp_region_close_map(flow->region, &flow->by_place);
    *flow = (struct tool_flow){0};
}

/* ---- states ---- */

static bool is_same(struct value one, struct value other)
{
    return one.constant == other.constant && one.by == other.by;
}

static void forget_slots(struct tool_flow_state *state, bool by_rbp)
{
    for (size_t i = 0; i < SLOTS; i++)
        if (state->slots[i].by_rbp == by_rbp)
            state->slots[i].value = (struct value){0};
}

static struct slot *slot_of(struct tool_flow_state *state, int32_t place, bool by_rbp, bool is_new)
{
    for (size_t i = 0; i < SLOTS; i++)
        if (state->slots[i].value.constant != 0 && state->slots[i].place == place &&
            state->slots[i].by_rbp == by_rbp)
            return &state->slots[i];
    for (size_t i = 0; is_new && i < SLOTS; i++)
        if (state->slots[i].value.constant == 0)
            return &state->slots[i];
    return NULL;
}

/* Keeps what both know; returns whether `kept` knows less now. */
static bool meet(struct tool_flow_state *kept, struct tool_flow_state *come)
{
    bool is_less = false;
    for (size_t i = 0; i < TOOL_FLOW_REGISTERS; i++) {
        struct value *value = &kept->registers[i];
        if (value->constant != 0 && !is_same(*value, come->registers[i])) {
            is_less = true;
            *value = (struct value){0};
        }
    }
    for (size_t i = 0; i < SLOTS; i++) {
        struct slot *slot = &kept->slots[i];
        const struct slot *other = slot_of(come, slot->place, slot->by_rbp, false);
        if (slot->value.constant != 0 && (other == NULL || !is_same(slot->value, other->value))) {
            is_less = true;
            slot->value = (struct value){0};
        }
    }
    return is_less;
}

static void wait_for(struct tool_flow *flow, uint32_t number)
{
    flow->states[number].is_waiting = true;
    flow->states[number].next_waiting = flow->waiting;
    flow->waiting = number + 1;
}

static void go_to(struct tool_flow *flow, uint32_t address, struct tool_flow_state *come)
{
    uint32_t *first = ttp_region_at(flow->region, &flow->by_place, address, 0);
    for (uint32_t i = *first; i != 0; i = flow->states[i - 1].next_same) {
        struct tool_flow_state *kept = &flow->states[i - 1];
        if (kept->open_count == come->open_count &&
            memcmp(kept->open, come->open, come->open_count * sizeof come->open[0]) == 0) {
            if (!flow->is_rest && meet(kept, come) && !kept->is_waiting)
                wait_for(flow, i - 1);
            return;
        }
    }
    struct tool_flow_state *state = ttp_region_add(flow->region, &flow->states, &flow->state_count,
                                                   &flow->state_capacity, sizeof *flow->states);
    if (state == NULL)
        return;
    *state = *come;
    state->address = address;
    state->next_same = *first;
    *first = (uint32_t)flow->state_count;
    wait_for(flow, *first - 1);
}

/* ---- instructions ---- */

static uint32_t top_of(const struct tool_flow_state *state)
{
    return state->open_count > 0 ? state->open[state->open_count - 1] : TOOL_FLOW_NONE_OPEN;
}

static bool is_start(const struct tool_flow *flow, uint32_t address)
{
    size_t number =
        address != 0 ? tool_code_function_at(flow->code, address) : flow->code->function_count;
    return number < flow->code->function_count && flow->code->functions[number].start == address;
}

static void mark(const struct tool_flow *flow, struct value value, enum tool_flow_mark with)
{
    size_t at =
        value.constant != 0 ? instruction_at(flow->code, value.by) : flow->code->instruction_count;
    if (at < flow->code->instruction_count)
        flow->marks[at] |= (uint8_t)with;
}

/* To the innermost open function, and to those that it is inlined in. A function that is not known
 * stands for the one around it. */
static void refer(const struct tool_flow *flow, const struct tool_flow_state *state,
                  struct tool_flow_datum datum)
{
    uint32_t left = state->open_count;
    if (datum.address == 0 ||
        tool_code_function_at(flow->code, datum.address) != flow->code->function_count)
        return;
    datum.in = top_of(state);
    datum.inner = TOOL_FLOW_NONE_OPEN;
    do {
        while (left > 0 && state->open[left - 1] == datum.in)
            left--;
        datum.around = left > 0 ? state->open[left - 1] : TOOL_FLOW_NONE_OPEN;
        flow->handler->refer(flow->context, &datum);
        datum.given_to = NULL;
        datum.inner = datum.in;
        datum.in = datum.around;
    } while (left > 0);
}

/* A constant that an instruction makes is an address where the instruction says so (lea), or where
 * addresses are constants. */
static bool is_place(const struct tool_flow *flow, struct value value)
{
    size_t at =
        value.constant != 0 ? instruction_at(flow->code, value.by) : flow->code->instruction_count;
    return at < flow->code->instruction_count &&
           (flow->code->image->is_fixed || flow->code->instructions[at].is_address);
}

/* Data that an instruction names. */
static void refer_by(const struct tool_flow *flow, const struct tool_flow_state *state,
                     const struct tool_instruction *at, const struct tool_instruction_flow *found)
{
    if (at->has_place)
        refer(flow, state,
              (struct tool_flow_datum){.address = at->target, .reads = !at->is_address});
    if (at->has_place || !flow->code->image->is_fixed)
        return;
    if (found->kind == TOOL_FLOW_CONSTANT)
        refer(flow, state, (struct tool_flow_datum){.address = found->constant});
    refer(flow, state, (struct tool_flow_datum){.address = found->stored});
    refer(flow, state, (struct tool_flow_datum){.address = found->beside});
}

static void make_call(struct tool_flow *flow, struct tool_flow_state *state,
                      const struct tool_code_call *call)
{
    static const uint8_t given[TOOL_FLOW_GIVEN] = {7, 6, 2, 1, 8, 9};
    enum hook hook = hook_of(flow, call);
    struct tool_flow_call told = {.call = call, .in = top_of(state)};
    bool is_entry = strcmp(name_of(flow, call), "__libc_start_main") == 0;
    if (hook == ENTER_HOOK) {
        uint32_t address = state->registers[REGISTER_RDI].constant;
        mark(flow, state->registers[REGISTER_RDI], TOOL_FLOW_FOR_HOOK);
        if (!is_start(flow, address)) {
            flow->unknown_hooks++;
            address =
                state->open_count > 0 ? top_of(state) : flow->code->functions[call->function].start;
        }
        flow->handler->enter(flow->context, top_of(state), address);
        if (state->open_count < OPEN_MOST)
            state->open[state->open_count++] = address;
    } else if (hook == EXIT_HOOK) {
        mark(flow, state->registers[REGISTER_RDI], TOOL_FLOW_FOR_HOOK);
        state->open_count -= state->open_count > 0;
    } else {
        for (size_t i = 0; i < TOOL_FLOW_GIVEN; i++) {
            struct value value = state->registers[given[i]];
            told.given[i] = is_start(flow, value.constant) ? value.constant : 0;
            mark(flow, value, is_entry ? TOOL_FLOW_FOR_HOOK : TOOL_FLOW_FOR_OTHER);
            /* the compiler may have taken it before the function was entered */
            if (is_place(flow, value))
                refer(flow, state,
                      (struct tool_flow_datum){.address = value.constant, .given_to = call});
        }
        flow->handler->call(flow->context, &told);
    }
    for (size_t i = 0; i < TOOL_FLOW_REGISTERS; i++)
        if ((CALLER_SAVED >> i & 1) != 0)
            state->registers[i] = (struct value){0};
}

static void move(struct tool_flow *flow, struct tool_flow_state *state,
                 const struct tool_instruction *at)
{
    size_t available;
    const uint8_t *bytes = tool_image_at(flow->code->image, at->address, &available);
    if (bytes == NULL)
        return;
    struct tool_instruction_flow found =
        tool_decode_flow(bytes, available < at->length ? available : at->length, at->address);
    struct value value = {0};
    struct slot *slot;
    refer_by(flow, state, at, &found);
    if (found.kind == TOOL_FLOW_CONSTANT) {
        value = (struct value){.constant = found.constant, .by = at->address};
        if (is_start(flow, value.constant))
            mark(flow, value, TOOL_FLOW_TAKES);
    }
    if (found.kind == TOOL_FLOW_COPY)
        value = state->registers[found.from];
    else if (found.kind == TOOL_FLOW_LOAD &&
             (slot = slot_of(state, found.place, found.by_rbp, false)) != NULL)
        value = slot->value;
    else if (found.kind == TOOL_FLOW_OUT)
        mark(flow, state->registers[found.from], TOOL_FLOW_FOR_OTHER);
    else if (found.kind == TOOL_FLOW_STORE &&
             (slot = slot_of(state, found.place, found.by_rbp, true)) != NULL)
        *slot = (struct slot){found.place, found.by_rbp, state->registers[found.from]};
    for (size_t i = 0; i < TOOL_FLOW_REGISTERS; i++)
        if ((found.writes >> i & 1) != 0)
            state->registers[i] = (struct value){0};
    if (found.moves_stack)
        forget_slots(state, false);
    if ((found.writes & 1u << 5) != 0)
        forget_slots(state, true);
    if (value.constant != 0 && found.to < TOOL_FLOW_REGISTERS)
        state->registers[found.to] = value;
}

/* ---- ways ---- */

static bool is_inside(const struct tool_flow *flow, uint32_t function, uint32_t address)
{
    size_t number = tool_code_function_at(flow->code, address);
    return number < flow->code->function_count &&
           parent_of(flow->code, number) == parent_of(flow->code, function);
}

/* The places that a table lists, of distances or of addresses. */
static bool go_by_table(struct tool_flow *flow, uint32_t function, uint32_t table, size_t each,
                        struct tool_flow_state *state)
{
    for (size_t i = 0; i < TABLE_MOST; i++) {
        size_t available;
        uint32_t at = table + (uint32_t)(i * each);
        const uint8_t *bytes = tool_image_at(flow->code->image, at, &available);
        if (bytes == NULL || available < each || (i > 0 && tool_code_is_taken(flow->code, at)))
            return i > 0;
        uint64_t target =
            each == 4 ? table + (uint64_t)(int64_t)(int32_t)tool_le32(bytes) : tool_le64(bytes);
        if (target > UINT32_MAX || !is_inside(flow, function, (uint32_t)target) ||
            instruction_at(flow->code, (uint32_t)target) == flow->code->instruction_count)
            return i > 0;
        go_to(flow, (uint32_t)target, state);
    }
    return true;
}

static void go_anywhere(struct tool_flow *flow, uint32_t function,
                        const struct tool_instruction *jump, struct tool_flow_state *state)
{
    bool is_any = jump->is_table && go_by_table(flow, function, jump->target, 8, state);
    for (size_t i = 0; i < TOOL_FLOW_REGISTERS; i++)
        if (state->registers[i].constant != 0 &&
            !tool_code_holds(flow->code, state->registers[i].constant))
            is_any |= go_by_table(flow, function, state->registers[i].constant, 4, state);
    if (is_any || state->open_count > 0)
        return;
    /* where no hook has told of a function yet, compilers end it with a call so */
    const struct tool_code_call call = {.address = jump->address,
                                        .length = jump->length,
                                        .function = function,
                                        .callee = UINT32_MAX,
                                        .kind = TOOL_CALL_POINTER,
                                        .is_tail = true};
    make_call(flow, state, &call);
}

/* The instruction, and where it leads beside the next one. False: nothing goes on behind it. */
static bool pass(struct tool_flow *flow, uint32_t function, struct tool_flow_state *state,
                 const struct tool_instruction *at)
{
    const struct tool_code_call *call = NULL;
    if (at->kind >= TOOL_CODE_CALL && at->kind <= TOOL_CODE_BRANCH)
        call = call_at(flow, at->address);
    switch (at->kind) {
    case TOOL_CODE_CALL:
    case TOOL_CODE_CALL_INDIRECT:
        if (call == NULL)
            return true;
        make_call(flow, state, call);
        return hook_of(flow, call) != NO_HOOK || !never_returns(flow, call);
    case TOOL_CODE_JUMP:
    case TOOL_CODE_BRANCH:
    case TOOL_CODE_LOOP:
        if (call != NULL) {
            struct tool_flow_state copy = *state;
            make_call(flow, &copy, call);
        } else if (is_inside(flow, function, at->target)) {
            go_to(flow, at->target, state);
        }
        return at->kind != TOOL_CODE_JUMP;
    case TOOL_CODE_JUMP_INDIRECT:
        if (call != NULL)
            make_call(flow, state, call);
        else
            go_anywhere(flow, function, at, state);
        return false;
    case TOOL_CODE_RETURN:
    case TOOL_CODE_STOP: return false;
    default: move(flow, state, at); return true;
    }
}

static void follow_state(struct tool_flow *flow, uint32_t function, struct tool_flow_state state)
{
    const struct tool_code *code = flow->code;
    size_t at = instruction_at(code, state.address);
    for (bool is_first = true; at < code->instruction_count && flow->steps_left > 0; at++) {
        const struct tool_instruction *instruction = &code->instructions[at];
        if (!is_first && ttp_key_map_find(&flow->by_place, instruction->address, 0) != 0) {
            go_to(flow, instruction->address, &state);
            return;
        }
        is_first = false;
        flow->steps_left--;
        flow->marks[at] |= TOOL_FLOW_VISITED;
        if (!is_inside(flow, function, instruction->address) ||
            !pass(flow, function, &state, instruction))
            return;
    }
}

static void run_all(struct tool_flow *flow, uint32_t function)
{
    while (flow->waiting != 0 && flow->steps_left > 0) {
        struct tool_flow_state *state = &flow->states[flow->waiting - 1];
        flow->waiting = state->next_waiting;
        state->is_waiting = false;
        follow_state(flow, function, *state);
    }
}

/* What no path reached (landing pads, tables not understood) is in the function itself. */
static void run_rest(struct tool_flow *flow, uint32_t function, uint32_t piece)
{
    const struct tool_function *part = &flow->code->functions[piece];
    size_t one =
        0; /* the first state in which one function is open; none that is past becomes so */
    for (size_t i = part->first; i < part->first + part->count; i++) {
        struct tool_flow_state state = {.address = flow->code->instructions[i].address};
        if ((flow->marks[i] & TOOL_FLOW_VISITED) != 0 || flow->code->instructions[i].is_nop ||
            flow->code->instructions[i].kind == TOOL_CODE_STOP)
            continue;
        while (one < flow->state_count && flow->states[one].open_count != 1)
            one++;
        if (one < flow->state_count) {
            state.open[0] = flow->states[one].open[0];
            state.open_count = 1;
        }
        go_to(flow, state.address, &state);
        flow->is_rest = true; /* what it does not know others may know well */
        run_all(flow, function);
        flow->is_rest = false;
    }
}

/* An address that a hook is given at one place is kept for its other places, too. */
static void tell_taken(const struct tool_flow *flow, uint32_t piece)
{
    const struct tool_function *part = &flow->code->functions[piece];
    for (size_t i = part->first; i < part->first + part->count; i++) {
        uint8_t marks = flow->marks[i];
        size_t available;
        uint32_t address = flow->code->instructions[i].address;
        const uint8_t *bytes = tool_image_at(flow->code->image, address, &available);
        bool is_taken = (marks & TOOL_FLOW_FOR_OTHER) != 0 || (marks & TOOL_FLOW_FOR_HOOK) == 0;
        if ((marks & TOOL_FLOW_TAKES) != 0 && is_taken && bytes != NULL)
            flow->handler->take(flow->context,
                                tool_decode_flow(bytes, available, address).constant);
    }
}

void tool_flow_follow(struct tool_flow *flow, uint32_t function)
{
    const struct tool_code *code = flow->code;
    size_t count = 0;
    struct tool_flow_state state = {.address = code->functions[function].start};
    if (parent_of(code, function) != function)
        return;
    for (uint32_t i = function + 1; i != 0; i = flow->pieces[i - 1])
        count += code->functions[i - 1].count;
    flow->steps_left = count * STEPS_EACH;
    flow->state_count = flow->waiting = 0;
    ttp_region_close_map(flow->region, &flow->by_place);
    go_to(flow, state.address, &state);
    run_all(flow, function);
    for (uint32_t i = function + 1; i != 0; i = flow->pieces[i - 1])
        run_rest(flow, function, i - 1);
    for (uint32_t i = function + 1; i != 0; i = flow->pieces[i - 1])
        tell_taken(flow, i - 1);
}

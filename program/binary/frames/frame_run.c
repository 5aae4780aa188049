/* Call frame instructions, run to rules. */
#include <string.h>

#include "program/binary/frames/call_frames.h"
#include "program/binary/frames/pointers.h"

/* DW_CFA_...: the upper two bits, or the whole byte. */
enum {
    ADVANCE = 0x40,
    OFFSET = 0x80,
    RESTORE = 0xc0,
    NOTHING = 0x00,
    SET_PLACE = 0x01,
    ADVANCE_1 = 0x02,
    ADVANCE_2 = 0x03,
    ADVANCE_4 = 0x04,
    OFFSET_EXTENDED = 0x05,
    RESTORE_EXTENDED = 0x06,
    UNDEFINED = 0x07,
    SAME_VALUE = 0x08,
    REGISTER = 0x09,
    REMEMBER = 0x0a,
    RECALL = 0x0b,
    CFA = 0x0c,
    CFA_REGISTER = 0x0d,
    CFA_OFFSET = 0x0e,
    CFA_EXPRESSION = 0x0f,
    EXPRESSION = 0x10,
    OFFSET_EXTENDED_SIGNED = 0x11,
    CFA_SIGNED = 0x12,
    CFA_OFFSET_SIGNED = 0x13,
    VALUE_OFFSET = 0x14,
    VALUE_OFFSET_SIGNED = 0x15,
    VALUE_EXPRESSION = 0x16,
    ARGUMENTS_SIZE = 0x2e
};

struct machine {
    const struct tool_frame *frame;
    uint64_t place;
    struct tool_cursor code;
    struct tool_rules now, first; /* first: as the CIE leaves them */
    struct tool_rules saved[TOOL_FRAMES_SAVED];
    unsigned saved_count;
    bool is_own; /* the FDE's instructions: places may be advanced */
    bool has_changed;
};

static void set_rule(struct machine *machine, uint64_t column, enum tool_rule_kind kind,
                     int64_t value)
{
    machine->has_changed = true;
    if (column < TOOL_FRAMES_COLUMNS) /* others are of vectors, which no caller is found by */
        machine->now.columns[column] = (struct tool_rule){.kind = (uint8_t)kind, .value = value};
}

static int64_t factored(struct machine *machine, int64_t value)
{
    int64_t product;
    if (__builtin_mul_overflow(value, machine->frame->data_factor, &product)) {
        machine->code.is_bad = true;
        return 0;
    }
    return product;
}

static void set_expression(struct machine *machine, uint64_t column, enum tool_rule_kind kind)
{
    uint64_t size_bytes = tool_cursor_uleb(&machine->code);
    const uint8_t *bytes = tool_cursor_take(&machine->code, size_bytes);
    if (bytes == NULL || size_bytes > UINT16_MAX) {
        machine->code.is_bad = true;
        return;
    }
    set_rule(machine, column, kind, 0);
    if (column < TOOL_FRAMES_COLUMNS) {
        machine->now.columns[column].expression = bytes;
        machine->now.columns[column].expression_bytes = (uint16_t)size_bytes;
    }
}

static void restore(struct machine *machine, uint64_t column)
{
    machine->has_changed = true;
    if (column < TOOL_FRAMES_COLUMNS)
        machine->now.columns[column] = machine->first.columns[column];
}

static void set_cfa(struct machine *machine, uint64_t column, int64_t offset)
{
    machine->has_changed = true;
    machine->now.cfa_is_expression = false;
    machine->now.cfa_register = column < UINT8_MAX ? (uint8_t)column : UINT8_MAX;
    machine->now.cfa_offset = offset;
}

static void set_cfa_expression(struct machine *machine)
{
    uint64_t size_bytes = tool_cursor_uleb(&machine->code);
    machine->now.cfa_expression = tool_cursor_take(&machine->code, size_bytes);
    machine->now.cfa_is_expression = machine->has_changed = true;
    machine->code.is_bad |= size_bytes > UINT16_MAX;
    machine->now.cfa_expression_bytes = (uint16_t)size_bytes;
}

static void run_cfa(struct machine *machine, uint8_t what)
{
    struct tool_cursor *code = &machine->code;
    uint64_t column = machine->now.cfa_register;
    if (what == CFA_EXPRESSION) {
        set_cfa_expression(machine);
        return;
    }
    if (what == CFA || what == CFA_SIGNED || what == CFA_REGISTER)
        column = tool_cursor_uleb(code);
    if (what == CFA_REGISTER)
        set_cfa(machine, column, machine->now.cfa_offset);
    else if (what == CFA || what == CFA_OFFSET)
        set_cfa(machine, column, (int64_t)tool_cursor_uleb(code));
    else
        set_cfa(machine, column, factored(machine, tool_cursor_sleb(code)));
}

static void remember(struct machine *machine)
{
    if (machine->saved_count == TOOL_FRAMES_SAVED)
        machine->code.is_bad = true;
    else
        machine->saved[machine->saved_count++] = machine->now;
}

static void recall(struct machine *machine)
{
    machine->has_changed = true;
    if (machine->saved_count == 0)
        machine->code.is_bad = true;
    else
        machine->now = machine->saved[--machine->saved_count];
}

static void run_rule(struct machine *machine, uint8_t what)
{
    struct tool_cursor *code = &machine->code;
    uint64_t column = tool_cursor_uleb(code);
    switch (what) {
    case OFFSET_EXTENDED:
        set_rule(machine, column, TOOL_RULE_OFFSET,
                 factored(machine, (int64_t)tool_cursor_uleb(code)));
        break;
    case OFFSET_EXTENDED_SIGNED:
        set_rule(machine, column, TOOL_RULE_OFFSET, factored(machine, tool_cursor_sleb(code)));
        break;
    case VALUE_OFFSET:
        set_rule(machine, column, TOOL_RULE_VALUE,
                 factored(machine, (int64_t)tool_cursor_uleb(code)));
        break;
    case VALUE_OFFSET_SIGNED:
        set_rule(machine, column, TOOL_RULE_VALUE, factored(machine, tool_cursor_sleb(code)));
        break;
    case RESTORE_EXTENDED: restore(machine, column); break;
    case UNDEFINED: set_rule(machine, column, TOOL_RULE_UNDEFINED, 0); break;
    case SAME_VALUE: set_rule(machine, column, TOOL_RULE_SAME, 0); break;
    case REGISTER:
        set_rule(machine, column, TOOL_RULE_REGISTER, (int64_t)tool_cursor_uleb(code));
        break;
    case EXPRESSION: set_expression(machine, column, TOOL_RULE_EXPRESSION); break;
    case VALUE_EXPRESSION: set_expression(machine, column, TOOL_RULE_CALCULATED); break;
    default: code->is_bad = true; break;
    }
}

static void run_other(struct machine *machine, uint8_t what)
{
    switch (what) {
    case NOTHING: break;
    case REMEMBER: remember(machine); break;
    case RECALL: recall(machine); break;
    case ARGUMENTS_SIZE: (void)tool_cursor_uleb(&machine->code); break;
    case CFA:
    case CFA_SIGNED:
    case CFA_REGISTER:
    case CFA_OFFSET:
    case CFA_OFFSET_SIGNED:
    case CFA_EXPRESSION: run_cfa(machine, what); break;
    default: run_rule(machine, what); break;
    }
}

/* How far an instruction goes on in the code; false: it does not. */
static bool is_advance(struct machine *machine, uint8_t what, uint64_t *to)
{
    uint64_t factor = machine->frame->code_factor, steps;
    *to = machine->place;
    switch (what) {
    case SET_PLACE:
        *to = tool_cursor_pointer(&machine->code, machine->frame->pointers);
        return true;
    case ADVANCE_1: steps = tool_cursor_number(&machine->code, 1); break;
    case ADVANCE_2: steps = tool_cursor_number(&machine->code, 2); break;
    case ADVANCE_4: steps = tool_cursor_number(&machine->code, 4); break;
    default:
        if ((what & 0xc0) != ADVANCE)
            return false;
        steps = what & 0x3f;
        break;
    }
    if (__builtin_mul_overflow(steps, factor, &steps) ||
        __builtin_add_overflow(machine->place, steps, to))
        machine->code.is_bad = true;
    return true;
}

static bool run_program(struct machine *machine, const uint8_t *from, const uint8_t *end,
                        uint64_t address, tool_frames_take take, void *context)
{
    struct tool_cursor *code = &machine->code;
    uint64_t to = 0;
    *code = (struct tool_cursor){from, end, address, false};
    while (!code->is_bad && tool_cursor_left(code) > 0) {
        uint8_t what = (uint8_t)tool_cursor_number(code, 1);
        if (is_advance(machine, what, &to)) {
            code->is_bad |= !machine->is_own || to < machine->place || to > machine->frame->end;
            if (code->is_bad)
                break;
            if (machine->has_changed && to > machine->place) {
                machine->has_changed = false;
                if (!take(context, (uint32_t)machine->place, &machine->now))
                    return false;
            }
            machine->place = to;
        } else if ((what & 0xc0) == OFFSET) {
            set_rule(machine, what & 0x3f, TOOL_RULE_OFFSET,
                     factored(machine, (int64_t)tool_cursor_uleb(code)));
        } else if ((what & 0xc0) == RESTORE) {
            restore(machine, what & 0x3f);
        } else {
            run_other(machine, what);
        }
    }
    return !code->is_bad;
}

bool tool_frame_run(const struct tool_frame *frame, tool_frames_take take, void *context)
{
    struct machine machine;
    machine.frame = frame;
    machine.place = frame->start;
    machine.saved_count = 0;
    machine.is_own = false;
    machine.has_changed = true;
    machine.now = (struct tool_rules){.cfa_register = UINT8_MAX};
    machine.first = machine.now;
    if (!run_program(&machine, frame->common, frame->common_end, 0, take, context))
        return false;
    machine.first = machine.now;
    machine.is_own = true;
    if (!run_program(&machine, frame->own, frame->own_end, frame->address, take, context))
        return false;
    return !machine.has_changed || machine.place >= frame->end ||
           take(context, (uint32_t)machine.place, &machine.now);
}

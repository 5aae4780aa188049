/* Rules of call frame information, as rows (plan.h) and as programs for one place. */
#include <limits.h>
#include <string.h>

#include "program/binary/frames/call_frames.h"
#include "program/binary/frames/pointers.h"

#define COLUMN_RDI    5u
#define COLUMN_RBP    6u
#define COLUMN_RSP    7u
#define COLUMN_RETURN 16u
#define AT_REGISTER   0x70u /* DW_OP_breg0: a register and an offset */
#define LOAD          0x06u /* DW_OP_deref */
#define SLOT_BYTES    8
#define FRAME_RSP     160 /* in what the kernel puts on the stack for a signal */
#define FRAME_RBP     120
#define FRAME_RETURN  168

/* register + offset, and perhaps the word there; nothing else. */
static bool is_register_word(const uint8_t *bytes, size_t size_bytes, unsigned column, bool loaded,
                             int64_t *offset)
{
    struct tool_cursor cursor = {bytes, bytes + size_bytes, 0, false};
    if (bytes == NULL || tool_cursor_number(&cursor, 1) != AT_REGISTER + column)
        return false;
    *offset = tool_cursor_sleb(&cursor);
    if (loaded && tool_cursor_number(&cursor, 1) != LOAD)
        return false;
    return !cursor.is_bad && tool_cursor_left(&cursor) == 0;
}

/* Both linkers' only expression for stubs: 8 more once 11 of a stub's 16 bytes are behind. */
static bool is_stub(const struct tool_rules *rules)
{
    static const uint8_t stub[] = {0x77, 0x08, 0x80, 0x00, 0x3f, 0x1a,
                                   0x3b, 0x2a, 0x33, 0x24, 0x22};
    return rules->cfa_expression_bytes == sizeof stub &&
           memcmp(rules->cfa_expression, stub, sizeof stub) == 0;
}

static bool is_at(const struct tool_rule *rule, int64_t wanted)
{
    int64_t offset;
    return rule->kind == TOOL_RULE_EXPRESSION &&
           is_register_word(rule->expression, rule->expression_bytes, COLUMN_RSP, false, &offset) &&
           offset == wanted;
}

static bool is_signal(const struct tool_frame *frame, const struct tool_rules *rules)
{
    int64_t offset;
    return frame->is_signal && rules->cfa_is_expression &&
           is_register_word(rules->cfa_expression, rules->cfa_expression_bytes, COLUMN_RSP, true,
                            &offset) &&
           offset == FRAME_RSP && is_at(&rules->columns[COLUMN_RBP], FRAME_RBP) &&
           is_at(&rules->columns[COLUMN_RETURN], FRAME_RETURN);
}

static enum ttp_plan_cfa cfa_of(const struct tool_rules *rules, int64_t *offset)
{
    *offset = rules->cfa_offset;
    if (!rules->cfa_is_expression) {
        return rules->cfa_register == COLUMN_RSP   ? TTP_PLAN_CFA_RSP
               : rules->cfa_register == COLUMN_RBP ? TTP_PLAN_CFA_RBP
                                                   : TTP_PLAN_CFA_HARD;
    }
    if (is_stub(rules)) {
        *offset = SLOT_BYTES;
        return TTP_PLAN_CFA_PLT;
    }
    if (is_register_word(rules->cfa_expression, rules->cfa_expression_bytes, COLUMN_RBP, true,
                         offset))
        return TTP_PLAN_CFA_AT_RBP;
    if (is_register_word(rules->cfa_expression, rules->cfa_expression_bytes, COLUMN_RSP, true,
                         offset))
        return TTP_PLAN_CFA_AT_RSP;
    return TTP_PLAN_CFA_HARD;
}

static void set_rbp(const struct tool_rule *rule, struct ttp_plan_row *row)
{
    int64_t offset = rule->value;
    if (rule->kind == TOOL_RULE_NONE || rule->kind == TOOL_RULE_SAME)
        row->rbp_kind = TTP_PLAN_RBP_SAME;
    else if (rule->kind == TOOL_RULE_OFFSET)
        row->rbp_kind = TTP_PLAN_RBP_CFA;
    else if (rule->kind == TOOL_RULE_EXPRESSION &&
             is_register_word(rule->expression, rule->expression_bytes, COLUMN_RBP, false, &offset))
        row->rbp_kind = TTP_PLAN_RBP_AT_RBP;
    else
        row->rbp_kind = TTP_PLAN_RBP_GONE;
    if (row->rbp_kind == TTP_PLAN_RBP_CFA || row->rbp_kind == TTP_PLAN_RBP_AT_RBP) {
        if (offset < INT16_MIN || offset > INT16_MAX)
            row->rbp_kind = TTP_PLAN_RBP_GONE;
        else
            row->rbp_offset = (int16_t)offset;
    }
}

struct ttp_plan_row tool_frame_row(const struct tool_frame *frame, const struct tool_rules *rules)
{
    const struct tool_rule *back = &rules->columns[COLUMN_RETURN];
    const struct tool_rule *stack = &rules->columns[COLUMN_RSP];
    struct ttp_plan_row row = {0};
    int64_t offset;
    if (back->kind == TOOL_RULE_UNDEFINED)
        return (struct ttp_plan_row){.cfa_kind = TTP_PLAN_CFA_OUTERMOST};
    if (is_signal(frame, rules))
        return (struct ttp_plan_row){.cfa_kind = TTP_PLAN_CFA_SIGNAL};
    row.cfa_kind = (uint8_t)cfa_of(rules, &offset);
    bool at_slot = back->kind == TOOL_RULE_OFFSET && back->value == -SLOT_BYTES;
    bool in_rdi = back->kind == TOOL_RULE_REGISTER && back->value == COLUMN_RDI &&
                  row.cfa_kind == TTP_PLAN_CFA_RSP;
    bool is_cfa =
        stack->kind == TOOL_RULE_NONE || (stack->kind == TOOL_RULE_VALUE && stack->value == 0);
    if (in_rdi)
        row.cfa_kind = TTP_PLAN_CFA_RDI;
    if ((!at_slot && !in_rdi) || !is_cfa || frame->is_signal || offset < INT32_MIN ||
        offset > INT32_MAX || row.cfa_kind == TTP_PLAN_CFA_HARD)
        return (struct ttp_plan_row){.cfa_kind = TTP_PLAN_CFA_HARD};
    row.cfa_offset = (int32_t)offset;
    set_rbp(&rules->columns[COLUMN_RBP], &row);
    return row;
}

/* ---- the state at one place, written down again ---- */

struct program {
    uint8_t *bytes;
    size_t size_bytes;
    bool is_full;
};

static void put_bytes(struct program *program, const void *bytes, size_t size_bytes)
{
    if (size_bytes > TOOL_FRAMES_RULE_MAX - program->size_bytes) {
        program->is_full = true;
        return;
    }
    memcpy(program->bytes + program->size_bytes, bytes, size_bytes);
    program->size_bytes += size_bytes;
}

static void put_byte(struct program *program, unsigned value)
{
    uint8_t byte = (uint8_t)value;
    put_bytes(program, &byte, 1);
}

static void put_uleb(struct program *program, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        put_byte(program, (unsigned)(value & 0x7f) | 0x80);
    put_byte(program, (unsigned)value);
}

static void put_sleb(struct program *program, int64_t value)
{
    while (value < -64 || value > 63) {
        put_byte(program, (unsigned)(value & 0x7f) | 0x80);
        value >>= 7;
    }
    put_byte(program, (unsigned)(value & 0x7f));
}

static void put_expression(struct program *program, const uint8_t *bytes, size_t size_bytes)
{
    put_uleb(program, size_bytes);
    put_bytes(program, bytes, size_bytes);
}

static void put_rule(struct program *program, unsigned column, const struct tool_rule *rule)
{
    static const uint8_t codes[] = {0, 0x08, 0x07, 0x11, 0x15, 0x09, 0x10, 0x16};
    if (rule->kind == TOOL_RULE_NONE)
        return;
    put_byte(program, codes[rule->kind]);
    put_uleb(program, column);
    if (rule->kind == TOOL_RULE_OFFSET || rule->kind == TOOL_RULE_VALUE) {
        program->is_full |= rule->value % SLOT_BYTES != 0;
        put_sleb(program, rule->value / -SLOT_BYTES);
    } else if (rule->kind == TOOL_RULE_REGISTER) {
        put_uleb(program, (uint64_t)rule->value);
    } else if (rule->kind == TOOL_RULE_EXPRESSION || rule->kind == TOOL_RULE_CALCULATED) {
        put_expression(program, rule->expression, rule->expression_bytes);
    }
}

struct wanted {
    uint32_t address;
    bool is_found, is_passed;
    struct tool_rules rules;
};

static bool take_rules(void *context, uint32_t address, const struct tool_rules *rules)
{
    struct wanted *wanted = context;
    wanted->is_passed = address > wanted->address;
    if (wanted->is_passed)
        return false;
    wanted->rules = *rules;
    wanted->is_found = true;
    return true;
}

size_t tool_frame_rules_at(const struct tool_frame *frame, uint32_t address,
                           uint8_t bytes[TOOL_FRAMES_RULE_MAX])
{
    struct wanted wanted = {.address = address};
    struct program program = {.bytes = bytes};
    bool is_whole = tool_frame_run(frame, take_rules, &wanted);
    if (!wanted.is_found || (!is_whole && !wanted.is_passed))
        return 0;
    const struct tool_rules *rules = &wanted.rules;
    if (rules->cfa_is_expression) {
        put_byte(&program, 0x0f);
        put_expression(&program, rules->cfa_expression, rules->cfa_expression_bytes);
    } else {
        put_byte(&program, 0x12);
        put_uleb(&program, rules->cfa_register);
        program.is_full |= rules->cfa_offset % SLOT_BYTES != 0;
        put_sleb(&program, rules->cfa_offset / -SLOT_BYTES);
    }
    for (unsigned column = 0; column < TOOL_FRAMES_COLUMNS; column++)
        put_rule(&program, column, &rules->columns[column]);
    return program.is_full ? 0 : program.size_bytes;
}

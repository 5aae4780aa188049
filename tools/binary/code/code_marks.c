/* Places that something may lead to: between them a jump may be put. Too many marks cost sites, too
 * few would cost the program; so whatever looks like a way there is one.
 *
 *     any 4 bytes behind e8, e9, 0f 80 .. 0f 8f    long branches, from everywhere
 *     decoded branches                             short ones, of functions that are looked at
 *     tables of distances or addresses             where a function with an indirect jump takes
 *                                                  their address
 *     words of data that may be addresses          of programs at fixed places, without relocations
 *     addresses that code takes, relocations, symbols, landing pads */
#include <string.h>

#include "tools/binary/code/code.h"
#include "tools/binary/frames/pointers.h"

#define RELOCATION_BYTES    24u
#define RELATIVE_RELOCATION 8u
#define LONG_BRANCH_BYTES   5u

/* A jump into the middle of a wanted function, or into a piece of one, comes from its own code: its
 * tables and short branches count as well. */
static void want_source(struct tool_code *code, uint32_t from, uint32_t target)
{
    size_t of = tool_code_function_at(code, target), by = tool_code_function_at(code, from);
    if (of == by || of == code->function_count || by == code->function_count)
        return;
    const struct tool_function *function = &code->functions[of];
    if ((function->flags & TOOL_CODE_WANTED) != 0 &&
        (target != function->start || (function->flags & TOOL_CODE_PIECE) != 0))
        code->functions[by].flags |= TOOL_CODE_WANTED;
}

/* Code takes the address of a place in the file: a table that is read from its own start ends there
 * at the latest. One bit for each byte of the file. */
static void mark_base(struct tool_code *code, uint32_t address)
{
    size_t available;
    const uint8_t *bytes = tool_image_at(code->image, address, &available);
    if (bytes != NULL) {
        size_t bit = (size_t)(bytes - code->image->bytes);
        code->bases[bit / 64] |= (uint64_t)1 << bit % 64;
    }
}

static bool is_base(const struct tool_code *code, const uint8_t *bytes)
{
    size_t bit = (size_t)(bytes - code->image->bytes);
    return (code->bases[bit / 64] >> bit % 64 & 1) != 0;
}

bool tool_code_is_taken(const struct tool_code *code, uint32_t address)
{
    size_t available;
    const uint8_t *bytes = tool_image_at(code->image, address, &available);
    return bytes != NULL && is_base(code, bytes);
}

/* lea distance(%rip), register */
static bool takes_address(const uint8_t *bytes, uint64_t left)
{
    return (bytes[0] & 0xfb) == 0x48 && left >= 7 && bytes[1] == 0x8d && (bytes[2] & 0xc7) == 0x05;
}

/* Bytes that a long branch or the taking of an address begins with (0f: in front of 80 .. 8f). */
static void set_firsts(bool firsts[256])
{
    memset(firsts, 0, 256);
    firsts[0xe8] = firsts[0xe9] = firsts[0x48] = firsts[0x4c] = firsts[0x0f] = true;
}

static void mark_far_at(struct tool_code *code, const uint8_t *bytes, uint64_t left, uint32_t at)
{
    uint64_t opcode_bytes = bytes[0] == 0x0f ? 2 : 1;
    if (takes_address(bytes, left))
        mark_base(code, at + 7 + tool_le32(bytes + 3));
    if ((bytes[0] & 0xfe) != 0xe8 && (bytes[0] != 0x0f || (bytes[1] & 0xf0) != 0x80))
        return;
    if (left < opcode_bytes + 4)
        return;
    uint32_t target = at + (uint32_t)opcode_bytes + 4 + tool_le32(bytes + opcode_bytes);
    if (!tool_code_holds(code, target))
        return;
    tool_code_set_mark(code, target);
    if (bytes[0] != 0xe8)
        want_source(code, at, target);
}

static void mark_far_in(struct tool_code *code, const struct tool_image_segment *segment)
{
    const uint8_t *bytes = code->image->bytes + segment->offset;
    uint64_t size_bytes = segment->file_bytes;
    bool firsts[256];
    set_firsts(firsts);
    for (uint64_t at = 0; at + LONG_BRANCH_BYTES <= size_bytes; at++)
        if (firsts[bytes[at]])
            mark_far_at(code, bytes + at, size_bytes - at, (uint32_t)(segment->address + at));
}

uint64_t *tool_code_new_bits(struct tool_code *code, uint64_t count)
{
    size_t words = (size_t)(count / 64 + 1), capacity = 0;
    void *array = NULL;
    if (!tool_bounded_grow(&code->memory, &array, &capacity, words, sizeof(uint64_t)))
        return NULL;
    memset(array, 0, words * sizeof(uint64_t));
    return array;
}

bool tool_code_mark_far(struct tool_code *code)
{
    code->marks = tool_code_new_bits(code, code->image->code_end - code->image->code_start);
    code->bases = tool_code_new_bits(code, code->image->size_bytes);
    if (code->marks == NULL || code->bases == NULL)
        return false;
    for (uint32_t i = 0; i < code->image->segment_count; i++)
        if (code->image->segments[i].executable)
            mark_far_in(code, &code->image->segments[i]);
    return true;
}

/* Data holds an address. */
static void mark_held(struct tool_code *code, uint64_t address)
{
    if (!tool_code_holds(code, address))
        return;
    tool_code_set_mark(code, address);
    mark_base(code, (uint32_t)address);
}

static void mark_relocations(struct tool_code *code, const struct tool_image_part *part)
{
    for (size_t at = 0; part->size_bytes - at >= RELOCATION_BYTES; at += RELOCATION_BYTES)
        if (tool_le32(part->bytes + at + 8) == RELATIVE_RELOCATION)
            mark_held(code, tool_le64(part->bytes + at + 16));
}

static void mark_word(void *context, uint64_t address)
{
    struct tool_code *code = context;
    size_t available;
    const uint8_t *bytes = tool_image_at(code->image, address, &available);
    if (bytes != NULL && available >= 8)
        mark_held(code, tool_le64(bytes));
}

/* Constants may be in one segment with the code. */
static void mark_words(struct tool_code *code)
{
    for (uint32_t i = 0; i < code->image->segment_count; i++) {
        const struct tool_image_segment *segment = &code->image->segments[i];
        const uint8_t *bytes = code->image->bytes + segment->offset;
        for (uint64_t at = (8 - segment->address % 8) % 8; at + 8 <= segment->file_bytes; at += 8)
            mark_held(code, tool_le64(bytes + at));
    }
}

static void mark_symbols(struct tool_code *code, const struct tool_image_part *symbols,
                         const struct tool_image_part *names)
{
    struct tool_image_symbol symbol;
    for (size_t i = 0; tool_image_symbol_at(symbols, names, i, &symbol); i++)
        if (symbol.section != 0)
            tool_code_set_mark(code, symbol.address);
}

/* Landing pads of a function's exceptions: the table of its call sites. */
static void mark_landing_pads(struct tool_code *code, const struct tool_frame *frame)
{
    size_t available;
    const uint8_t *bytes = tool_image_at(code->image, frame->landing_pads, &available);
    if (bytes == NULL)
        return;
    struct tool_cursor table = {bytes, bytes + available, frame->landing_pads, false};
    uint64_t base = frame->start;
    uint8_t encoding = (uint8_t)tool_cursor_number(&table, 1);
    if (encoding != TOOL_POINTER_OMIT)
        base = tool_cursor_pointer(&table, encoding);
    if (tool_cursor_number(&table, 1) != TOOL_POINTER_OMIT)
        (void)tool_cursor_uleb(&table); /* where the table of types is */
    encoding = (uint8_t)tool_cursor_number(&table, 1);
    uint64_t size_bytes = tool_cursor_uleb(&table);
    if (table.is_bad || size_bytes > tool_cursor_left(&table))
        return;
    table.end = table.at + size_bytes;
    while (!table.is_bad && tool_cursor_left(&table) > 0 && code->entries_left > 0) {
        code->entries_left--;
        (void)tool_cursor_pointer(&table, encoding);
        (void)tool_cursor_pointer(&table, encoding);
        uint64_t pad = tool_cursor_pointer(&table, encoding);
        (void)tool_cursor_uleb(&table);
        if (!table.is_bad && pad != 0)
            tool_code_set_mark(code, base + pad);
    }
}

/* Linkers may put tables into one segment with the code (gold, -z noseparate-code). Marks what a
 * table at `place` lists, of distances from it or of addresses, until something is no
 * code. Returns whether there was anything. */
static bool mark_table(struct tool_code *code, uint32_t place)
{
    size_t available, near_count = 0, wide_count = 0;
    const uint8_t *bytes = tool_image_at(code->image, place, &available);
    if (bytes == NULL)
        return false;
    for (; code->entries_left > 0 && (near_count + 1) * 4 <= available; near_count++) {
        uint64_t target = place + (uint64_t)(int64_t)(int32_t)tool_le32(bytes + near_count * 4);
        if (!tool_code_holds(code, target) ||
            (near_count > 0 && is_base(code, bytes + near_count * 4)))
            break;
        code->entries_left--;
        tool_code_set_mark(code, target);
    }
    for (; code->entries_left > 0 && (wide_count + 1) * 8 <= available; wide_count++) {
        uint64_t target = tool_le64(bytes + wide_count * 8);
        if (!tool_code_holds(code, target) ||
            (wide_count > 0 && is_base(code, bytes + wide_count * 8)))
            break;
        code->entries_left--;
        tool_code_set_mark(code, target);
    }
    return near_count + wide_count > 0;
}

/* A jump through a register, by a frame that is not yet there or is gone, calls another function:
 * compilers end functions so; or it leaves for a frame of long ago (longjmp), whose rules no row
 * can say. Others choose a place in their own. */
static bool is_tail_call(const struct tool_code *code, const struct tool_instruction *jump)
{
    const struct ttp_plan_row *row = tool_code_row_at(code, jump->address);
    return jump->has_place ||
           (row != NULL && (row->cfa_kind == TTP_PLAN_CFA_HARD ||
                            (row->cfa_kind == TTP_PLAN_CFA_RSP && row->cfa_offset == 8)));
}

static void mark_function(struct tool_code *code, struct tool_function *function)
{
    const struct tool_instruction *all = code->instructions + function->first;
    bool jumps = false, chooses = false, has_table = false;
    for (size_t i = 0; i < function->count; i++) {
        bool is_indirect = all[i].kind == TOOL_CODE_JUMP_INDIRECT;
        jumps |= is_indirect && !all[i].has_place;
        chooses |= is_indirect && !all[i].is_table && !is_tail_call(code, &all[i]);
        if (!all[i].is_table && (all[i].is_address || !all[i].has_place))
            tool_code_set_mark(code, all[i].target);
    }
    for (size_t i = 0; jumps && i < function->count; i++)
        if (all[i].is_table || (all[i].is_address &&
                                tool_code_function_at(code, all[i].target) == code->function_count))
            has_table |= mark_table(code, all[i].target);
    if ((chooses && !has_table) || code->entries_left == 0)
        function->flags |= TTP_PLAN_FUNCTION_COMPUTED;
    function->flags |= has_table ? TOOL_CODE_TABLES : 0;
}

/* Tables at fixed places begin where others end. */
static void mark_table_bases(struct tool_code *code)
{
    for (size_t i = 0; i < code->instruction_count; i++)
        if (code->instructions[i].is_table)
            mark_base(code, code->instructions[i].target);
}

bool tool_code_mark_near(struct tool_code *code)
{
    mark_table_bases(code);
    mark_relocations(code, &code->image->relocations);
    tool_image_packed_places(&code->image->packed, mark_word, code);
    if (code->image->is_fixed)
        mark_words(code);
    mark_symbols(code, &code->image->symbols, &code->image->symbol_names);
    mark_symbols(code, &code->image->dynamic_symbols, &code->image->dynamic_names);
    tool_code_set_mark(code, code->image->entry);
    for (size_t i = 0; i < code->function_count; i++) {
        struct tool_function *function = &code->functions[i];
        struct tool_frame frame;
        if ((function->flags & TTP_PLAN_FUNCTION_LOOKED) == 0)
            continue;
        tool_code_set_mark(code, function->start);
        if ((function->flags & TTP_PLAN_FUNCTION_LANDING) != 0 &&
            tool_frames_at(code->image, function->frame_at, &frame))
            mark_landing_pads(code, &frame);
        mark_function(code, function);
    }
    return true;
}

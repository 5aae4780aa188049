/* Places that something may lead to: between them a jump may be put. Too many marks cost sites, too
 * few would cost the program; so whatever looks like a way there is one.
 *
 *     any 4 bytes behind e8, e9, 0f 80 .. 0f 8f    long branches, from everywhere
 *     lea of a place                               everywhere, too
 *     decoded branches                             short ones, of functions that are looked at
 *     constants and displacements                  of files at fixed places
 *
 * What data holds, landing pads, and what no branch shows: ways/. */
#include <string.h>

#include "program/binary/code/ways/ways.h"

#define LONG_BRANCH_BYTES 5u
#define WANT_MOST         4096u /* entries of a table */

/* A jump into the middle of a wanted function, or into a piece of one, comes from its own code:
 * the tables and short branches of `by` count as well. */
static void want_source(struct tool_code *code, size_t by, uint32_t target)
{
    if (by == code->function_count || (code->functions[by].flags & TOOL_CODE_WANTED) != 0)
        return;
    size_t of = tool_code_function_at(code, target);
    if (of == by || of == code->function_count)
        return;
    const struct tool_function *function = &code->functions[of];
    if ((function->flags & TOOL_CODE_WANTED) != 0 &&
        (target != function->start || (function->flags & TOOL_CODE_PIECE) != 0))
        code->functions[by].flags |= TOOL_CODE_WANTED;
}

/* Code takes the address of a place in the file: a table that is read from its own start ends there
 * at the latest. One bit for each byte of the file. */
static void set_file_bit(const struct tool_code *code, uint64_t *bits, uint64_t address)
{
    size_t available;
    const uint8_t *bytes = tool_image_at(code->image, address, &available);
    if (bytes != NULL) {
        size_t bit = (size_t)(bytes - code->image->bytes);
        bits[bit / 64] |= (uint64_t)1 << bit % 64;
    }
}

bool tool_code_is_taken(const struct tool_code *code, uint32_t address)
{
    size_t available;
    const uint8_t *bytes = tool_image_at(code->image, address, &available);
    size_t bit = bytes != NULL ? (size_t)(bytes - code->image->bytes) : 0;
    return bytes != NULL && (code->bases[bit / 64] >> bit % 64 & 1) != 0;
}

/* Does a number of 32 bits in no function, as a distance from its own place, lead to code? */
static bool may_be_table(const struct tool_code *code, uint32_t place)
{
    size_t available;
    const uint8_t *bytes = tool_image_at(code->image, place, &available);
    return bytes != NULL && available >= 4 &&
           tool_code_holds(code, place + (uint64_t)(int64_t)(int32_t)tool_le32(bytes)) &&
           tool_code_function_at(code, place) == code->function_count;
}

static bool see_table(struct tool_code *code, uint32_t taker, uint32_t place)
{
    void *array = code->tables;
    if (!may_be_table(code, place))
        return true;
    if (!tool_bounded_grow(&code->memory, &array, &code->table_capacity, code->table_count + 1,
                           sizeof *code->tables))
        return false;
    code->tables = array;
    code->tables[code->table_count++] = (struct tool_table_seen){place, taker};
    return true;
}

bool tool_code_take(struct tool_code *code, uint32_t taker, uint32_t address)
{
    set_file_bit(code, code->bases, address);
    if (!see_table(code, taker, address))
        return false;
    if (!tool_code_holds(code, address))
        return true;
    uint64_t bit = (uint64_t)address - code->image->code_start;
    code->taken[bit / 64] |= (uint64_t)1 << bit % 64;
    tool_code_set_entered(code, address);
    return true;
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

/* Who takes the address of a table may jump to what it lists. */
static void want_by_table(struct tool_code *code, size_t by, uint32_t place)
{
    size_t available;
    const uint8_t *bytes = tool_image_at(code->image, place, &available);
    for (uint32_t i = 0; i < WANT_MOST && (i + 1) * 4 <= available; i++) {
        uint64_t target = place + (uint64_t)(int64_t)(int32_t)tool_le32(bytes + i * 4);
        if (!tool_code_holds(code, target))
            return;
        want_source(code, by, (uint32_t)target);
    }
}

static bool mark_address(struct tool_code *code, uint32_t at, uint32_t place)
{
    bool is_code = tool_code_holds(code, place), is_table = may_be_table(code, place);
    size_t by = is_code || is_table ? tool_code_function_at(code, at) : code->function_count;
    if (is_table)
        want_by_table(code, by, place);
    if (is_code)
        want_source(code, by, place);
    return tool_code_take(code, (uint32_t)by, place);
}

static bool mark_far_at(struct tool_code *code, const uint8_t *bytes, uint64_t left, uint32_t at)
{
    uint64_t opcode_bytes = bytes[0] == 0x0f ? 2 : 1;
    if (takes_address(bytes, left) && !mark_address(code, at, at + 7 + tool_le32(bytes + 3)))
        return false;
    if ((bytes[0] & 0xfe) != 0xe8 && (bytes[0] != 0x0f || (bytes[1] & 0xf0) != 0x80))
        return true;
    if (left < opcode_bytes + 4)
        return true;
    uint32_t target = at + (uint32_t)opcode_bytes + 4 + tool_le32(bytes + opcode_bytes);
    if (!tool_code_holds(code, target))
        return true;
    if (bytes[0] == 0xe8) {
        tool_code_set_entered(code, target);
        return true;
    }
    size_t by = tool_code_function_at(code, at);
    tool_code_set_mark(code, target);
    if (by == code->function_count)
        tool_code_set_entered(code, target);
    want_source(code, by, target);
    return true;
}

static bool mark_far_in(struct tool_code *code, const struct tool_image_segment *segment)
{
    const uint8_t *bytes = code->image->bytes + segment->offset;
    uint64_t size_bytes = segment->file_bytes;
    bool firsts[256], fits = true;
    set_firsts(firsts);
    for (uint64_t at = 0; fits && at + LONG_BRANCH_BYTES <= size_bytes; at++)
        if (firsts[bytes[at]])
            fits =
                mark_far_at(code, bytes + at, size_bytes - at, (uint32_t)(segment->address + at));
    return fits;
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
    uint64_t code_bytes = code->image->code_end - code->image->code_start;
    bool fits = true;
    code->marks = tool_code_new_bits(code, code_bytes);
    code->entered = tool_code_new_bits(code, code_bytes);
    code->taken = tool_code_new_bits(code, code_bytes);
    code->bases = tool_code_new_bits(code, code->image->size_bytes);
    code->claimed = tool_code_new_bits(code, code->image->size_bytes);
    if (code->marks == NULL || code->entered == NULL || code->taken == NULL ||
        code->bases == NULL || code->claimed == NULL)
        return false;
    for (uint32_t i = 0; fits && i < code->image->segment_count; i++)
        if (code->image->segments[i].executable)
            fits = mark_far_in(code, &code->image->segments[i]);
    return fits;
}

/* A constant, or a displacement, may be an address in a file at fixed places, whatever it is used
 * for. */
static bool take_constants(struct tool_code *code, uint32_t function,
                           const struct tool_instruction *found)
{
    bool is_branch = found->kind == TOOL_CODE_CALL || found->kind == TOOL_CODE_JUMP ||
                     found->kind == TOOL_CODE_BRANCH || found->kind == TOOL_CODE_LOOP;
    if (found->constant != 0 && !tool_code_take(code, function, found->constant))
        return false;
    return is_branch || found->has_place || found->target == 0 ||
           tool_code_take(code, function, found->target);
}

static bool mark_function(struct tool_code *code, uint32_t number)
{
    const struct tool_function *function = &code->functions[number];
    const struct tool_instruction *all = code->instructions + function->first;
    bool fits = true;
    for (size_t i = 0; fits && i < function->count; i++) {
        switch (all[i].kind) {
        case TOOL_CODE_JUMP:
        case TOOL_CODE_BRANCH:
        case TOOL_CODE_LOOP:
        case TOOL_CODE_FIXED: tool_code_set_mark(code, all[i].target); break;
        case TOOL_CODE_CALL: tool_code_set_entered(code, all[i].target); break;
        default: break;
        }
        if (all[i].is_address)
            fits = tool_code_take(code, number, all[i].target);
        if (fits && code->image->is_fixed)
            fits = take_constants(code, number, &all[i]);
    }
    return fits;
}

bool tool_code_mark_near(struct tool_code *code)
{
    tool_held_mark(code);
    tool_pads_mark(code);
    tool_code_set_entered(code, code->image->entry);
    for (uint32_t i = 0; i < code->function_count; i++) {
        const struct tool_function *function = &code->functions[i];
        if ((function->flags & TTP_PLAN_FUNCTION_LOOKED) == 0)
            continue;
        tool_code_set_mark(code, function->start);
        if (!mark_function(code, i))
            return false;
    }
    return true;
}

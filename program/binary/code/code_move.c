/* Bytes are copied, as they then are surely the same instruction: only branches have another form
 * where their distance may be longer. */
#include <string.h>

#include "program/binary/code/code_move.h"

#define LONG_BRANCH_MAX 6u

static const uint8_t *bytes_of(const struct tool_image *image, const struct tool_instruction *of)
{
    size_t available;
    return tool_image_at(image, of->address, &available); /* it was decoded there */
}

static bool has_room(const struct tool_moved *moved, size_t size_bytes)
{
    return size_bytes <= TOOL_MOVED_BYTES_MAX - moved->used &&
           moved->fixup_count < TOOL_MOVED_FIXUPS_MAX;
}

static void append_bytes(struct tool_moved *moved, const uint8_t *bytes, size_t size_bytes)
{
    memcpy(moved->bytes + moved->used, bytes, size_bytes);
    moved->used += size_bytes;
}

/* A distance to `target` at `at`, in the last instruction of the code so far. */
static void add_fixup(struct tool_moved *moved, uint32_t target, size_t at)
{
    moved->fixups[moved->fixup_count++] = (struct ttp_plan_fixup){
        .target = target, .at = (uint8_t)at, .tail = (uint8_t)(moved->used - at)};
}

static void append_distance(struct tool_moved *moved, uint32_t target)
{
    static const uint8_t zeros[4] = {0};
    append_bytes(moved, zeros, sizeof zeros);
    add_fixup(moved, target, moved->used - sizeof zeros);
}

/* The low four bits of the last byte in front of the distance. */
uint8_t tool_code_condition(const struct tool_image *image, const struct tool_instruction *branch)
{
    bool is_short = branch->length < 6;
    return bytes_of(image, branch)[branch->length - (is_short ? 2 : 5)] & 0x0f;
}

static void append_branch(const struct tool_image *image, const struct tool_instruction *branch,
                          struct tool_moved *moved)
{
    uint8_t opcode[2] = {0xe9};
    if (branch->kind == TOOL_CODE_BRANCH) {
        opcode[0] = 0x0f;
        opcode[1] = (uint8_t)(0x80 | tool_code_condition(image, branch));
    }
    append_bytes(moved, opcode, branch->kind == TOOL_CODE_BRANCH ? 2 : 1);
    append_distance(moved, branch->target);
}

bool tool_code_move(const struct tool_image *image, const struct tool_instruction *instruction,
                    struct tool_moved *moved)
{
    bool is_branch = instruction->kind == TOOL_CODE_JUMP || instruction->kind == TOOL_CODE_BRANCH;
    if (!has_room(moved, is_branch ? LONG_BRANCH_MAX : instruction->length))
        return false;
    if (is_branch) {
        append_branch(image, instruction, moved);
        return true;
    }
    append_bytes(moved, bytes_of(image, instruction), instruction->length);
    if (instruction->has_place)
        add_fixup(moved, instruction->target,
                  moved->used - instruction->length + instruction->displacement_at);
    return true;
}

/* Where the second byte of a call through a register or memory is (ff /2), behind prefixes; 0: it
 * is none, or what it reads is where the stack pointer is, which is another one then. */
static size_t form_at(const uint8_t *bytes, const struct tool_instruction *call)
{
    size_t at = 0;
    while (at < call->length && ((bytes[at] & 0xf0) == 0x40 || bytes[at] == 0x3e ||
                                 bytes[at] == 0xf2 || bytes[at] == 0x64 || bytes[at] == 0x65))
        at++;
    return call->by_stack || at + 1 >= call->length || bytes[at] != 0xff ? 0 : at + 1;
}

bool tool_code_move_call(const struct tool_image *image, const struct tool_instruction *call,
                         struct tool_moved *moved)
{
    const uint8_t *bytes = bytes_of(image, call);
    uint8_t copy[TOOL_INSTRUCTION_MAX];
    bool is_direct = call->kind == TOOL_CODE_CALL;
    size_t form = form_at(bytes, call);
    if (!has_room(moved, is_direct ? LONG_BRANCH_MAX : call->length) || (!is_direct && form == 0))
        return false;
    if (is_direct) {
        append_bytes(moved, (const uint8_t[]){0xe9}, 1);
        append_distance(moved, call->target);
        return true;
    }
    memcpy(copy, bytes, call->length);
    copy[form] = (uint8_t)((copy[form] & ~0x38u) | 0x20u); /* ff /2, a call: ff /4, a jump */
    append_bytes(moved, copy, call->length);
    if (call->has_place)
        add_fixup(moved, call->target, moved->used - call->length + call->displacement_at);
    return true;
}

/* Decodes functions, and knows which ones a plan needs: those with system calls, and those so near
 * that a short branch of theirs reaches one. */
#include <string.h>

#include "program/binary/code/code.h"

#define REACH_BYTES (128u + TOOL_INSTRUCTION_MAX + TTP_PLAN_WINDOW_MAX)

/* The function's bytes, as far as they are in the file. A signal frame's range begins a byte early,
 * for unwinders that look at address - 1. */
static const uint8_t *code_of(const struct tool_code *code, const struct tool_function *function,
                              uint32_t *start, size_t *size_bytes)
{
    size_t available;
    *start = function->start + ((function->flags & TTP_PLAN_FUNCTION_SIGNAL) != 0);
    const uint8_t *bytes = tool_image_at(code->image, *start, &available);
    if (bytes == NULL || *start >= function->end)
        return NULL;
    *size_bytes = function->end - *start < available ? function->end - *start : available;
    return bytes;
}

static bool make_room(struct tool_code *code)
{
    void *array = code->instructions;
    bool has_room = tool_bounded_grow(&code->memory, &array, &code->instruction_capacity,
                                      code->instruction_count + 1, sizeof *code->instructions);
    code->instructions = array;
    return has_room;
}

/* There is an array then, if with nothing in it. */
static bool decode_function(struct tool_code *code, struct tool_function *function)
{
    uint32_t start;
    size_t size_bytes;
    const uint8_t *bytes = code_of(code, function, &start, &size_bytes);
    function->first = code->instruction_count;
    function->flags |= TTP_PLAN_FUNCTION_LOOKED;
    if (!make_room(code))
        return false;
    for (size_t at = 0; bytes != NULL && at < size_bytes;) {
        if (!make_room(code))
            return false;
        struct tool_instruction *next = &code->instructions[code->instruction_count];
        if (tool_decode(bytes + at, size_bytes - at, start + (uint32_t)at, next)) {
            code->instruction_count++;
            at += next->length;
        } else {
            at++; /* no instruction: those before and behind it do not follow each other */
        }
    }
    function->count = code->instruction_count - function->first;
    return true;
}

bool tool_code_look(struct tool_code *code)
{
    for (size_t i = 0; i < code->function_count; i++)
        if ((code->functions[i].flags & TOOL_CODE_WANTED) != 0 &&
            (code->functions[i].flags & TTP_PLAN_FUNCTION_LOOKED) == 0 &&
            !decode_function(code, &code->functions[i]))
            return false;
    return true;
}

/* The function of a place, and those around it that a short branch may come from. */
static void want_around(struct tool_code *code, size_t number, uint32_t address)
{
    struct tool_function *all = code->functions;
    all[number].flags |= TOOL_CODE_WANTED;
    for (size_t i = number; i > 0 && address - all[i - 1].end < REACH_BYTES; i--)
        all[i - 1].flags |= TOOL_CODE_WANTED;
    for (size_t i = number + 1;
         i < code->function_count && all[i].start < (uint64_t)address + REACH_BYTES; i++)
        all[i].flags |= TOOL_CODE_WANTED;
}

/* Two bytes that may be a system call, or belong to another instruction. */
static bool may_call(const uint8_t *bytes, size_t size_bytes)
{
    const uint8_t *at = bytes, *end = bytes + size_bytes;
    while (end - at >= 2 && (at = memchr(at + 1, 0x05, (size_t)(end - at) - 1)) != NULL)
        if (at[-1] == 0x0f)
            return true;
    return false;
}

/* What it calls may return to elsewhere in it. */
static void want_callee(struct tool_code *code, const struct tool_instruction *at)
{
    size_t to =
        at->kind == TOOL_CODE_CALL ? tool_code_function_at(code, at->target) : code->function_count;
    if (to < code->function_count)
        code->functions[to].flags |= TOOL_CODE_WANTED;
}

/* Looks at a function that may have system calls, and wants what is around them; forgets it again
 * where there are none. */
static bool want_calls(struct tool_code *code, size_t number, size_t *wanted)
{
    struct tool_function *function = &code->functions[number];
    size_t before = *wanted;
    if (!decode_function(code, function))
        return false;
    for (size_t i = function->first; i < function->first + function->count; i++) {
        if (code->instructions[i].kind == TOOL_CODE_SYSCALL) {
            want_around(code, number, code->instructions[i].address);
            ++*wanted;
        }
    }
    for (size_t i = function->first; *wanted > before && i < function->first + function->count; i++)
        want_callee(code, &code->instructions[i]);
    if (*wanted == before) {
        code->instruction_count = function->first;
        function->count = 0;
        function->flags &= ~(uint32_t)TTP_PLAN_FUNCTION_LOOKED;
    }
    return true;
}

static void find_piece(const struct tool_code *code, struct tool_function *function)
{
    const struct ttp_plan_row *row = tool_code_row_at(code, function->start);
    if (function->frame_at != TOOL_CODE_NO_FRAME && row != NULL &&
        (row->cfa_kind != TTP_PLAN_CFA_RSP || row->cfa_offset != 8))
        function->flags |= TOOL_CODE_PIECE;
}

void tool_code_want_all(struct tool_code *code)
{
    for (size_t i = 0; i < code->function_count; i++) {
        find_piece(code, &code->functions[i]);
        code->functions[i].flags |= TOOL_CODE_WANTED;
    }
}

bool tool_code_want(struct tool_code *code, size_t *wanted)
{
    *wanted = 0;
    for (size_t i = 0; i < code->function_count; i++) {
        struct tool_function *function = &code->functions[i];
        uint32_t start;
        size_t size_bytes;
        find_piece(code, function);
        const uint8_t *bytes = code_of(code, function, &start, &size_bytes);
        if (bytes != NULL && may_call(bytes, size_bytes) && !want_calls(code, i, wanted))
            return false;
    }
    if (*wanted > 0 && code->image->is_fixed) /* any constant may be an address */
        tool_code_want_all(code);
    return true;
}

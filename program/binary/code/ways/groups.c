/* Functions are of one group where one jumps into the other's middle, or to a piece: whatever jumps
 * in one of them may lead into any. */
#include <stdlib.h>
#include <string.h>

#include "program/binary/code/code_links.h"
#include "program/binary/code/ways/ways.h"

const uint8_t *tool_code_bytes_of(const struct tool_code *code,
                                  const struct tool_instruction *instruction)
{
    size_t available;
    return tool_image_at(code->image, instruction->address, &available); /* it was decoded there */
}

struct tool_step tool_code_step_of(const struct tool_code *code,
                                   const struct tool_instruction *instruction)
{
    return tool_step_of(tool_code_bytes_of(code, instruction), instruction->length,
                        instruction->address);
}

const struct tool_instruction *tool_code_instruction_at(const struct tool_code *code,
                                                        uint32_t address)
{
    size_t number = tool_code_function_at(code, address);
    if (number == code->function_count)
        return NULL;
    const struct tool_function *function = &code->functions[number];
    const struct tool_instruction *all = code->instructions + function->first;
    size_t from = 0, end = function->count;
    while (from < end) {
        size_t middle = from + (end - from) / 2;
        if (all[middle].address < address)
            from = middle + 1;
        else
            end = middle;
    }
    return from < function->count && all[from].address == address ? &all[from] : NULL;
}

static uint32_t root_of(const struct tool_groups *groups, uint32_t function)
{
    while (groups->first[function] != function)
        function = groups->first[function];
    return function;
}

/* The first function of both is the first one of all: who asks goes few steps. */
static void join_groups(struct tool_groups *groups, uint32_t one, uint32_t other)
{
    uint32_t a = root_of(groups, one), b = root_of(groups, other);
    uint32_t first = a < b ? a : b;
    groups->first[a] = groups->first[b] = groups->first[one] = groups->first[other] = first;
}

static bool is_piece(const struct tool_function *function)
{
    return (function->flags & TOOL_CODE_PIECE) != 0 ||
           (function->name != NULL && strstr(function->name, ".cold") != NULL);
}

static void join_by(struct tool_code *code, struct tool_groups *groups, uint32_t number)
{
    const struct tool_function *function = &code->functions[number];
    if (function->parent < code->function_count)
        join_groups(groups, number, function->parent);
    for (size_t i = function->first; i < function->first + function->count; i++) {
        const struct tool_instruction *jump = &code->instructions[i];
        bool is_jump = jump->kind == TOOL_CODE_JUMP || jump->kind == TOOL_CODE_BRANCH ||
                       jump->kind == TOOL_CODE_LOOP;
        if (!is_jump || (jump->target >= function->start && jump->target < function->end))
            continue;
        size_t to = tool_code_function_at(code, jump->target);
        uint32_t slot;
        if (to == code->function_count ||
            (jump->target == code->functions[to].start && !is_piece(&code->functions[to])))
            continue;
        if (!tool_code_stub_at(code, jump->target, &slot)) /* the linker's: they lead elsewhere */
            join_groups(groups, number, (uint32_t)to);
    }
}

/* Without a return, and without a jump to elsewhere: it is not left but by unwinding. */
static bool is_endless(const struct tool_code *code, const struct tool_function *function)
{
    uint32_t next = function->start;
    for (size_t i = function->first; i < function->first + function->count; i++) {
        const struct tool_instruction *at = &code->instructions[i];
        bool is_jump = at->kind == TOOL_CODE_JUMP || at->kind == TOOL_CODE_BRANCH ||
                       at->kind == TOOL_CODE_LOOP;
        if (at->kind == TOOL_CODE_RETURN || at->kind == TOOL_CODE_JUMP_INDIRECT ||
            (at->kind == TOOL_CODE_FIXED && i > function->first) || at->address != next ||
            at->kind == TOOL_CODE_SYSCALL ||
            (is_jump && (at->target < function->start || at->target >= function->end)))
            return false;
        next = at->address + at->length;
    }
    uint8_t last = function->count > 0
                       ? code->instructions[function->first + function->count - 1].kind
                       : TOOL_CODE_PLAIN;
    return next == function->end &&
           (last == TOOL_CODE_CALL || last == TOOL_CODE_JUMP || last == TOOL_CODE_STOP);
}

static uint32_t *new_numbers(struct tool_code *code)
{
    size_t capacity = 0;
    void *array = NULL;
    (void)tool_bounded_grow(&code->memory, &array, &capacity, code->function_count + 1,
                            sizeof(uint32_t));
    return array;
}

bool tool_groups_open(struct tool_code *code, struct tool_groups *groups)
{
    *groups = (struct tool_groups){new_numbers(code), new_numbers(code)};
    if (groups->first == NULL || groups->next == NULL)
        return false;
    for (uint32_t i = 0; i < code->function_count; i++) {
        groups->first[i] = groups->next[i] = i;
        if (is_endless(code, &code->functions[i]))
            code->functions[i].flags |= TOOL_CODE_ENDLESS;
    }
    for (uint32_t i = 0; i < code->function_count; i++)
        join_by(code, groups, i);
    for (uint32_t i = 0; i < code->function_count; i++)
        groups->first[i] = root_of(groups, i);
    for (uint32_t i = (uint32_t)code->function_count; i-- > 0;) { /* behind the first, in order */
        uint32_t first = groups->first[i];
        if (first == i)
            continue;
        groups->next[i] = groups->next[first] == first ? i : groups->next[first];
        groups->next[first] = i;
    }
    return true;
}

void tool_groups_close(struct tool_groups *groups)
{
    free(groups->first);
    free(groups->next);
    *groups = (struct tool_groups){0};
}

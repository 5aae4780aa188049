/* Calls: each function is decoded once more, and nothing of it is kept. */
#include <stdlib.h>
#include <string.h>

#include "tools/binary/code/code_calls.h"

#define RELOCATION_BYTES 24u
#define RELOCATION_DATA  6u /* R_X86_64_GLOB_DAT */
#define RELOCATION_STUB  7u /* R_X86_64_JUMP_SLOT */
#define STUB_LENGTH_MAX  16u

/* A word of the linker's table, and which symbol's address it gets. */
struct slot {
    uint32_t address, symbol;
};
struct calling {
    struct tool_code *code;
    struct slot *slots; /* sorted by address */
    size_t slot_count, slot_capacity;
    tool_code_take_call take;
    void *context;
    bool is_ended;
};

static int compare_slots(const void *a, const void *b)
{
    const struct slot *one = a, *other = b;
    return one->address < other->address ? -1 : one->address > other->address;
}

static bool add_slots(struct calling *calling, const struct tool_image_part *part)
{
    for (size_t at = 0; part->size_bytes - at >= RELOCATION_BYTES; at += RELOCATION_BYTES) {
        const uint8_t *entry = part->bytes + at;
        uint32_t type = tool_le32(entry + 8);
        void *array = calling->slots;
        if (type != RELOCATION_DATA && type != RELOCATION_STUB)
            continue;
        if (!tool_bounded_grow(&calling->code->memory, &array, &calling->slot_capacity,
                               calling->slot_count + 1, sizeof *calling->slots))
            return false;
        calling->slots = array;
        calling->slots[calling->slot_count++] =
            (struct slot){(uint32_t)tool_le64(entry), tool_le32(entry + 12)};
    }
    return true;
}

/* The symbol whose address is in a word of the linker's table; false: it is no such word. */
static bool find_slot(const struct calling *calling, uint32_t address,
                      struct tool_image_symbol *symbol)
{
    const struct tool_image *image = calling->code->image;
    struct slot wanted = {.address = address};
    if (calling->slot_count == 0)
        return false;
    const struct slot *found =
        bsearch(&wanted, calling->slots, calling->slot_count, sizeof wanted, compare_slots);
    return found != NULL && tool_image_symbol_at(&image->dynamic_symbols, &image->dynamic_names,
                                                 found->symbol, symbol);
}

static bool link_slot(const struct calling *calling, uint32_t slot, struct tool_code_call *call)
{
    struct tool_image_symbol symbol;
    const struct tool_code *code = calling->code;
    if (!find_slot(calling, slot, &symbol))
        return false;
    call->kind = TOOL_CALL_LINKED;
    call->name = symbol.name[0] != 0 ? symbol.name : NULL;
    call->callee = UINT32_MAX;
    if (symbol.section != 0 && tool_code_holds(code, symbol.address)) {
        size_t number = tool_code_function_at(code, (uint32_t)symbol.address);
        call->callee = number < code->function_count ? (uint32_t)number : UINT32_MAX;
    }
    return true;
}

/* Is there a stub: a jump through the linker's table, perhaps behind an endbr64? */
static bool link_stub(const struct calling *calling, uint32_t target, struct tool_code_call *call)
{
    size_t available;
    const uint8_t *bytes = tool_image_at(calling->code->image, target, &available);
    struct tool_instruction next;
    available = available < STUB_LENGTH_MAX ? available : STUB_LENGTH_MAX;
    for (size_t at = 0; bytes != NULL && at < available; at += next.length) {
        if (!tool_decode(bytes + at, available - at, target + (uint32_t)at, &next))
            return false;
        if (next.kind == TOOL_CODE_JUMP_INDIRECT)
            return next.has_place && link_slot(calling, next.target, call);
        if (next.kind != TOOL_CODE_FIXED)
            return false;
    }
    return false;
}

static bool is_call(const struct calling *calling, const struct tool_function *function,
                    const struct tool_instruction *found, struct tool_code_call *call)
{
    const struct tool_code *code = calling->code;
    bool is_direct = found->kind == TOOL_CODE_CALL || found->kind == TOOL_CODE_JUMP ||
                     found->kind == TOOL_CODE_BRANCH;
    call->is_tail = found->kind == TOOL_CODE_JUMP || found->kind == TOOL_CODE_BRANCH ||
                    found->kind == TOOL_CODE_JUMP_INDIRECT;
    if (is_direct) {
        size_t number = tool_code_function_at(code, found->target);
        if (call->is_tail && found->target >= function->start && found->target < function->end)
            return false; /* within the function */
        if (link_stub(calling, found->target, call))
            return true;
        if (number == code->function_count)
            return false;
        const struct tool_function *callee = &code->functions[number];
        /* into a piece, or back out of one: the same function still */
        if (call->is_tail &&
            (callee->parent == function->parent || found->target != callee->start ||
             (callee->flags & TOOL_CODE_PIECE) != 0))
            return false;
        call->callee = (uint32_t)number;
        return true;
    }
    if (found->has_place &&
        (found->kind == TOOL_CODE_CALL_INDIRECT || found->kind == TOOL_CODE_JUMP_INDIRECT) &&
        link_slot(calling, found->target, call))
        return true;
    call->kind = TOOL_CALL_POINTER;
    return found->kind == TOOL_CODE_CALL_INDIRECT;
}

/* The linker's stubs: their rows say so behind the first one, or all there is of them is jumps. */
static bool is_stubs(const struct calling *calling, const struct tool_function *function)
{
    struct tool_code_call call = {0};
    const struct ttp_plan_row *row =
        tool_code_row_at(calling->code, function->start + STUB_LENGTH_MAX);
    return (row != NULL && row->cfa_kind == TTP_PLAN_CFA_PLT &&
            function->end - function->start > STUB_LENGTH_MAX) ||
           (function->name == NULL && link_stub(calling, function->start, &call));
}

static void find_calls(struct calling *calling, size_t number)
{
    const struct tool_function *function = &calling->code->functions[number];
    uint32_t address = function->start + ((function->flags & TTP_PLAN_FUNCTION_SIGNAL) != 0);
    if (is_stubs(calling, function))
        return;
    while (address < function->end && !calling->is_ended) {
        size_t available;
        struct tool_instruction found;
        const uint8_t *bytes = tool_image_at(calling->code->image, address, &available);
        if (bytes == NULL)
            return;
        available = available < function->end - address ? available : function->end - address;
        if (!tool_decode(bytes, available, address, &found)) {
            address++;
            continue;
        }
        struct tool_code_call call = {
            .address = address, .function = (uint32_t)number, .callee = UINT32_MAX};
        if (found.kind != TOOL_CODE_PLAIN && is_call(calling, function, &found, &call))
            calling->is_ended = !calling->take(calling->context, &call);
        address += found.length;
    }
}

bool tool_code_calls(struct tool_code *code, tool_code_take_call take, void *context)
{
    struct calling calling = {.code = code, .take = take, .context = context};
    bool fits = add_slots(&calling, &code->image->relocations) &&
                add_slots(&calling, &code->image->stub_relocations);
    if (fits && calling.slot_count > 0)
        qsort(calling.slots, calling.slot_count, sizeof *calling.slots, compare_slots);
    for (size_t i = 0; fits && i < code->function_count && !calling.is_ended; i++)
        find_calls(&calling, i);
    free(calling.slots);
    return fits;
}

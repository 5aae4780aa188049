/* Calls: each function is decoded once more, and nothing of it is kept. */
#include <stdlib.h>
#include <string.h>

#include "program/binary/code/code_calls.h"
#include "program/binary/code/code_links.h"

struct calling {
    struct tool_code *code;
    struct tool_code_links links;
    tool_code_take_call take;
    void *context;
    bool is_ended;
};

static bool link_slot(const struct calling *calling, uint32_t slot, struct tool_code_call *call)
{
    struct tool_image_symbol symbol;
    const struct tool_code *code = calling->code;
    if (!tool_code_link_at(code, &calling->links, slot, &symbol))
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

static bool link_stub(const struct calling *calling, uint32_t target, struct tool_code_call *call)
{
    uint32_t slot;
    return tool_code_stub_at(calling->code, target, &slot) && link_slot(calling, slot, call);
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

static void find_calls(struct calling *calling, size_t number)
{
    const struct tool_function *function = &calling->code->functions[number];
    uint32_t address = function->start + ((function->flags & TTP_PLAN_FUNCTION_SIGNAL) != 0);
    if (tool_code_is_stubs(calling->code, &calling->links, function))
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
        struct tool_code_call call = {.address = address,
                                      .function = (uint32_t)number,
                                      .callee = UINT32_MAX,
                                      .length = found.length};
        if (found.kind != TOOL_CODE_PLAIN && is_call(calling, function, &found, &call))
            calling->is_ended = !calling->take(calling->context, &call);
        address += found.length;
    }
}

bool tool_code_calls(struct tool_code *code, tool_code_take_call take, void *context)
{
    struct calling calling = {.code = code, .take = take, .context = context};
    bool fits = tool_code_links_open(code, &calling.links);
    for (size_t i = 0; fits && i < code->function_count && !calling.is_ended; i++)
        find_calls(&calling, i);
    tool_code_links_close(&calling.links);
    return fits;
}

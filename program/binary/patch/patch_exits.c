/* Where functions are left: by a return, or by a jump to the start of another one, whose return is
 * then theirs. */
#include "program/binary/patch/patchable.h"

/* Through memory or a register: to another function if the caller's frame is all there is, and if
 * it cannot be a choice among places of its own (a table, labels). */
static enum tool_patch_exit indirect_exit(const struct tool_patch *patch, size_t range,
                                          const struct tool_instruction *jump)
{
    bool has_places = (patch->code->functions[range].flags & TOOL_CODE_TABLES) != 0 ||
                      patch->parts[range].has_labels;
    bool is_unknown = (patch->code->functions[range].flags & TOOL_CODE_UNKNOWN) != 0;
    if (jump->is_untracked || jump->is_table ||
        ((jump->by_register || jump->has_index) && has_places) ||
        (jump->by_register && is_unknown) || !tool_patch_is_framed(patch->code, jump->address))
        return TOOL_EXIT_NONE;
    return TOOL_EXIT_TAIL;
}

static bool is_other_start(const struct tool_patch *patch, size_t owner, size_t to, uint32_t target)
{
    const struct tool_code *code = patch->code;
    uint32_t slot;
    if (to == code->function_count)
        return tool_code_stub_at(code, target, &slot);
    if (to == owner) /* itself again, if the jump meets the entry's window */
        return tool_patch_body(code, &code->functions[to]) != target;
    return patch->parts[to].is_stubs ||
           (patch->parts[to].owner == to && target == code->functions[to].start);
}

static enum tool_patch_exit direct_exit(const struct tool_patch *patch, size_t range,
                                        const struct tool_instruction *jump)
{
    const struct tool_code *code = patch->code;
    const struct tool_function *function = &code->functions[range];
    uint32_t owner = patch->parts[range].owner;
    bool is_within = jump->target >= function->start && jump->target < function->end;
    size_t to = is_within ? range : tool_code_function_at(code, jump->target);
    if (to < code->function_count && patch->parts[to].owner == owner &&
        (to != owner || jump->target != code->functions[owner].start))
        return TOOL_EXIT_NONE;
    if (!is_other_start(patch, owner, to, jump->target) || jump->kind == TOOL_CODE_LOOP ||
        !tool_patch_is_framed(code, jump->address))
        return to == owner ? TOOL_EXIT_NONE : TOOL_EXIT_LOST;
    return jump->kind == TOOL_CODE_JUMP ? TOOL_EXIT_TAIL : TOOL_EXIT_TAIL_IF;
}

enum tool_patch_exit tool_patch_exit_of(const struct tool_patch *patch, size_t range,
                                        const struct tool_instruction *instruction)
{
    switch (instruction->kind) {
    case TOOL_CODE_RETURN: return TOOL_EXIT_RETURN;
    case TOOL_CODE_JUMP_INDIRECT: return indirect_exit(patch, range, instruction);
    case TOOL_CODE_JUMP:
    case TOOL_CODE_BRANCH:
    case TOOL_CODE_LOOP: return direct_exit(patch, range, instruction);
    default: return TOOL_EXIT_NONE;
    }
}

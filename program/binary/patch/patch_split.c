/* Returns without a window of their own, as compilers leave them that want small code: one byte,
 * which branches lead to, and then the next function. Who comes there is seen before. */
#include "program/binary/patch/patch_place.h"

#define WORK_MAX 100000000u /* instructions that are looked at for a module: 0.1 s */

static bool ends_flow(const struct tool_instruction *instruction)
{
    return instruction->kind == TOOL_CODE_JUMP || instruction->kind == TOOL_CODE_JUMP_INDIRECT ||
           instruction->kind == TOOL_CODE_RETURN;
}

static bool leads_to(const struct tool_instruction *branch, uint32_t address)
{
    return (branch->kind == TOOL_CODE_BRANCH || branch->kind == TOOL_CODE_JUMP ||
            branch->kind == TOOL_CODE_LOOP) &&
           branch->target == address;
}

/* Whether all ways to an address of a function are branches of this one range. */
static bool knows_ways(const struct tool_patch_place *place, uint32_t address)
{
    struct tool_patch *patch = place->patch;
    const struct tool_code *code = patch->code;
    uint32_t owner = patch->parts[place->range].owner;
    if (place->is_computed || patch->parts[owner].is_joined || patch->parts[owner].has_labels ||
        patch->parts[place->range].has_labels ||
        (code->functions[owner].flags & TOOL_CODE_TABLES) != 0 ||
        (code->functions[place->range].flags & TOOL_CODE_TABLES) != 0)
        return false;
    for (uint32_t part = owner; part != TOOL_PATCH_NOBODY;
         part = part == owner ? patch->parts[owner].first_piece : patch->parts[part].next_piece) {
        const struct tool_function *function = &code->functions[part];
        patch->split_work += function->count;
        for (size_t i = 0; part != place->range && i < function->count; i++)
            if (leads_to(&code->instructions[function->first + i], address))
                return false;
    }
    return true;
}

/* The first way takes the place of the return's own probe, once all are there. */
struct split {
    size_t number, count;
    struct ttp_patch_probe first;
    bool is_whole;
};

static bool add_way(struct tool_patch_place *place, struct split *split, enum ttp_patch_kind kind,
                    size_t at, const struct tool_instruction *returns)
{
    struct ttp_patch_probe probe;
    bool is_there;
    if (!tool_patch_add_way(place, kind, at, returns, &probe, &is_there))
        return false;
    split->is_whole &= is_there;
    if (!is_there)
        return true;
    if (split->count++ > 0)
        return tool_patch_add_probe(place->patch, &probe);
    split->first = probe;
    return true;
}

bool tool_patch_split(struct tool_patch_place *place, size_t number)
{
    struct tool_patch *patch = place->patch;
    size_t at = tool_patch_index_of(place, patch->probes[number].window);
    const struct tool_instruction *all = place->all, *returns = &all[at];
    struct split split = {.number = number, .is_whole = true};
    if (patch->split_work > WORK_MAX || !knows_ways(place, returns->address))
        return true;
    patch->split_work += place->count;
    if (at > 0 && !ends_flow(&all[at - 1]) &&
        !add_way(place, &split, TTP_PATCH_RETURN, at - 1, returns))
        return false;
    for (size_t i = 0; i < place->count; i++) {
        enum ttp_patch_kind kind =
            all[i].kind == TOOL_CODE_JUMP ? TTP_PATCH_RETURN : TTP_PATCH_RETURN_IF;
        if (leads_to(&all[i], returns->address) && !add_way(place, &split, kind, i, returns))
            return false;
    }
    if (split.count == 0)
        return true;
    if (!split.is_whole)
        return tool_patch_add_probe(patch, &split.first);
    patch->probes[number] = split.first;
    return true;
}

/* Ranges are functions, pieces that compilers moved away from them, or none of either.
 *
 *     named *.cold, or begins with a frame on the stack    a piece: of the function of that name,
 *                                                          or of who jumps there, if it is one
 *     no name, and it jumps back into who jumps there      a piece of that one
 *     the linker's stubs                                   nothing
 *     any other                                            a function */
#include <stdlib.h>
#include <string.h>

#include "program/binary/patch/patchable.h"

#define HOOK_NAME "__cyg_profile_func_enter"

static const uint8_t endbr64[4] = {0xf3, 0x0f, 0x1e, 0xfa};

/* Where code goes on with other registers, or with another stack. */
static const char *const contexts[] = {"setcontext",    "swapcontext",  "longjmp",      "_longjmp",
                                       "siglongjmp",    "vfork",        "__longjmp",    "__vfork",
                                       "__clone",       "clone",        "__libc_vfork", "__clone3",
                                       "__longjmp_chk", "__setcontext", "__swapcontext"};

uint32_t tool_patch_body(const struct tool_code *code, const struct tool_function *function)
{
    size_t available;
    const uint8_t *bytes = tool_image_at(code->image, function->start, &available);
    bool has_mark = bytes != NULL && available >= sizeof endbr64 &&
                    function->end - function->start >= sizeof endbr64 &&
                    memcmp(bytes, endbr64, sizeof endbr64) == 0;
    return function->start + (has_mark ? (uint32_t)sizeof endbr64 : 0);
}

bool tool_patch_is_framed(const struct tool_code *code, uint32_t address)
{
    const struct ttp_plan_row *row = tool_code_row_at(code, address);
    return row != NULL && row->cfa_kind == TTP_PLAN_CFA_RSP && row->cfa_offset == 8;
}

static bool is_cold(const char *name) { return name != NULL && strstr(name, ".cold") != NULL; }

static bool is_context(const struct tool_code *code, const struct tool_function *function)
{
    if ((function->flags & TTP_PLAN_FUNCTION_SIGNAL) != 0)
        return true;
    for (size_t i = 0; function->name != NULL && i < sizeof contexts / sizeof contexts[0]; i++)
        if (strcmp(function->name, contexts[i]) == 0)
            return true;
    /* rows of vfork: the return address is in a register meanwhile */
    const struct ttp_plan_row *row = tool_code_row_at(code, function->start);
    for (; row != NULL && row < code->rows + code->row_count && row->address < function->end; row++)
        if (row->cfa_kind == TTP_PLAN_CFA_RDI)
            return true;
    return false;
}

/* Is each byte an instruction's? */
static bool is_torn(const struct tool_code *code, const struct tool_function *function)
{
    const struct tool_instruction *all = code->instructions + function->first;
    uint32_t next = function->start;
    for (size_t i = 0; i < function->count; next = all[i].address + all[i].length, i++)
        if (all[i].address != next)
            return true;
    return next != function->end;
}

/* Programs that choose among labels may keep these in tables of their own. */
static bool has_labels(const struct tool_code *code, const struct tool_function *function)
{
    uint32_t body = tool_patch_body(code, function);
    const struct tool_instruction *all = code->instructions + function->first;
    for (size_t i = 0; i < function->count; i++)
        if (all[i].address > body && tool_code_is_marked(code, all[i].address) &&
            tool_code_is_taken(code, all[i].address))
            return true;
    return false;
}

static bool is_jump(const struct tool_instruction *instruction)
{
    return instruction->kind == TOOL_CODE_JUMP || instruction->kind == TOOL_CODE_BRANCH ||
           instruction->kind == TOOL_CODE_LOOP;
}

/* A jump from one range to another one, or within one to its start. */
struct way {
    uint32_t from, to, target;
};
struct ways {
    struct way *all;
    size_t count, capacity;
};

static bool add_way(struct tool_patch *patch, struct ways *ways, struct way way)
{
    void *array = ways->all;
    if (!tool_bounded_grow(&patch->code->memory, &array, &ways->capacity, ways->count + 1,
                           sizeof way))
        return false;
    ways->all = array;
    ways->all[ways->count++] = way;
    return true;
}

/* All ways, in order of where they are; and who is called. */
static bool find_ways(struct tool_patch *patch, struct ways *ways)
{
    const struct tool_code *code = patch->code;
    for (size_t i = 0; i < code->function_count; i++) {
        const struct tool_function *function = &code->functions[i];
        uint32_t body = tool_patch_body(code, function);
        for (size_t n = function->first; n < function->first + function->count; n++) {
            const struct tool_instruction *found = &code->instructions[n];
            uint32_t target = found->target;
            bool is_within = target >= function->start && target < function->end;
            if ((found->kind != TOOL_CODE_CALL && !is_jump(found)) || (is_within && target != body))
                continue;
            size_t to = is_within ? i : tool_code_function_at(code, target);
            if (to == code->function_count)
                continue;
            if (found->kind == TOOL_CODE_CALL)
                patch->parts[to].is_called |= target == code->functions[to].start;
            else if (!add_way(patch, ways, (struct way){(uint32_t)i, (uint32_t)to, target}))
                return false;
        }
    }
    return true;
}

static void take_start(struct tool_patch *patch, const struct way *way)
{
    struct tool_patch_part *part = &patch->parts[way->to];
    if (way->target != patch->code->functions[way->to].start || way->from == way->to)
        return;
    if (part->jumper == way->to)
        part->jumper = way->from;
    else if (part->jumper != way->from)
        part->jumper = TOOL_PATCH_NOBODY;
}

/* Back into who jumps there: a piece without a name. */
static void take_return(struct tool_patch *patch, const struct way *way)
{
    struct tool_patch_part *part = &patch->parts[way->from];
    const struct tool_code *code = patch->code;
    if (way->from != way->to && code->functions[way->from].name == NULL && !part->is_called &&
        !part->is_stubs && !patch->parts[way->to].is_piece &&
        way->target != code->functions[way->to].start && part->jumper == way->to)
        part->is_piece = true;
}

/* A piece belongs to the one function that jumps there, or that it jumps back into. */
static void give_piece(struct tool_patch *patch, size_t piece, size_t owner)
{
    struct tool_patch_part *part = &patch->parts[piece];
    if (patch->code->functions[piece].parent != piece || patch->parts[owner].is_piece)
        return;
    if (part->owner == piece)
        part->owner = (uint32_t)owner;
    else if (part->owner != owner)
        part->owner = TOOL_PATCH_NOBODY;
}

static void take_owner(struct tool_patch *patch, const struct way *way)
{
    if (way->from == way->to)
        return;
    if (patch->parts[way->to].is_piece)
        give_piece(patch, way->to, way->from);
    if (patch->parts[way->from].is_piece && way->target != patch->code->functions[way->to].start)
        give_piece(patch, way->from, way->to);
}

static void take_fault(struct tool_patch *patch, const struct way *way)
{
    const struct tool_code *code = patch->code;
    const struct tool_function *function = &code->functions[way->to];
    uint32_t owner = patch->parts[way->to].owner, by = patch->parts[way->from].owner;
    if (by == way->to && way->target == tool_patch_body(code, function))
        patch->parts[way->to].is_looped = true;
    if (by != owner && owner != TOOL_PATCH_NOBODY && way->target != function->start)
        patch->parts[owner].is_joined = true;
}

/* Pieces by owner, in order of addresses; those of nobody are in no list. */
static void list_pieces(struct tool_patch *patch)
{
    for (size_t i = patch->code->function_count; i > 0; i--) {
        struct tool_patch_part *part = &patch->parts[i - 1];
        if (part->is_stubs || (part->is_piece && part->owner == i - 1))
            part->owner = TOOL_PATCH_NOBODY;
        if (part->owner == TOOL_PATCH_NOBODY || part->owner == i - 1)
            continue;
        struct tool_patch_part *owner = &patch->parts[part->owner];
        if (owner->is_piece || owner->is_stubs) {
            part->owner = TOOL_PATCH_NOBODY;
            continue;
        }
        part->next_piece = owner->first_piece;
        owner->first_piece = (uint32_t)(i - 1);
        owner->is_torn |= part->is_torn;
    }
}

static bool follow_ways(struct tool_patch *patch)
{
    static void (*const takes[])(struct tool_patch *, const struct way *) = {
        take_start, take_return, take_owner, NULL, take_fault};
    struct ways ways = {0};
    bool fits = find_ways(patch, &ways);
    for (size_t turn = 0; fits && turn < sizeof takes / sizeof takes[0]; turn++) {
        if (takes[turn] == NULL)
            list_pieces(patch);
        for (size_t i = 0; takes[turn] != NULL && i < ways.count; i++)
            takes[turn](patch, &ways.all[i]);
    }
    free(ways.all);
    return fits;
}

/* Places of the hook: slots of the linker's table, and a function of that name. */
static bool is_hook(const struct tool_patch *patch, const struct tool_instruction *call)
{
    const struct tool_code *code = patch->code;
    struct tool_image_symbol symbol;
    uint32_t slot = call->target;
    if (call->kind == TOOL_CODE_CALL) {
        size_t to = tool_code_function_at(code, call->target);
        if (to < code->function_count && code->functions[to].name != NULL)
            return strcmp(code->functions[to].name, HOOK_NAME) == 0;
        if (!tool_code_stub_at(code, call->target, &slot))
            return false;
    } else if (call->kind != TOOL_CODE_CALL_INDIRECT || !call->has_place) {
        return false;
    }
    return tool_code_link_at(code, &patch->links, slot, &symbol) &&
           strcmp(symbol.name, HOOK_NAME) == 0;
}

static bool has_hooks(const struct tool_patch *patch)
{
    const struct tool_code *code = patch->code;
    struct tool_image_symbol symbol;
    for (size_t i = 0; i < patch->links.count; i++)
        if (tool_image_symbol_at(&code->image->dynamic_symbols, &code->image->dynamic_names,
                                 patch->links.slots[i].symbol, &symbol) &&
            strcmp(symbol.name, HOOK_NAME) == 0)
            return true;
    for (size_t i = 0; i < code->function_count; i++)
        if (code->functions[i].name != NULL && strcmp(code->functions[i].name, HOOK_NAME) == 0)
            return true;
    return false;
}

static void find_hooked(struct tool_patch *patch)
{
    const struct tool_code *code = patch->code;
    for (size_t i = 0; i < code->function_count; i++) {
        const struct tool_function *function = &code->functions[i];
        struct tool_patch_part *part = &patch->parts[i];
        for (size_t n = function->first; n < function->first + function->count; n++)
            if (!part->is_hooked && is_hook(patch, &code->instructions[n]))
                part->is_hooked = true;
    }
}

static void first_look(struct tool_patch *patch)
{
    const struct tool_code *code = patch->code;
    for (size_t i = 0; i < code->function_count; i++) {
        const struct tool_function *function = &code->functions[i];
        struct tool_patch_part *part = &patch->parts[i];
        *part = (struct tool_patch_part){.owner = (uint32_t)i,
                                         .first_piece = TOOL_PATCH_NOBODY,
                                         .next_piece = TOOL_PATCH_NOBODY,
                                         .jumper = (uint32_t)i};
        part->is_stubs = tool_code_is_stubs(code, &patch->links, function);
        part->is_piece = !part->is_stubs &&
                         ((function->flags & TOOL_CODE_PIECE) != 0 || is_cold(function->name));
        part->is_special = is_context(code, function);
        part->is_torn = is_torn(code, function);
        part->has_labels = has_labels(code, function);
        if (part->is_piece && function->parent != i)
            part->owner = function->parent;
    }
}

bool tool_patch_parts(struct tool_patch *patch)
{
    size_t capacity = 0;
    void *array = NULL;
    if (!tool_bounded_grow(&patch->code->memory, &array, &capacity, patch->code->function_count,
                           sizeof *patch->parts) ||
        !tool_code_links_open(patch->code, &patch->links))
        return false;
    patch->parts = array;
    first_look(patch);
    if (!follow_ways(patch))
        return false;
    if (has_hooks(patch))
        find_hooked(patch);
    return true;
}

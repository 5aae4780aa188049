/* Calls that did not return: which block they were made in, and where in it. The block that told
 * last made the call, or one that does not tell and that it led to. */
#include <stdlib.h>

#include "base/ordered.h"
#include "program/lines/lines_inside.h"

#define SILENT_MAX 64u /* blocks that do not tell, behind one that does, which are looked at */

/* How surely an instruction called a function. */
enum fit { FIT_NOT, FIT_OTHER, FIT_DIRECT };

struct leaving {
    const struct tool_source_lines *view;
    const struct tool_lines_function *function;
    const struct tool_lines_hooks *hooks;
    const struct tool_code *code;
    uint32_t called; /* its site */
};

bool tool_lines_is_hook(const struct tool_lines_hooks *hooks, uint64_t target)
{
    for (size_t i = 0; i < hooks->count; i++)
        if (hooks->places[i] == target)
            return true;
    return false;
}

/* Does a call lead to a function that has sites in the trace? */
static bool is_recorded(const struct leaving *l, uint32_t target)
{
    const struct tool_lines_module *module = &l->view->modules[l->function->module];
    size_t number = tool_code_function_at(l->code, target);
    return number < l->code->function_count &&
           module->functions[l->code->functions[number].parent] != TOOL_LINES_NONE;
}

/* A call of it; else one through a register or memory, or of code that the module does not have and
 * that called back. */
static enum fit fit_of(const struct leaving *l, const struct tool_instruction *at)
{
    uint32_t called = l->view->places[l->called].function;
    const struct tool_lines_function *to =
        called == TOOL_LINES_NONE ? NULL : &l->view->functions[called];
    bool is_direct = at->kind == TOOL_CODE_CALL;
    if (is_direct && to != NULL && to->module == l->function->module &&
        at->target == l->code->functions[to->code].start)
        return FIT_DIRECT;
    return is_direct && (tool_lines_is_hook(l->hooks, at->target) || is_recorded(l, at->target))
               ? FIT_NOT
               : FIT_OTHER;
}

/* The first instruction of a block that fits best. */
static enum fit best_of(const struct leaving *l, uint32_t number, size_t *found)
{
    const struct tool_code_block *block = &l->view->blocks[number];
    enum fit best = FIT_NOT;
    for (size_t k = block->first; k < block->last && best != FIT_DIRECT; k++) {
        const struct tool_instruction *at = &l->code->instructions[k];
        if (!tool_instruction_is_call(at) || (block->tells && at->address == block->told_at))
            continue;
        enum fit fit = fit_of(l, at);
        if (fit > best) {
            best = fit;
            *found = k;
        }
    }
    return best;
}

/* Adds what a block leads to and does not tell. */
static size_t add_silent(const struct leaving *l, uint32_t from, uint32_t *list, size_t count)
{
    uint32_t next;
    for (size_t turn = 0; count < SILENT_MAX && tool_lines_leads(l->view, from, turn, &next);
         turn++) {
        bool is_new =
            next >= l->function->first && next < l->function->last && !l->view->blocks[next].tells;
        for (size_t i = 0; i < count; i++)
            is_new = is_new && list[i] != next;
        if (is_new)
            list[count++] = next;
    }
    return count;
}

static struct tool_lines_leave leave_of(const struct leaving *l, uint32_t from)
{
    struct tool_lines_leave leave = {from, from, l->view->blocks[from].last, {0, 0}};
    uint32_t list[SILENT_MAX];
    size_t at, count = add_silent(l, from, list, 0);
    enum fit best = best_of(l, from, &leave.at);
    for (size_t i = 0; i < count && best != FIT_DIRECT; i++) {
        enum fit fit = best_of(l, list[i], &at);
        if (fit > best) {
            best = fit;
            leave.block = list[i];
            leave.at = at;
        }
        count = add_silent(l, list[i], list, count);
    }
    return leave;
}

static int compare_leaves(const void *a, const void *b)
{
    const struct tool_lines_leave *one = a, *other = b;
    if (one->block != other->block)
        return one->block < other->block ? -1 : 1;
    return one->at < other->at ? -1 : one->at > other->at;
}

void tool_lines_find_leaves(struct tool_source_lines *view,
                            const struct tool_lines_function *function,
                            const struct tool_lines_hooks *hooks, struct tool_lines_leaves *leaves)
{
    struct leaving l = {.view = view,
                        .function = function,
                        .hooks = hooks,
                        .code = &view->modules[function->module].file.code};
    for (size_t i = function->first; i < function->last; i++)
        for (size_t k = 0; view->blocks[i].site != TOOL_LINES_NONE && k < 2; k++) {
            const struct tool_lines_pairs *left = &view->counts[k].left;
            struct ttp_bisect s = {.end = left->count};
            while (ttp_bisect_next(&s))
                ttp_bisect_turn(&s, left->list[s.middle].from < view->blocks[i].site);
            for (; s.first < left->count && left->list[s.first].from == view->blocks[i].site;
                 s.first++) {
                l.called = left->list[s.first].to;
                struct tool_lines_leave leave = leave_of(&l, (uint32_t)i);
                leave.count[k] = left->list[s.first].count;
                struct tool_lines_leave *added =
                    ttp_region_add(&view->region, &leaves->list, &leaves->count, &leaves->capacity,
                                   sizeof *leaves->list);
                if (added != NULL)
                    *added = leave;
            }
        }
    if (leaves->count > 0)
        qsort(leaves->list, leaves->count, sizeof *leaves->list, compare_leaves);
}

uint64_t tool_lines_left_before(const struct tool_lines_leaves *leaves, uint32_t block,
                                size_t instruction, size_t choice)
{
    uint64_t sum = 0;
    struct ttp_bisect s = {.end = leaves->count};
    while (ttp_bisect_next(&s))
        ttp_bisect_turn(&s, leaves->list[s.middle].block < block);
    for (size_t i = s.first;
         i < leaves->count && leaves->list[i].block == block && leaves->list[i].at < instruction;
         i++)
        sum += leaves->list[i].count[choice];
    return sum;
}

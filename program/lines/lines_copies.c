/* Copies of inlined functions: which one an instruction is of. Ranges lie in each other as the
 * calls do that were inlined. */
#include <stdlib.h>
#include <string.h>

#include "base/ordered.h"
#include "program/lines/lines_inside.h"
#include "program/symbols/symbols.h"

#define COPIES_MAX 4000000u /* of a module; of more the rest has no name */

struct listing {
    struct tool_source_lines *view;
    struct tool_lines_module *module;
};

static void take_copy(void *context, const struct tool_symbols_inlined *found)
{
    const struct listing *l = context;
    struct tool_lines_module *module = l->module;
    if (module->copy_count >= COPIES_MAX || found->start >= found->end)
        return;
    struct tool_lines_copy *copy =
        ttp_region_add(&l->view->region, &module->copies, &module->copy_count,
                       &module->copy_capacity, sizeof *module->copies);
    if (copy != NULL)
        *copy = (struct tool_lines_copy){
            .start = found->start,
            .end = found->end,
            .entry = found->entry,
            .around = TOOL_LINES_NONE,
            .name = tool_lines_number(l->view, &l->view->copied, found->name)};
}

static int compare_copies(const void *a, const void *b)
{
    const struct tool_lines_copy *one = a, *other = b;
    if (one->start != other->start)
        return one->start < other->start ? -1 : 1;
    return one->end > other->end ? -1 : one->end < other->end;
}

void tool_lines_list_copies(struct tool_source_lines *view, struct tool_lines_module *module,
                            struct tool_symbols_module *asked)
{
    struct listing l = {view, module};
    if (module->has_copies)
        return;
    module->has_copies = true;
    (void)tool_symbols_inlined_list(view->options.symbols, asked, take_copy, &l);
    if (module->copy_count > 0)
        qsort(module->copies, module->copy_count, sizeof *module->copies, compare_copies);
    uint32_t open = TOOL_LINES_NONE;
    for (size_t i = 0; i < module->copy_count; i++) {
        while (open != TOOL_LINES_NONE && module->copies[open].end <= module->copies[i].start)
            open = module->copies[open].around;
        module->copies[i].around = open;
        open = (uint32_t)i;
    }
}

const struct tool_lines_copy *tool_lines_copy_at(const struct tool_lines_module *module,
                                                 uint64_t address)
{
    struct ttp_bisect s = {.end = module->copy_count};
    while (ttp_bisect_next(&s))
        ttp_bisect_turn(&s, module->copies[s.middle].start <= address);
    uint32_t at = s.first > 0 ? (uint32_t)(s.first - 1) : TOOL_LINES_NONE;
    for (int depth = 0; depth < 256 && at != TOOL_LINES_NONE; depth++) {
        if (module->copies[at].end > address)
            return &module->copies[at];
        at = module->copies[at].around;
    }
    return NULL;
}

/* Copies of inlined functions, and static probes: a window where each is entered. They are given by
 * debug information and notes, which may be wrong: a copy that begins at no instruction, or in no
 * function, is none. */
#include <stdlib.h>
#include <string.h>

#include "program/binary/patch/patch_place.h"

static int compare_copies(const void *a, const void *b)
{
    const struct tool_patch_copy *one = a, *other = b;
    if (one->entry != other->entry)
        return one->entry < other->entry ? -1 : 1;
    if (one->is_mark != other->is_mark)
        return one->is_mark ? -1 : 1;
    return one->start < other->start ? -1 : one->start > other->start;
}

/* Each turn of it would be a call. */
static bool is_range_looped(const struct tool_patch_place *place,
                            const struct tool_patch_copy *copy)
{
    for (size_t i = tool_patch_index_of(place, copy->start);
         i < place->count && place->all[i].address < copy->end; i++) {
        const struct tool_instruction *at = &place->all[i];
        bool is_jump = at->kind == TOOL_CODE_JUMP || at->kind == TOOL_CODE_BRANCH ||
                       at->kind == TOOL_CODE_LOOP;
        if (is_jump && at->target == copy->entry)
            return true;
    }
    return false;
}

static bool is_looped(const struct tool_patch_place *place, const struct tool_patch_copy *copy,
                      size_t range_count)
{
    for (size_t i = 0; i < range_count; i++)
        if (is_range_looped(place, &copy[i]))
            return true;
    return false;
}

static enum ttp_patch_reason judge_place(const struct tool_patch_place *place,
                                         const struct tool_patch_copy *copy, size_t range_count,
                                         struct tool_patch_window *window)
{
    const struct tool_patch *patch = place->patch;
    const struct tool_patch_part *part = &patch->parts[place->range];
    size_t first = tool_patch_index_of(place, copy->entry);
    if (patch->parts[part->owner].is_special)
        return TTP_PATCH_SPECIAL;
    if (part->is_torn || first == place->count || place->all[first].address != copy->entry)
        return TTP_PATCH_UNDECODED;
    if (tool_code_row_at(patch->code, copy->entry) == NULL)
        return TTP_PATCH_NO_FRAME;
    if (copy->is_mark)
        return tool_patch_find_mark(place, first, window);
    return is_looped(place, copy, range_count) ? TTP_PATCH_LOOPED
                                               : tool_patch_find_inlined(place, first, window);
}

static bool add_copy(struct tool_patch *patch, const struct tool_patch_copy *copy,
                     size_t range_count)
{
    uint32_t above = copy->is_mark ? 0 : TTP_INLINED_ABOVE;
    enum ttp_patch_kind kind = copy->is_mark ? TTP_PATCH_MARK : TTP_PATCH_INLINED;
    struct ttp_patch_function added = {.start = copy->entry + above,
                                       .end = copy->end > copy->entry ? copy->end : copy->entry,
                                       .first_probe = (uint32_t)patch->probe_count,
                                       .probe_count = 1};
    struct tool_patch_place place;
    struct tool_patch_window window;
    size_t range = tool_code_function_at(patch->code, copy->entry);
    if (range == patch->code->function_count || patch->parts[range].owner == TOOL_PATCH_NOBODY)
        return true;
    /* A copy is named by the byte behind its entry: a mark that stands there would have its name,
     * and its window the copy's bytes. */
    size_t named = patch->function_count;
    if (named > 0 && added.start == patch->functions[named - 1].start)
        return true;
    tool_patch_start_range(patch, range, &place);
    enum ttp_patch_reason reason = judge_place(&place, copy, range_count, &window);
    return (reason == TTP_PATCH_CAN ? tool_patch_add_start(&place, kind, &window)
                                    : tool_patch_add_reason(&place, kind, reason, copy->entry)) &&
           tool_patch_add_function(patch, &added);
}

static void take_windows(struct tool_patch *patch, const uint64_t *chosen)
{
    uint32_t code_start = patch->code->image->code_start;
    memset(patch->taken, 0, ((size_t)(patch->code->image->code_end - code_start) + 63) / 64 * 8);
    for (size_t i = 0; i < patch->probe_count; i++) {
        const struct ttp_patch_probe *probe = &patch->probes[i];
        bool is_there = probe->reason == TTP_PATCH_CAN &&
                        (chosen[probe->function / 64] >> probe->function % 64 & 1) != 0;
        for (uint32_t at = 0; is_there && at < probe->window_bytes; at++) {
            uint64_t bit = (uint64_t)probe->window + at - code_start;
            patch->taken[bit / 64] |= (uint64_t)1 << bit % 64;
        }
    }
}

const char *tool_patch_inlined(struct tool_patch *patch, const uint64_t *chosen,
                               struct tool_patch_copy *copies, size_t count)
{
    const struct tool_image *image = patch->code->image;
    take_windows(patch, chosen);
    patch->is_inlined = true;
    patch->function_count = patch->probe_count = patch->fixup_count = patch->byte_count = 0;
    if (count > 0)
        qsort(copies, count, sizeof *copies, compare_copies);
    for (size_t i = 0, next; i < count; i = next) { /* at one place one of them is seen */
        for (next = i + 1; next < count && copies[next].entry == copies[i].entry;)
            next++;
        if (copies[i].entry < image->code_start || copies[i].entry >= image->code_end)
            continue;
        if (!add_copy(patch, &copies[i], next - i))
            return patch->code->memory.is_short ? "it would take too much memory"
                                                : "there is too much in it";
    }
    return NULL;
}

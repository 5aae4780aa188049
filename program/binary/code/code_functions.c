/* Ranges of code: one for each FDE; where no FDE is, those of symbols. They are sorted, and do not
 * overlap: of two that do the earlier one ends where the later one begins. */
#include <stdlib.h>
#include <string.h>

#include "program/binary/code/code.h"

#define SYMBOL_FUNCTION 2u
#define SYMBOL_INDIRECT 10u /* resolved by a function when it is linked */
#define CALL_END_MOST   64u /* bytes of code from a system call on that have no FDE */

static bool add_function(struct tool_code *code, const struct tool_function *function)
{
    void *array = code->functions;
    if (code->function_count >= TTP_PLAN_FUNCTIONS_MAX ||
        !tool_bounded_grow(&code->memory, &array, &code->function_capacity,
                           code->function_count + 1, sizeof *function))
        return false;
    code->functions = array;
    code->functions[code->function_count++] = *function;
    return true;
}

static int compare_functions(const void *a, const void *b)
{
    const struct tool_function *one = a, *other = b;
    if (one->start != other->start)
        return one->start < other->start ? -1 : 1;
    bool has_frame = one->frame_at != TOOL_CODE_NO_FRAME;
    if (has_frame != (other->frame_at != TOOL_CODE_NO_FRAME))
        return has_frame ? -1 : 1; /* of those at one place the first one stays */
    return one->end < other->end ? -1 : one->end > other->end;
}

/* Sorted already, as linkers have it? Then nothing needs to be moved. */
static void settle_functions(struct tool_code *code)
{
    struct tool_function *all = code->functions;
    size_t kept = 0;
    bool is_sorted = true;
    for (size_t i = 1; i < code->function_count && is_sorted; i++)
        is_sorted = compare_functions(&all[i - 1], &all[i]) <= 0;
    if (!is_sorted)
        qsort(all, code->function_count, sizeof *all, compare_functions);
    for (size_t i = 0; i < code->function_count; i++) {
        if (kept > 0 && all[i].start == all[kept - 1].start)
            continue;
        if (kept > 0 && all[i].start < all[kept - 1].end)
            all[kept - 1].end = all[i].start;
        all[kept++] = all[i];
    }
    code->function_count = kept;
    for (size_t i = 0; i < kept; i++)
        all[i].parent = (uint32_t)i;
}

size_t tool_code_function_at(const struct tool_code *code, uint32_t address)
{
    size_t from = 0, end = code->function_count;
    while (from < end) {
        size_t middle = from + (end - from) / 2;
        if (code->functions[middle].end <= address)
            from = middle + 1;
        else
            end = middle;
    }
    bool is_in = from < code->function_count && code->functions[from].start <= address;
    return is_in ? from : code->function_count;
}

/* Symbols of functions that no FDE covers: files without call frame information. */
static bool add_symbols(struct tool_code *code, const struct tool_image_part *symbols,
                        const struct tool_image_part *names, size_t framed_count)
{
    struct tool_image_symbol symbol;
    size_t all = code->function_count;
    for (size_t i = 0; tool_image_symbol_at(symbols, names, i, &symbol); i++) {
        if ((symbol.type != SYMBOL_FUNCTION && symbol.type != SYMBOL_INDIRECT) ||
            symbol.section == 0 || symbol.size_bytes == 0 ||
            !tool_code_holds(code, symbol.address) ||
            symbol.size_bytes > code->image->code_end - symbol.address)
            continue;
        code->function_count = framed_count; /* looked up among those with FDEs, which are sorted */
        bool is_covered = tool_code_function_at(code, (uint32_t)symbol.address) < framed_count;
        code->function_count = all;
        struct tool_function function = {.start = (uint32_t)symbol.address,
                                         .end = (uint32_t)(symbol.address + symbol.size_bytes),
                                         .frame_at = TOOL_CODE_NO_FRAME};
        if (!is_covered && !add_function(code, &function))
            return false;
        all = code->function_count;
    }
    return true;
}

/* What starts threads and processes ends its FDE at the system call, because in the child it would
 * be wrong: the code from there to the next function is the function's, too. */
static void add_ends(struct tool_code *code)
{
    for (size_t i = 0; i + 1 < code->function_count; i++) {
        struct tool_function *function = &code->functions[i];
        size_t available;
        const uint8_t *bytes = tool_image_at(code->image, function->end, &available);
        uint32_t next = function[1].start;
        if (bytes != NULL && available >= 2 && bytes[0] == 0x0f && bytes[1] == 0x05 &&
            next > function->end + 2 && next - function->end <= CALL_END_MOST)
            function->end = next;
    }
}

bool tool_code_functions(struct tool_code *code)
{
    struct tool_frames_walk walk = {0};
    struct tool_frame frame;
    while (tool_frames_next(code->image, &walk, &frame)) {
        struct tool_function function = {
            .start = frame.start, .end = frame.end, .frame_at = frame.entry_at};
        function.flags |= frame.is_signal ? TTP_PLAN_FUNCTION_SIGNAL : 0;
        function.flags |= frame.landing_pads != 0 ? TTP_PLAN_FUNCTION_LANDING : 0;
        if (!add_function(code, &function))
            return false;
    }
    code->bad_frames = walk.bad_count;
    settle_functions(code);
    add_ends(code);
    size_t framed_count = code->function_count;
    if (!add_symbols(code, &code->image->symbols, &code->image->symbol_names, framed_count) ||
        !add_symbols(code, &code->image->dynamic_symbols, &code->image->dynamic_names,
                     framed_count))
        return false;
    settle_functions(code);
    return true;
}

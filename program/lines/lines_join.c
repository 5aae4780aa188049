/* From rows of instructions to one row for each line. */
#include <stdlib.h>

#include "program/lines/lines_inside.h"

static int compare_numbers(uint32_t one, uint32_t other) { return one < other ? -1 : one > other; }

static int compare_rows(const void *a, const void *b)
{
    const struct tool_lines_row *one = a, *other = b;
    int order = compare_numbers(one->line.file, other->line.file);
    order = order != 0 ? order : compare_numbers(one->line.line, other->line.line);
    order = order != 0 ? order : compare_numbers(one->function, other->function);
    if (order == 0 && one->copy != other->copy)
        order = one->copy < other->copy ? -1 : 1;
    return order != 0 ? order : compare_numbers(one->jump, other->jump);
}

static bool is_same_line(const struct tool_lines_row *one, const struct tool_lines_row *other)
{
    return one->line.file == other->line.file && one->line.line == other->line.line;
}

/* Passes of a row join those of another one: added up, or what ran most. */
static void join_rows(struct tool_lines_row *to, const struct tool_lines_row *row, bool adds)
{
    for (size_t k = 0; k < 2; k++)
        if (adds)
            to->line.count[k] += row->line.count[k];
        else if (row->line.count[k] > to->line.count[k])
            to->line.count[k] = row->line.count[k];
    to->line.inlined = to->line.inlined != NULL ? to->line.inlined : row->line.inlined;
    to->ran_elsewhere = to->ran_elsewhere || row->ran_elsewhere;
    to->line.is_known = to->line.is_known && row->line.is_known;
    to->line.is_joined = to->line.is_joined || row->line.is_joined;
}

/* Rows of one line in one function, or in one copy of an inlined one (but where the line is the
 * function's own: rows of it begin within copies, too): what ran most of it. Where the line is
 * jumps alone, copies of one jump (a `break` behind both ways of an `if`) never run in the same
 * pass, and add up. */
static size_t join_function(const struct tool_source_lines *view, size_t first,
                            struct tool_lines_row *most)
{
    const struct tool_lines_row *rows = view->rows;
    size_t end = first;
    bool is_jumps = true;
    *most = rows[first];
    for (;
         end < view->row_count && is_same_line(most, &rows[end]) &&
         rows[end].function == most->function && (most->copy == 0 || rows[end].copy == most->copy);
         end++)
        is_jumps = is_jumps && rows[end].jump != 0;
    const char *inlined = most->line.inlined;
    for (size_t i = first; i < end;) {
        struct tool_lines_row same = rows[i++];
        for (; i < end && rows[i].jump == same.jump; i++)
            join_rows(&same, &rows[i], is_jumps);
        join_rows(most, &same, false);
    }
    most->line.inlined = inlined;
    return end;
}

static enum tool_lines_state state_of(const struct tool_source_lines *view,
                                      const struct tool_lines_row *row, size_t choice)
{
    if (row->line.count[choice] > 0)
        return TOOL_LINE_RAN;
    if (view->counts[choice].info.is_partial || !row->line.is_known)
        return TOOL_LINE_UNSEEN;
    return row->ran_elsewhere ? TOOL_LINE_ELSEWHERE : TOOL_LINE_NEVER;
}

/* One row for each line: functions and copies that have code of it add up. */
void tool_lines_join(struct tool_source_lines *view)
{
    if (view->row_count > 0)
        qsort(view->rows, view->row_count, sizeof *view->rows, compare_rows);
    for (size_t i = 0; i < view->row_count;) {
        struct tool_lines_row row, most;
        i = join_function(view, i, &row);
        while (i < view->row_count && is_same_line(&row, &view->rows[i])) {
            i = join_function(view, i, &most);
            join_rows(&row, &most, true);
        }
        for (size_t k = 0; k < 2; k++)
            row.line.state[k] = state_of(view, &row, k);
        struct tool_source_line *line =
            ttp_region_add(&view->region, &view->lines, &view->line_count, &view->line_capacity,
                           sizeof *view->lines);
        if (line == NULL)
            return;
        *line = row.line;
    }
    ttp_region_give(&view->region, view->rows);
    view->rows = NULL;
    view->row_count = view->row_capacity = 0;
}

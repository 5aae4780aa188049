/* From rows of instructions to one row for each line. */
#include <stdlib.h>

#include "program/lines/lines_inside.h"

static int compare(uint32_t one, uint32_t other) { return one < other ? -1 : one > other; }

static int compare_lines(const void *a, const void *b)
{
    const struct tool_line *one = a, *other = b;
    int order = compare(one->file, other->file);
    order = order != 0 ? order : compare(one->line, other->line);
    order = order != 0 ? order : compare(one->function, other->function);
    if (order == 0 && one->copy != other->copy)
        order = one->copy < other->copy ? -1 : 1;
    return order != 0 ? order : compare(one->jump, other->jump);
}

static bool is_same_line(const struct tool_line *one, const struct tool_line *other)
{
    return one->file == other->file && one->line == other->line;
}

/* Passes of a row join those of another one: added up, or what ran most. */
static void join_rows(struct tool_line *to, const struct tool_line *row, bool adds)
{
    for (size_t k = 0; k < 2; k++)
        if (adds)
            to->count[k] += row->count[k];
        else if (row->count[k] > to->count[k])
            to->count[k] = row->count[k];
    to->inlined = to->inlined != NULL ? to->inlined : row->inlined;
    to->ran_elsewhere = to->ran_elsewhere || row->ran_elsewhere;
    to->is_known = to->is_known && row->is_known;
}

/* Rows of one line in one function, or in one copy of an inlined one (but where the line is the
 * function's own: rows of it begin within copies, too): what ran most of it. Where the line is
 * jumps alone, copies of one jump (a `break` behind both ways of an `if`) never run in the same
 * pass, and add up. */
static size_t join_function(const struct tool_lines *view, size_t first, struct tool_line *most)
{
    size_t end = first;
    bool is_jumps = true;
    *most = view->lines[first];
    for (; end < view->line_count && is_same_line(most, &view->lines[end]) &&
           view->lines[end].function == most->function &&
           (most->copy == 0 || view->lines[end].copy == most->copy);
         end++)
        is_jumps = is_jumps && view->lines[end].jump != 0;
    const char *inlined = most->inlined;
    for (size_t i = first; i < end;) {
        struct tool_line same = view->lines[i++];
        for (; i < end && view->lines[i].jump == same.jump; i++)
            join_rows(&same, &view->lines[i], is_jumps);
        join_rows(most, &same, false);
    }
    most->inlined = inlined;
    return end;
}

/* One row for each line: functions and copies that have code of it add up. */
void tool_lines_join(struct tool_lines *view)
{
    size_t kept = 0;
    if (view->line_count > 0)
        qsort(view->lines, view->line_count, sizeof *view->lines, compare_lines);
    for (size_t i = 0; i < view->line_count;) {
        struct tool_line line, most;
        i = join_function(view, i, &line);
        while (i < view->line_count && is_same_line(&line, &view->lines[i])) {
            i = join_function(view, i, &most);
            join_rows(&line, &most, true);
        }
        view->lines[kept++] = line;
    }
    view->line_count = kept;
}

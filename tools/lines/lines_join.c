/* From rows of instructions to one row for each line. */
#include <stdlib.h>

#include "tools/lines/lines_view.h"

static int compare(uint32_t one, uint32_t other) { return one < other ? -1 : one > other; }

static int compare_lines(const void *a, const void *b)
{
    const struct tool_line *one = a, *other = b;
    int order = compare(one->file, other->file);
    order = order != 0 ? order : compare(one->line, other->line);
    order = order != 0 ? order : compare(one->function, other->function);
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
    to->ran_elsewhere = to->ran_elsewhere || row->ran_elsewhere;
    to->is_known = to->is_known && row->is_known;
}

/* One row for each line. Copies of one jump (a `break` behind both ways of an `if`) are one after
 * the other never in one pass, and so they add up, as functions do that have code of the line; what
 * ran most is what counts else. */
void tool_lines_join(struct tool_lines *view)
{
    size_t kept = 0;
    if (view->line_count > 0)
        qsort(view->lines, view->line_count, sizeof *view->lines, compare_lines);
    for (size_t i = 0; i < view->line_count;) {
        struct tool_line line = view->lines[i];
        line.count[0] = line.count[1] = 0;
        while (i < view->line_count && is_same_line(&line, &view->lines[i])) {
            struct tool_line most = view->lines[i];
            while (i < view->line_count && is_same_line(&line, &view->lines[i]) &&
                   view->lines[i].function == most.function) {
                struct tool_line same = view->lines[i++];
                for (; i < view->line_count && compare_lines(&same, &view->lines[i]) == 0; i++)
                    join_rows(&same, &view->lines[i], same.jump != 0);
                join_rows(&most, &same, false);
            }
            join_rows(&line, &most, true);
        }
        view->lines[kept++] = line;
    }
    view->line_count = kept;
}

/* Callers are listed innermost first: "read < f x 3 < main". Recursion is told in a few words, and
 * what lies behind sixty names in a number. tool_table_callers (tools/io/table.h) takes both, and
 * cuts between two names where a terminal is narrow. */
#ifndef TOOL_CALLER_NAMES_H
#define TOOL_CALLER_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#include "tools/command/output.h"

struct tool_callers {
    struct tool_output names; /* one after the other */
    size_t *ends;             /* where each of them ends */
    size_t count, capacity;
};

void tool_callers_open(struct tool_callers *callers);
void tool_callers_close(struct tool_callers *callers);
/* Those of the next call follow. */
void tool_callers_begin(struct tool_callers *callers);
void tool_callers_add(struct tool_callers *callers, const char *name);
/* Writes them behind what is in the text; returns how many there are behind the last that it names.
 */
size_t tool_callers_put(const struct tool_callers *callers, struct tool_output *text);
/* The same in about so many columns, below a row with those: where they do not fit, "(3 as above) <
 * main", so that rows differ where a table cuts them. */
size_t tool_callers_put_below(const struct tool_callers *callers, const struct tool_callers *above,
                              size_t columns, struct tool_output *text);

/* How many items from `at` on are equal to those before the first one: stacks of recursion.
 * is_equal(context, a, b) tells of two of them. *period items are repeated; 0: none are. */
size_t tool_find_repeats(size_t at, size_t count,
                         bool (*is_equal)(const void *context, size_t a, size_t b),
                         const void *context, size_t *period);

#endif

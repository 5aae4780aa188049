/* Operands that name many files: FILE, a folder (traces and rollups in it, and in folders of it; no
 * link in it is followed), or @LIST: a file with a path in each line, as seen from the list's own
 * folder. "@@name" is a file whose name begins with @. */
#ifndef TOOL_OPERANDS_H
#define TOOL_OPERANDS_H

#include <stdbool.h>
#include <stddef.h>

#define TOOL_TRACE_SUFFIX  ".ttape"
#define TOOL_ROLLUP_SUFFIX ".rollup"

struct tool_operands {
    char **paths; /* owned */
    size_t count, capacity;
    bool are_many; /* a folder or a list was named, or more than one operand */
};

/* Takes operands; folders come in the order of their names. Returns a tool_exit; what is wrong has
 * been reported. `paths` is closed in any case. */
int tool_operands_take(struct tool_operands *paths, int count, char **operands);
void tool_operands_close(struct tool_operands *paths);

/* Whether this is the file of a rollup, by its first bytes. False, too, where it cannot be read. */
bool tool_is_rollup(const char *path);

#endif

/* The last line of verbs that show a trace: the command that opens the same place in a browser. */
#ifndef TOOL_VIEW_LINE_H
#define TOOL_VIEW_LINE_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/io/input.h"

/* A place, as a link of the page names it; what is NULL or not given is left out. */
struct tool_place {
    const char *pane;
    const char *call;     /* as trees name it */
    const char *function; /* its name */
    bool has_range;
    uint64_t from_ns, to_ns; /* absolute, half-open */
};

/* Where standard output is a terminal and the command has the page: others read lines that they
 * know. `place` may be NULL. */
void tool_say_view(const struct tool_input *input, const struct tool_place *place);

/* Whether the command has the page. */
bool tool_has_view(void);

#endif

/* The terminal on standard output: how wide it is, whether it takes colours, and a pager in front
 * of it, as git does it. */
#ifndef TOOL_PAGER_H
#define TOOL_PAGER_H

#include <stdbool.h>

#include "tools/command/output.h"

/* What standard output was before a pager stood in front of it. */
bool tool_terminal_there(void);
/* Its columns; 0: no terminal, lines are as long as they are. */
unsigned tool_terminal_columns(void);
/* A terminal, neither dumb nor asked for to be plain (NO_COLOR). */
bool tool_terminal_colours(void);

/* Opens standard output; where it is a terminal, and `has_pager`, through $TRACETAPE_PAGER, $PAGER
 * or less. Without a pager that can be started it stays as it is. */
void tool_pager_open(struct tool_output *out, bool has_pager);
/* After the last output: as tool_output_close, and waits until the pager is left. */
int tool_pager_close(struct tool_output *out);

#endif

/* The terminal on standard output: how wide it is, whether it takes colours, and a pager in front
 * of it, as git does it. */
#ifndef TOOL_PAGER_H
#define TOOL_PAGER_H

#include <stdbool.h>

/* What standard output was before a pager stood in front of it. */
bool tool_terminal_there(void);
/* Its columns; 0: no terminal, lines are as long as they are. */
unsigned tool_terminal_columns(void);
/* A terminal, neither dumb nor asked for to be plain (NO_COLOR). */
bool tool_terminal_colours(void);

/* Sends standard output through $TRACETAPE_PAGER, $PAGER or less, if it is a terminal. Without a
 * pager that can be started it stays as it is. */
void tool_pager_start(void);
/* After the last output: waits until the pager is left. Returns `status`. */
int tool_pager_finish(int status);

#endif

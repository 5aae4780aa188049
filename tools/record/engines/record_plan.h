/* `record --plan`: what would be patched of a command, and what would not, and why. */
#ifndef TOOL_RECORD_PLAN_H
#define TOOL_RECORD_PLAN_H

#include "tools/record/engines/record_patch.h"

/* Prints it for the command's own executable, or for those of the modules that it starts with which
 * patterns of modules choose; nothing is run. Returns the exit status. */
int tool_record_plan(struct tool_record_patch *patch, const char *command, bool as_json);

#endif

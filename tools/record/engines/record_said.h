/* What a person says of values of library functions, for the runtime (arena/said_values.h). */
#ifndef TOOL_RECORD_SAID_H
#define TOOL_RECORD_SAID_H

#include "tools/record/engines/record_patch.h"

/* Puts it beside the plans, of the functions that the command and its own libraries ask for, until
 * the recording ends. */
void tool_record_said_put(struct tool_record_patch *patch);

#endif

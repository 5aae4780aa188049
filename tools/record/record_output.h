/* What a recording must not be written over: the command that is recorded. */
#ifndef TOOL_RECORD_OUTPUT_H
#define TOOL_RECORD_OUTPUT_H

#include <stdbool.h>

/* Whether an output is the file that a command's name stands for, found as execvp finds it. */
bool tool_record_is_command(const char *output, const char *command);

#endif

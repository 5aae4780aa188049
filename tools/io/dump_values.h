/* A value of an event as text: 1, -2, 0x7ffe, 0.5, "text", hex:00ff or null. */
#ifndef TOOL_DUMP_VALUES_H
#define TOOL_DUMP_VALUES_H

#include "tools/command/output.h"

void tool_dump_value(struct tool_output *out, const ttape_value *value);

/* A number of a value: integers, pointers, floats; at most 40 bytes. Returns the end. */
char *tool_put_number(char *at, const ttape_value *value);

#endif

/* A plan (writer/arena/plan.h), of what is in a binary. Pure. */
#ifndef TOOL_PLAN_MAKE_H
#define TOOL_PLAN_MAKE_H

#include "tools/binary/code/code.h"

/* A plan in memory of malloc. Returns NULL, or why there is none (static text). */
const char *tool_plan_make(const struct tool_code *code, uint8_t **plan, size_t *size_bytes);

#endif

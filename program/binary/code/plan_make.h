/* A plan (recorder/arena/plan.h), of what is in a binary; and tables of plans of any kind. Pure. */
#ifndef TOOL_PLAN_MAKE_H
#define TOOL_PLAN_MAKE_H

#include "program/binary/code/code.h"

/* A plan in memory of malloc, of a file with that content. Returns NULL, or why there is none
 * (static text). */
const char *tool_plan_make(const struct tool_code *code,
                           const uint8_t content[TTP_PLAN_CONTENT_BYTES], uint8_t **plan,
                           size_t *size_bytes);

/* Where a plan's next table is, at a multiple of 8; `end` then is behind it. */
uint64_t tool_plan_place_table(uint64_t *end, uint64_t count, size_t each);
/* One that may be empty. */
void tool_plan_copy_table(uint8_t *to, const void *from, size_t size_bytes);

#endif

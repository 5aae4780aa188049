/* --then-level: what becomes of a trace that is complete. */
#ifndef TOOL_RECORD_LEVEL_H
#define TOOL_RECORD_LEVEL_H

#include <stdbool.h>
#include <stdint.h>

/* Brings a complete trace to another level, when nothing else wants processor or disk, and says
 * what became of it. Whatever happens, there is a whole trace under its name. */
void tool_record_then_level(const char *from, const char *shown, int32_t level, bool is_quiet);

#endif

/* Where a command's time was, when that is a library of which only the calls are recorded. */
#ifndef TOOL_RECORD_ELSEWHERE_H
#define TOOL_RECORD_ELSEWHERE_H

#include "tools/record/engines/record_patch.h"

/* One line, with what to type, where at least half of the time on the processor was in such a
 * library; of the C library and of the language's nothing is said. */
void tool_record_say_elsewhere(const struct tool_record_patch *patch, const char *output);

#endif

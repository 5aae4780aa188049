/* Functions that a compiler inlined stand in no trace of a program as it is: that one function
 * called another one is known, and debug information of the program's own file says in which
 * inlined functions of the caller the call is. Files of another build, or without a build id, are
 * not used.
 *
 *   trace: handle_request > say        shown: handle_request > check_row (inlined) > say */
#ifndef TOOL_INLINED_CALLERS_H
#define TOOL_INLINED_CALLERS_H

#include <tracetape/reader.h>

#include "tools/calls/site_name.h"

struct tool_inlined;

/* Nothing is opened before something is asked. */
struct tool_inlined *tool_inlined_open(const ttape_reader *reader, enum tool_name_style style);
void tool_inlined_close(struct tool_inlined *inlined);

/* Names of inlined functions between two of a stack, which are given by their sites, come outermost
 * first, and escaped; they live until close. *count 0: none, or it is not known. */
char *const *tool_inlined_between(struct tool_inlined *inlined, uint32_t caller, uint32_t callee,
                                  uint32_t *count);

#endif

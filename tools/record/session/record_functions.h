/* Other functions of a process that is attached to, as control asks for them. */
#ifndef TOOL_RECORD_FUNCTIONS_H
#define TOOL_RECORD_FUNCTIONS_H

#include <stddef.h>

#include <tracetape/session.h>

#include "tools/record/engines/record_join.h"

/* The patterns of functions become these, one a line; "": those of the start; NULL: those
 * before, as it was not done. The choices that were given stay there. */
ttape_status tool_record_join_change(struct tool_record_join *join, struct tool_record_patch *patch,
                                     const char *functions, ttape_error *err);
/* What became of it, as a sentence. */
void tool_record_join_say_changed(const struct tool_record_join *join,
                                  struct tool_record_patch *patch,
                                  const ttape_functions_changed *changed, char *said, size_t room);

#endif

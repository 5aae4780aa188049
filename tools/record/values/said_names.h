/* What the symbol helper has said of a function's values, as a trace has it. */
#ifndef TOOL_SAID_NAMES_H
#define TOOL_SAID_NAMES_H

#include <stdbool.h>

#include <tracetape/types.h>

#include "program/symbols/symbols.h"

struct tool_record_value_names;

/* What values are called: as tool_symbols_values, without their places. */
struct tool_record_said_texts {
    uint32_t given, returned;
    ttape_string texts;
};

/* *names (NULL the first time) keeps what `out` points to, until the next call or close; texts stay
 * borrowed. False: what was said makes no sense. */
bool tool_record_value_names_of(struct tool_record_value_names **names,
                                const struct tool_record_said_texts *said, bool with_given,
                                ttape_site_values *out);
void tool_record_value_names_close(struct tool_record_value_names *names);

#endif

/* What value_words.c shares with value_json.c. */
#ifndef TOOL_VALUE_PARTS_H
#define TOOL_VALUE_PARTS_H

#include "tools/values/value_words.h"

/* The next name; index: which value's it is. */
ttape_string tool_next_value_name(struct tool_value_names *names, uint32_t index);
/* NULL: nothing is known of its type. */
const ttape_value_name *tool_value_type(const struct tool_value_names *names, uint32_t index);
/* A value of an enumeration by its constants; false: it is none, and nothing was written. */
bool tool_put_enumeration(struct tool_output *out, const ttape_value *value,
                          const ttape_value_name *name);
/* The same of a pointer by what it points to. */
bool tool_put_target(struct tool_output *out, const struct tool_value_names *names,
                     const ttape_value *value);
/* The same of one that has the words of that letter (kernel_calls.h). */
bool tool_put_kernel_words(struct tool_output *out, const ttape_value *value, char letter);

#endif

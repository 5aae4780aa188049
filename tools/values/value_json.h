/* Values by their names and types, for programs (value_words.h: for people). */
#ifndef TOOL_VALUE_JSON_H
#define TOOL_VALUE_JSON_H

#include <stdbool.h>

#include <tracetape/reader.h>

#include "tools/command/output.h"
#include "tools/io/json.h"

/* "KEYs":[...], the values as text, as without names; and what is known of them: "KEY_names":[...],
 * "KEY_types":[...] and "KEY_constants":[...], which has enumerations' values in words; null for a
 * value of which it is not known. An array in which nothing is known is left out. */
void tool_json_values(struct tool_json *json, const char *key, const ttape_reader *reader,
                      uint32_t site, bool is_exit, const ttape_value *values, uint32_t count);
/* What is known of values, with the key "value", behind other keys of an object in one line. */
void tool_line_value_names(struct tool_output *out, const ttape_reader *reader, uint32_t site,
                           bool is_exit, const ttape_value *values, uint32_t count);

#endif

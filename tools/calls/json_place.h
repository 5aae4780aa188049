/* Where a function is, as many traces have it: addresses are those of one process. */
#ifndef TOOL_JSON_PLACE_H
#define TOOL_JSON_PLACE_H

#include <tracetape/reader.h>

#include "tools/io/json.h"

/* The fields "build_id" and "offset"; without a module the offset is the address. */
void tool_json_place(struct tool_json *json, const ttape_reader *reader, uint32_t site);

#endif

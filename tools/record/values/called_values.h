/* What functions of libraries are given and return, by their names: by the C library's prototypes
 * (arena/prototypes.h), and by what a person says. As rows of a choice for what is attached to,
 * whose hooks know no names; as a file of said_values.h for the others. */
#ifndef TOOL_CALLED_VALUES_H
#define TOOL_CALLED_VALUES_H

#include <stddef.h>
#include <stdint.h>

#include "recorder/arena/said_values.h"
#include "tools/record/values/record_values.h"

struct tool_called_values {
    struct tool_called_function *list;
    size_t count, capacity;
    bool left_floats; /* what was said by hand of some, and cannot be had */
};

/* Where its values are, if a person says any of them. */
bool tool_called_values_said(const struct tool_record_values *values, const char *name,
                             struct ttp_said_function *out);
/* A function of a module, under one of its names; `wanted` of what is known: TTAPE_VALUES_*. */
void tool_called_values_add(struct tool_called_values *called,
                            const struct tool_record_values *values, const char *name,
                            uint32_t start, uint32_t wanted);
/* What stands behind a ttp_values_head, filled in but for its place; NULL: nothing is known. To be
 * freed. */
struct ttp_values_head *tool_called_values_make(struct tool_called_values *called,
                                                size_t *size_bytes);
void tool_called_values_close(struct tool_called_values *called);

#endif

/* What functions of the C library are given and return, by its prototypes (arena/prototypes.h), as
 * rows of a choice: for what is attached to, whose hooks know no names. */
#ifndef TOOL_CALLED_VALUES_H
#define TOOL_CALLED_VALUES_H

#include <stddef.h>
#include <stdint.h>

#include "recorder/arena/patch_plan.h"

struct tool_called_values {
    struct tool_called_function *list;
    size_t count, capacity;
};

/* A function of a module, under one of its names; `wanted`: TTAPE_VALUES_*. */
void tool_called_values_add(struct tool_called_values *called, const char *name, uint32_t start,
                            uint32_t wanted);
/* What stands behind a ttp_values_head, filled in but for its place; NULL: nothing is known. To be
 * freed. */
struct ttp_values_head *tool_called_values_make(struct tool_called_values *called,
                                                size_t *size_bytes);
void tool_called_values_close(struct tool_called_values *called);

#endif

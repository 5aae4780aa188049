/* Calls of a file whose callee its debug information names, by where they are. */
#ifndef TOOL_KNOWN_CALLS_H
#define TOOL_KNOWN_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/region.h"

struct tool_symbols;

struct tool_known_call {
    uint64_t place;  /* twice the address of its first byte, or of the one behind it and 1 */
    uint32_t callee; /* its address; 0: it is in another file */
    uint32_t name;   /* where in the names; those end with a zero */
};

struct tool_known_calls {
    struct tool_known_call *calls; /* by place */
    size_t count, capacity;
    char *names;
    size_t name_bytes, name_capacity;
    struct ttp_region *region;
};

/* Into what is empty but for the region, which has it. */
void tool_known_calls_read(struct tool_known_calls *known, struct tool_symbols *symbols,
                           ttape_string path, ttape_string build_id);
/* The one from `start` to `end`, or NULL. */
const struct tool_known_call *tool_known_call_at(const struct tool_known_calls *known,
                                                 uint32_t start, uint32_t end);

#endif

/* The calls of a trace, as they begin: what is made of their stacks. */
#ifndef TOOL_CALLS_WALK_H
#define TOOL_CALLS_WALK_H

#include <stdbool.h>
#include <stdint.h>

#include <tracetape/calls.h>

#include "tools/io/input.h"

/* It was made in what is read: an enter of the selection. */
static inline bool tool_call_counts(const ttape_call *call)
{
    return call->kind != TTAPE_EVENT_OPEN && !call->is_found;
}

/* The call that it is in lies in front of it, and so on: call->height of them. */
static inline ttape_call *tool_call_around(ttape_call *call)
{
    return call->height > 0 ? call - 1 : NULL;
}

/* Calls `enter` for each call of each stream, one after the other. Returns a tool_exit: damage that
 * was met has been said, and is a loss. */
int tool_calls_walk(const struct tool_input *input, void (*enter)(void *context, ttape_call *call),
                    void *context);

#endif

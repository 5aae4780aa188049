/* A call as people name it: by its enter (s0e4711), or as trees name one that goes from one
 * partition to the next (s0p3f1). */
#ifndef TOOL_CALL_NAME_H
#define TOOL_CALL_NAME_H

#include <tracetape/tree.h>

#include "program/lines/lines_answer.h"
#include "tools/calls/stream_choice.h"

struct tool_call_name {
    const char *text; /* NULL: none was given */
    struct tool_call_id call;
    ttape_node_id node;
    bool is_node;
};

bool tool_parse_call_name(const char *text, void *into); /* tool_call_name */
/* TTAPE_E_NOT_FOUND: there is no such call, or it began before the file. */
ttape_status tool_find_call(ttape_reader *reader, const struct tool_call_name *name,
                            struct tool_lines_call *call, ttape_error *err);

#endif

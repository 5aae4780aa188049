/* The longest calls of a trace, and how they are shown. */
#ifndef TOOL_SLOW_VIEW_H
#define TOOL_SLOW_VIEW_H

#include <tracetape/longest.h>

#include "tools/calls/site_name.h"
#include "tools/calls/stream_choice.h"
#include "tools/command/output.h"
#include "tools/io/input.h"

struct tool_slow {
    const struct tool_input *input;
    const ttape_reader *reader;
    const char *function; /* what was asked for, or NULL: all */
    ttape_longest_by by;
    struct tool_site_names names;
    ttape_longest_info info;
    const ttape_longest_call *calls;
    uint32_t call_count;
    bool has_off;      /* of a call it is known how long its thread did not run */
    uint64_t start_ns; /* the trace's first event */
};

/* What tree and dump open; "" where the call's enter is not in the file. The buffer is of
 * TOOL_CALL_ID_BYTES. */
const char *tool_slow_id(const ttape_longest_call *call, char *buffer);
const char *tool_slow_end(const ttape_longest_call *call);
uint64_t tool_slow_tid(const struct tool_slow *view, const ttape_longest_call *call);

void tool_slow_table(struct tool_slow *view, struct tool_output *out);
void tool_slow_json(struct tool_slow *view, struct tool_output *out);

#endif

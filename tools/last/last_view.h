/* What `last` shows: of each thread what is open at its end, its last calls, and how it ended, as
 * text and as JSON. */
#ifndef TOOL_LAST_VIEW_H
#define TOOL_LAST_VIEW_H

#include <tracetape/last.h>

#include "tools/calls/site_name.h"
#include "tools/command/output.h"
#include "tools/io/input.h"
#include "tools/last/core_fault.h"

struct tool_last {
    const struct tool_input *input;
    const ttape_reader *reader;
    struct tool_site_names names; /* opened by the verb, in the style that was asked for */
    bool has_times;
    uint32_t process_count, thread_count;
    ttape_last *answer;
    const ttape_last_thread *threads;
    struct tool_core_fault core; /* tid 0: none was given */
};

/* Where the process ended by a fault that this thread met: false, if it is not known. */
bool tool_last_fault(const struct tool_last *last, const ttape_last_thread *thread,
                     uint64_t *signal, uint64_t *address);

/* all: also threads that ended by themselves. */
void tool_last_text(struct tool_last *last, struct tool_output *out, bool all);
void tool_last_json(struct tool_last *last, struct tool_output *out);

#endif

/* Which threads and which time: --thread, --stream and --time FROM..TO, as several verbs have
 * them. */
#ifndef TOOL_SELECTION_H
#define TOOL_SELECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/io/input.h"
#include "tools/command/options.h"

typedef struct tool_numbers {
    uint64_t *numbers;
    size_t count, capacity;
} tool_numbers;

typedef struct tool_span {
    bool given;
    tool_time from, to; /* not given: open */
} tool_span;

bool tool_parse_numbers(const char *text, void *into); /* tool_numbers: "1,2,3"; adds to them */
bool tool_parse_span(const char *text, void *into);    /* tool_span: "1s..2s", "+20ms..", "..5" */

/* What was selected in a trace. */
typedef struct tool_selection {
    uint32_t *streams; /* ascending; NULL: all */
    uint32_t stream_count;
    bool has_range;
    uint64_t from_ns, to_ns; /* half-open, absolute */
} tool_selection;

/* Returns a tool_exit; what is wrong has been reported: no such thread, a trace without times, a
 * range that ends before it starts. */
int tool_select(tool_selection *selection, const tool_input *input, const tool_numbers *tids,
                const tool_numbers *streams, const tool_span *span);
void tool_selection_close(tool_selection *selection);

#endif

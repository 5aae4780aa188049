/* The ids of the calls of MAX, with which `tree` and `dump` open them. */
#include <stdlib.h>

#include <tracetape/longest.h>

#include "tools/callgraph/graph_functions.h"
#include "tools/command/tool.h"
#include "tools/report/report_view.h"

struct asking {
    struct tool_functions functions;
    uint32_t function;
};

static bool selects(void *context, uint32_t site)
{
    const struct asking *ask = context;
    return tool_function_of(&ask->functions, site) == ask->function;
}

/* The report has told of it. */
static void pass_damage(void *context, uint32_t partition, const ttape_error *error)
{
    (void)context;
    (void)partition;
    (void)error;
}

/* Of a damaged file another call may be the longest that can be read. */
static void take_longest(struct tool_report_row *row, const ttape_longest *longest)
{
    uint32_t count;
    const ttape_longest_call *call = ttape_longest_get_calls(longest, &count);
    if (count > 0 && call->duration_ns == row->row.max_ns && !call->is_found)
        (void)tool_put_call(row->id, call->stream, call->enter_number);
}

int tool_report_find_ids(struct tool_report *view, uint64_t most, uint32_t jobs)
{
    struct asking ask;
    ttape_longest_options how = {.size = sizeof(how),
                                 .count = 1,
                                 .has_range = view->selection->has_range,
                                 .from_ns = view->selection->from_ns,
                                 .to_ns = view->selection->to_ns,
                                 .streams = view->selection->streams,
                                 .stream_count = view->selection->stream_count,
                                 .jobs = jobs,
                                 .selects = selects,
                                 .damage = pass_damage,
                                 .context = &ask,
                                 .ended_only = true};
    int status = TOOL_OK;
    view->has_ids = true;
    tool_functions_open(&ask.functions, view->reader);
    for (size_t i = 0; i < view->row_count && i < most && status == TOOL_OK; i++) {
        struct tool_report_row *row = &view->rows[i];
        ttape_error err = {0};
        ttape_longest *longest;
        if (row->row.exit_count == 0 || row->row.site == TTAPE_NONE)
            continue;
        ask.function = tool_function_of(&ask.functions, row->row.site);
        if (ttape_longest_find(&longest, view->reader, &how, &err) == TTAPE_OK)
            take_longest(row, longest);
        else
            status = tool_fail_error(view->input->name, &err);
        ttape_longest_close(longest);
    }
    tool_functions_close(&ask.functions);
    return status;
}

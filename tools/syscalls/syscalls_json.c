/* The same for programs: one object. Times are nanoseconds; a path is outermost first. */
#include <stdlib.h>
#include <string.h>

#include "tools/calls/losses.h"
#include "tools/io/json.h"
#include "tools/syscalls/syscalls_view.h"

static void put_site(struct tool_sys *view, struct tool_json *json, const char *key, uint32_t site)
{
    char label[TOOL_LABEL_BYTES];
    tool_json_string(json, key, tool_site_word(&view->names, site, label));
}

static void put_name(struct tool_sys *view, struct tool_json *json, const char *key,
                     uint32_t function)
{
    char buffer[TOOL_SYS_NAME_BYTES];
    if (function < view->functions.count)
        put_site(view, json, key, view->functions.functions[function].site);
    else if (function == TOOL_SYS_CUT)
        tool_json_null(json, key);
    else
        tool_json_text(json, key, tool_sys_step_name(view, function, buffer));
}

static void put_path(struct tool_sys *view, struct tool_json *json, uint32_t node)
{
    uint32_t depth = view->nodes[node].depth, *steps = tool_allocate(depth + 1u, sizeof(*steps));
    for (uint32_t i = depth; i > 0; i--, node = view->nodes[node].parent)
        steps[i - 1] = view->nodes[node].function;
    tool_json_begin(json, "path", '[');
    for (uint32_t i = 0; i < depth; i++)
        put_name(view, json, NULL, steps[i]);
    tool_json_end(json, ']');
    free(steps);
}

/* Of time in nanoseconds; of a counter as much as it counted. */
static void put_sum(const struct tool_sys *view, struct tool_json *json, const char *key,
                    const struct tool_sys_sum *sum)
{
    bool is_other = view->asked.measure != NULL;
    tool_json_begin(json, key, '{');
    tool_json_number(json, "calls", sum->calls);
    tool_json_number(json, "errors", sum->errors);
    tool_json_signed(json, is_other ? "measured" : "time_ns", sum->time_ns);
    tool_json_signed(json, is_other ? "most" : "longest_ns", sum->longest_ns);
    tool_json_end(json, '}');
}

void tool_sys_json_percentiles(const struct tool_sys *view, const struct tool_sys_sizes *sizes,
                               uint32_t row, struct tool_json *json)
{
    static const struct {
        double share;
        const char *time, *amount;
    } known[] = {{0.5, "p50_ns", "p50"}, {0.95, "p95_ns", "p95"}, {0.99, "p99_ns", "p99"}};
    int64_t duration_ns;
    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
        if (tool_sys_sizes_at(sizes, row, known[i].share, &duration_ns))
            tool_json_signed(json, view->asked.measure != NULL ? known[i].amount : known[i].time,
                             duration_ns);
}

static void put_row(struct tool_sys *view, struct tool_json *json, const struct tool_sys_row *row)
{
    tool_json_begin(json, NULL, '{');
    if (view->asked.by == TOOL_SYS_BY_PATH)
        put_path(view, json, row->index);
    else if (view->asked.by == TOOL_SYS_BY_CALL)
        put_name(view, json, "call", row->index);
    else
        tool_json_string_if(json, "module", tool_module_path(view->reader, row->index));
    put_sum(view, json, view->asked.by == TOOL_SYS_BY_PATH ? "inclusive" : "sum", &row->within);
    if (view->asked.by == TOOL_SYS_BY_CALL)
        tool_sys_json_percentiles(view, &view->sizes, row->index, json);
    if (view->asked.by == TOOL_SYS_BY_PATH)
        put_sum(view, json, "exclusive", &row->exact);
    tool_json_end(json, '}');
}

void tool_sys_json(struct tool_sys *view, const struct tool_sys_rows *rows, struct tool_output *out)
{
    static const char *const by_names[] = {"call", "module", "path", "file"};
    struct tool_json json;
    struct tool_sys_known known;
    tool_sys_find_known(view->reader, &known);
    tool_json_open(&json, out);
    tool_json_begin(&json, NULL, '{');
    tool_json_text(&json, "by", by_names[view->asked.by]);
    tool_json_bool(&json, "application", view->asked.application);
    if (known.engine != NULL)
        tool_json_text(&json, "engine", known.engine);
    if (known.from != NULL)
        tool_json_text(&json, "from", known.from);
    if (view->asked.measure != NULL)
        tool_json_text(&json, "measure", view->asked.measure);
    tool_json_number(&json, "unseen_places", known.unseen);
    tool_json_number(&json, "unseen_processes", known.unrecorded);
    put_sum(view, &json, "all", &view->all);
    put_sum(view, &json, "without_stack", &view->without_stack);
    put_sum(view, &json, "shown", &view->shown);
    tool_json_number(&json, "lost_events", tool_lost_events(view->reader));
    tool_json_number(&json, "left_out", rows->left_out);
    tool_json_begin(&json, "rows", '[');
    for (size_t i = 0; i < rows->count; i++)
        put_row(view, &json, &rows->rows[i]);
    tool_json_end(&json, ']');
    tool_json_end(&json, '}');
}

/* How large the two runs are: what a reader wants to know before any row. */
#include "tools/calls/losses.h"
#include "tools/command/pager.h"
#include "tools/diff/diff_view.h"
#include "tools/io/json.h"
#include "tools/io/table.h"

struct totals {
    uint64_t events, calls, threads, lost;
    int64_t time_ns;
};

static struct totals measure(const struct tool_diff *diff, int side,
                             const struct tool_diff_rows *functions)
{
    const ttape_info *info = &diff->infos[side];
    uint64_t span_ns = info->time_last_ns - info->time_first_ns;
    struct totals totals = {.events = info->event_count,
                            .threads = info->stream_count,
                            .lost = tool_lost_events(diff->inputs[side].reader),
                            .time_ns = span_ns < INT64_MAX ? (int64_t)span_ns : INT64_MAX};
    for (size_t i = 0; functions != NULL && i < functions->count; i++)
        totals.calls += functions->rows[i].sides[side].calls;
    return totals;
}

static void put_side(const struct tool_diff *diff, int side, const struct tool_diff_rows *functions,
                     struct tool_table *table)
{
    struct totals totals = measure(diff, side, functions);
    tool_table_text(table, TOOL_PLAIN, side == 0 ? "A" : "B");
    if (diff->has_times)
        tool_table_time(table, TOOL_PLAIN, totals.time_ns);
    if (functions != NULL)
        tool_table_count(table, TOOL_PLAIN, totals.calls);
    tool_table_count(table, TOOL_PLAIN, totals.events);
    tool_table_count(table, TOOL_PLAIN, totals.threads);
    tool_table_count(table, totals.lost > 0 ? TOOL_WARM : TOOL_PLAIN, totals.lost);
    tool_table_text(table, TOOL_PLAIN, diff->inputs[side].name);
}

void tool_diff_print_totals(const struct tool_diff *diff, const struct tool_diff_rows *functions,
                            struct tool_output *out)
{
    struct tool_column columns[7];
    struct tool_table table;
    size_t count = 0;
    columns[count++] = (struct tool_column){"", .is_text = true};
    if (diff->has_times)
        columns[count++] = (struct tool_column){"TIME", .rank = 0};
    if (functions != NULL)
        columns[count++] = (struct tool_column){"CALLS", .rank = 0};
    columns[count++] = (struct tool_column){"EVENTS", .rank = 1};
    columns[count++] = (struct tool_column){"THREADS", .rank = 2};
    columns[count++] = (struct tool_column){"LOST", .rank = 0};
    columns[count++] = (struct tool_column){"TRACE", .is_text = true, .gives_way = true};
    tool_table_open(&table, columns, count);
    for (int side = 0; side < 2; side++)
        put_side(diff, side, functions, &table);
    tool_table_print(&table, out, tool_table_width(&table, false), tool_terminal_colours());
    tool_table_close(&table);
}

void tool_diff_json_totals(const struct tool_diff *diff, const struct tool_diff_rows *functions,
                           struct tool_json *json)
{
    tool_json_begin(json, "totals", '{');
    for (int side = 0; side < 2; side++) {
        struct totals totals = measure(diff, side, functions);
        tool_json_begin(json, side == 0 ? "a" : "b", '{');
        if (diff->has_times)
            tool_json_signed(json, "time_ns", totals.time_ns);
        if (functions != NULL)
            tool_json_number(json, "calls", totals.calls);
        tool_json_number(json, "events", totals.events);
        tool_json_number(json, "threads", totals.threads);
        tool_json_number(json, "lost_events", totals.lost);
        tool_json_end(json, '}');
    }
    tool_json_end(json, '}');
}

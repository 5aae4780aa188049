/* How large the runs are, and what is compared as one: what a reader wants to know before any row.
 */
#include <inttypes.h>

#include "tools/calls/losses.h"
#include "tools/command/pager.h"
#include "tools/diff/diff_view.h"
#include "tools/io/json.h"
#include "tools/io/table.h"

struct totals {
    uint64_t events, calls, threads, lost;
    int64_t time_ns;
};

static struct totals measure(const struct tool_diff *diff, uint32_t run,
                             const ttape_diff_rows *functions)
{
    const ttape_info *info = &diff->runs[run].info;
    uint64_t span_ns = info->time_last_ns - info->time_first_ns;
    struct totals totals = {.events = info->event_count,
                            .threads = info->stream_count,
                            .lost = tool_lost_events(diff->runs[run].input.reader),
                            .time_ns = span_ns < INT64_MAX ? (int64_t)span_ns : INT64_MAX};
    for (size_t i = 0; functions != NULL && i < functions->row_count; i++)
        totals.calls += functions->traces[i * diff->run_count + run].calls;
    return totals;
}

/* "A", or "A1" where the side has several. */
static void put_label(const struct tool_diff *diff, uint32_t run, struct tool_table *table)
{
    uint32_t from, to;
    int side = run >= diff->a_count;
    tool_diff_runs_of(diff, side, &from, &to);
    if (to - from == 1)
        tool_table_printf(table, TOOL_PLAIN, "%c", "AB"[side]);
    else
        tool_table_printf(table, TOOL_PLAIN, "%c%u", "AB"[side], (unsigned)(run - from + 1));
}

static void put_run(const struct tool_diff *diff, uint32_t run, const ttape_diff_rows *functions,
                    struct tool_table *table)
{
    struct totals totals = measure(diff, run, functions);
    put_label(diff, run, table);
    if (diff->has_times)
        tool_table_time(table, TOOL_PLAIN, totals.time_ns);
    if (functions != NULL)
        tool_table_count(table, TOOL_PLAIN, totals.calls);
    tool_table_count(table, TOOL_PLAIN, totals.events);
    tool_table_count(table, TOOL_PLAIN, totals.threads);
    tool_table_count(table, totals.lost > 0 ? TOOL_WARM : TOOL_PLAIN, totals.lost);
    tool_table_text(table, TOOL_PLAIN, diff->runs[run].input.name);
}

void tool_diff_print_totals(const struct tool_diff *diff, const ttape_diff_rows *functions,
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
    for (uint32_t run = 0; run < diff->run_count; run++)
        put_run(diff, run, functions, &table);
    tool_table_print(&table, out, tool_table_width(&table, false), tool_terminal_colours());
    tool_table_close(&table);
    tool_diff_print_matches(diff, out);
}

/* A module has two names, or one name and a file with two. */
static const ttape_string *names_of(const ttape_functions_match *match)
{
    bool has_files = match->files[0].size_bytes + match->files[1].size_bytes > 0;
    return has_files ? match->files : match->modules;
}

void tool_diff_print_matches(const struct tool_diff *diff, struct tool_output *out)
{
    uint32_t count;
    const ttape_functions_match *matches = ttape_functions_get_matches(diff->functions, &count);
    for (uint32_t i = 0; i < count; i++) {
        const ttape_string *names = names_of(&matches[i]);
        tool_output_text(out, "compared as one: '");
        tool_output_escaped(out, TTP_ESCAPE_TEXT, names[0]);
        tool_output_text(out, "' of A and '");
        tool_output_escaped(out, TTP_ESCAPE_TEXT, names[1]);
        tool_output_printf(out, "' of B, %" PRIu64 " function%s\n", matches[i].function_count,
                           matches[i].function_count == 1 ? "" : "s");
    }
}

void tool_diff_json_matches(const struct tool_diff *diff, struct tool_json *json)
{
    uint32_t count;
    const ttape_functions_match *matches = ttape_functions_get_matches(diff->functions, &count);
    if (count == 0)
        return;
    tool_json_begin(json, "compared_as_one", '[');
    for (uint32_t i = 0; i < count; i++) {
        const ttape_functions_match *match = &matches[i];
        tool_json_begin(json, NULL, '{');
        tool_json_string(json, "a", match->modules[0]);
        tool_json_string(json, "b", match->modules[1]);
        if (names_of(match) == match->files) {
            tool_json_string(json, "file_a", match->files[0]);
            tool_json_string(json, "file_b", match->files[1]);
        }
        tool_json_number(json, "functions", match->function_count);
        tool_json_end(json, '}');
    }
    tool_json_end(json, ']');
}

static void put_totals(const struct tool_diff *diff, uint32_t run, const ttape_diff_rows *functions,
                       struct tool_json *json)
{
    struct totals totals = measure(diff, run, functions);
    if (diff->has_times)
        tool_json_signed(json, "time_ns", totals.time_ns);
    if (functions != NULL)
        tool_json_number(json, "calls", totals.calls);
    tool_json_number(json, "events", totals.events);
    tool_json_number(json, "threads", totals.threads);
    tool_json_number(json, "lost_events", totals.lost);
}

/* Of several runs a side: one object for each, and none for the side. */
void tool_diff_json_totals(const struct tool_diff *diff, const ttape_diff_rows *functions,
                           struct tool_json *json)
{
    if (diff->run_count == 2) {
        tool_json_begin(json, "totals", '{');
        for (uint32_t run = 0; run < 2; run++) {
            tool_json_begin(json, run == 0 ? "a" : "b", '{');
            put_totals(diff, run, functions, json);
            tool_json_end(json, '}');
        }
        tool_json_end(json, '}');
        return;
    }
    tool_json_begin(json, "runs", '[');
    for (uint32_t run = 0; run < diff->run_count; run++) {
        tool_json_begin(json, NULL, '{');
        tool_json_text(json, "side", run < diff->a_count ? "a" : "b");
        tool_json_text(json, "trace", diff->runs[run].input.name);
        put_totals(diff, run, functions, json);
        tool_json_end(json, '}');
    }
    tool_json_end(json, ']');
}

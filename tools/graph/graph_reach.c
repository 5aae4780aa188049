/* Paths to a function: a table for people, JSON, and their tree as a picture. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/time_sum.h"
#include "tools/calls/callers/caller_names.h"
#include "tools/calls/losses.h"
#include "tools/command/pager.h"
#include "tools/command/tool.h"
#include "tools/graph/graph_paths.h"
#include "tools/graph/graph_view.h"
#include "tools/io/json.h"
#include "tools/io/table.h"

#define HOT_SHARE  0.20
#define WARM_SHARE 0.05

#define LEAST_PATH      48u /* columns, of a narrow terminal: TIME % is left out for it */
#define NUMBERS_COLUMNS 44u /* in front of a path, at most but for huge numbers */

/* ---- text ---- */

static const char *name_of(struct tool_paths *paths, const ttape_reach_path *path, char *buffer)
{
    if (!path->is_signal)
        return tool_site_name(&paths->names, path->site);
    snprintf(buffer, 40, "(signal %" PRIu32 ")", path->signal);
    return buffer;
}

/* Innermost first: where the table is cut, the next caller stays. callers: those of the row above,
 * and then of this one. */
static void put_callers(struct tool_paths *paths, struct tool_table *table, uint32_t innermost,
                        struct tool_callers *callers)
{
    struct tool_callers above = *callers;
    struct tool_output text;
    char buffer[TOOL_LABEL_BYTES];
    unsigned columns = tool_terminal_columns();
    tool_callers_open(callers);
    tool_output_open(&text, -1);
    for (uint32_t at = innermost; at != TTAPE_NONE; at = paths->paths[at].before)
        tool_callers_add(callers, name_of(paths, &paths->paths[at], buffer));
    size_t room = columns == 0                ? SIZE_MAX
                  : columns > NUMBERS_COLUMNS ? columns - NUMBERS_COLUMNS
                                              : 0;
    size_t more = tool_callers_put_below(callers, &above, room, &text);
    tool_callers_close(&above);
    if (innermost == TTAPE_NONE)
        tool_output_text(&text, "(nothing)");
    tool_table_callers(table, TOOL_PLAIN, text.data, text.size_bytes, more);
    free(text.data);
}

static void put_row(struct tool_paths *paths, struct tool_table *table,
                    const ttape_reach_path *path, struct tool_callers *callers)
{
    double share = tool_paths_share(paths, path->total_ns, path->call_count);
    enum tool_tone tone = share >= HOT_SHARE    ? TOOL_HOT
                          : share >= WARM_SHARE ? TOOL_WARM
                                                : TOOL_PLAIN;
    tool_table_printf(table, tone, "%.2f", 100.0 * share);
    if (paths->has_times) {
        tool_table_time(table, tone, path->total_ns);
        tool_table_time(table, tone, path->self_ns);
    }
    tool_table_count(table, tone, path->call_count);
    put_callers(paths, table, path->before, callers);
}

static void put_pruned(const struct tool_paths *paths, struct tool_output *out)
{
    if (paths->pruned_count > 0)
        tool_output_printf(
            out, "\nPruned: %" PRIu64 " paths with %" PRIu64 " calls (--all shows them).\n",
            paths->pruned_count, paths->pruned_calls);
}

void tool_reach_text(struct tool_paths *paths, struct tool_output *out)
{
    struct tool_column columns[5];
    struct tool_table table;
    struct tool_callers callers;
    size_t count = 0;
    columns[count++] = (struct tool_column){"TIME %", .rank = 2};
    if (paths->has_times) {
        columns[count++] = (struct tool_column){"TIME", .rank = 0};
        columns[count++] = (struct tool_column){"SELF", .rank = 1};
    }
    columns[count++] = (struct tool_column){"CALLS", .rank = 0};
    columns[count++] = (struct tool_column){"CALLED BY", .is_text = true, .gives_way = true};
    tool_table_open(&table, columns, count);
    table.least = LEAST_PATH;
    tool_callers_open(&callers);
    for (size_t i = 0; i < paths->shown_count; i++)
        put_row(paths, &table, &paths->paths[paths->order[i]], &callers);
    tool_callers_close(&callers);
    tool_table_print(&table, out, tool_table_width(&table, paths->names.is_shortened),
                     tool_terminal_colours());
    tool_table_close(&table);
    put_pruned(paths, out);
}

void tool_reach_hottest(struct tool_paths *paths, struct tool_output *out)
{
    const struct tool_column columns[] = {{"SELF %", .rank = 0},
                                          {"SELF", .rank = 0},
                                          {"CALLS", .rank = 0},
                                          {"PATH", .is_text = true, .gives_way = true}};
    struct tool_table table;
    struct tool_callers callers;
    uint32_t hottest = tool_paths_hottest(paths);
    if (hottest == TTAPE_NONE)
        return;
    const ttape_reach_path *path = &paths->paths[hottest];
    tool_table_open(&table, columns, 4);
    tool_table_printf(&table, TOOL_PLAIN, "%.2f",
                      100.0 * tool_paths_share(paths, path->self_ns, path->call_count));
    tool_table_time(&table, TOOL_PLAIN, path->self_ns);
    tool_table_count(&table, TOOL_PLAIN, path->call_count);
    tool_callers_open(&callers);
    put_callers(paths, &table, hottest, &callers);
    tool_callers_close(&callers);
    tool_table_print(&table, out, tool_table_width(&table, paths->names.is_shortened),
                     tool_terminal_colours());
    tool_table_close(&table);
}

/* ---- JSON ---- */

static void put_steps(struct tool_paths *paths, struct tool_json *json, const ttape_reach_path *end)
{
    const ttape_reach_path **steps = tool_allocate(end->length, sizeof(*steps));
    const ttape_reach_path *path = end;
    for (uint32_t i = end->length; i-- > 0;) {
        steps[i] = path;
        path = path->before != TTAPE_NONE ? &paths->paths[path->before] : path;
    }
    tool_json_begin(json, "path", '[');
    for (uint32_t i = 0; i < end->length; i++) {
        char buffer[TOOL_LABEL_BYTES];
        if (steps[i]->is_signal)
            tool_json_text(json, NULL, name_of(paths, steps[i], buffer));
        else
            tool_json_string(json, NULL, tool_site_word(&paths->names, steps[i]->site, buffer));
    }
    tool_json_end(json, ']');
    free(steps);
}

void tool_reach_hottest_json(struct tool_paths *paths, struct tool_json *json)
{
    uint32_t hottest = tool_paths_hottest(paths);
    if (hottest == TTAPE_NONE)
        return;
    const ttape_reach_path *path = &paths->paths[hottest];
    tool_json_begin(json, "hottest_path", '{');
    tool_json_number(json, "calls", path->call_count);
    tool_json_signed(json, "self_ns", path->self_ns);
    put_steps(paths, json, path);
    tool_json_end(json, '}');
}

void tool_reach_json(struct tool_paths *paths, struct tool_output *out)
{
    struct tool_json json;
    tool_json_open(&json, out);
    tool_json_begin(&json, NULL, '{');
    tool_json_text(&json, "file", paths->input->name);
    tool_json_text(&json, "function", paths->name);
    tool_json_bool(&json, "has_times", paths->has_times);
    tool_json_signed(&json, "span_ns", paths->span_ns);
    tool_json_number(&json, "calls", paths->call_count);
    tool_json_number(&json, "lost_events", tool_lost_events(paths->input->reader));
    tool_json_begin(&json, "pruned", '{');
    tool_json_number(&json, "paths", paths->pruned_count);
    tool_json_number(&json, "calls", paths->pruned_calls);
    tool_json_end(&json, '}');
    tool_json_begin(&json, "paths", '[');
    for (size_t i = 0; i < paths->shown_count && out->failed_errno == 0; i++) {
        const ttape_reach_path *path = &paths->paths[paths->order[i]];
        tool_json_begin(&json, NULL, '{');
        tool_json_number(&json, "calls", path->call_count);
        tool_json_number(&json, "recursive_calls", path->recursion_count);
        tool_json_signed(&json, "total_ns", path->total_ns);
        tool_json_signed(&json, "self_ns", path->self_ns);
        tool_json_real(&json, "share", tool_paths_share(paths, path->total_ns, path->call_count));
        put_steps(paths, &json, path);
        tool_json_end(&json, '}');
    }
    tool_json_end(&json, ']');
    tool_json_end(&json, '}');
}

/* ---- a picture ---- */

struct weight {
    uint64_t calls;
    int64_t total_ns;
};

/* What leads through each path to the function, by path. */
static struct weight *weigh(const struct tool_paths *paths)
{
    struct weight *weights = tool_allocate(paths->count + 1, sizeof(*weights));
    for (size_t i = 0; i < paths->shown_count; i++) {
        const ttape_reach_path *path = &paths->paths[paths->order[i]];
        weights[paths->order[i]].calls += path->call_count;
        ttp_sum_ns(&weights[paths->order[i]].total_ns, path->total_ns);
    }
    for (size_t i = paths->count;
         i-- > 0;) { /* a path stands behind the one that it goes on from */
        uint32_t before = paths->paths[i].before;
        if (before == TTAPE_NONE)
            continue;
        weights[before].calls += weights[i].calls;
        ttp_sum_ns(&weights[before].total_ns, weights[i].total_ns);
    }
    return weights;
}

static void put_vector(const struct tool_paths *paths, struct tool_output *out,
                       const struct weight *weight)
{
    char text[40];
    text[tool_put_count(text, weight->calls)] = '\0';
    tool_output_printf(out, "(%s", text);
    if (paths->has_times) {
        text[tool_put_time(text, weight->total_ns)] = '\0';
        tool_output_printf(out, ", %s", text);
    }
    tool_output_printf(out, ", %.2f%%)",
                       100.0 * tool_paths_share(paths, weight->total_ns, weight->calls));
}

void tool_reach_dot(struct tool_paths *paths, struct tool_output *out)
{
    struct weight *weights = weigh(paths);
    char buffer[TOOL_LABEL_BYTES];
    tool_graph_dot_begin(out, paths->input);
    for (uint32_t i = 0; i < paths->count && out->failed_errno == 0; i++) {
        const ttape_reach_path *path = &paths->paths[i];
        if (weights[i].calls == 0 && weights[i].total_ns == 0)
            continue;
        tool_output_printf(out, "  n%" PRIu32 " [label=\"", i);
        tool_graph_dot_name(out, name_of(paths, path, buffer));
        tool_output_text(out, "\\n");
        put_vector(paths, out, &weights[i]);
        tool_output_printf(out, "\"%s", path->is_end ? ", fillcolor=\"#d3d3d3\"" : "");
        tool_graph_dot_class(out, path->is_signal ? TTAPE_NONE : path->site,
                             path->is_end ? " dark" : "");
        tool_output_text(out, "];\n");
        if (path->before != TTAPE_NONE)
            tool_output_printf(out, "  n%" PRIu32 " -> n%" PRIu32 ";\n", path->before, i);
    }
    tool_output_text(out, "}\n");
    free(weights);
}

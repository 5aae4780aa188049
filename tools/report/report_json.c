/* A report for programs: one object, its rows in the order of the table. Times are nanoseconds;
 * null: not known. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/calls/losses.h"
#include "tools/io/json.h"
#include "tools/report/report_view.h"
#include "tools/values/call_site.h"

struct printing {
    struct tool_report *view;
    struct tool_json json;
};

static void put_squares(struct tool_json *json, const uint64_t squares[3])
{
    tool_json_wide(json, "squares_ns2", false, squares);
}

/* Sums of many files may have more than 64 bits. */
static void put_wide(struct tool_json *json, const char *key, int64_t value,
                     const ttape_wide_signed *wide)
{
    if (wide == NULL) {
        tool_json_signed(json, key, value);
        return;
    }
    bool is_negative = wide->high < 0;
    uint64_t low = is_negative ? 0 - wide->low : wide->low;
    uint64_t high = (uint64_t)wide->high;
    high = is_negative ? ~high + (wide->low == 0) : high;
    tool_json_wide(json, key, is_negative, (const uint64_t[3]){low, high, 0});
}

static void put_site(struct printing *print, const char *key, uint32_t number)
{
    char buffer[TOOL_LABEL_BYTES];
    if (number == TTAPE_NONE)
        tool_json_null(&print->json, key);
    else if (number == TTAPE_REPORT_SIGNAL)
        tool_json_text(&print->json, key, "(signal)");
    else
        tool_json_string(&print->json, key, tool_site_word(&print->view->names, number, buffer));
}

static void put_module(struct printing *print, uint32_t number)
{
    ttape_module module = {0};
    (void)ttape_reader_get_module(print->view->reader, number, &module);
    tool_json_string_if(&print->json, "module", module.path);
}

static void put_place(struct printing *print, const ttape_report_row *row)
{
    ttape_site site = {0};
    char address[24];
    (void)ttape_reader_get_site(print->view->reader, row->site, &site);
    put_module(print, row->module);
    tool_json_string_if(&print->json, "file", site.file);
    tool_json_number_if(&print->json, "line", site.line > 0, site.line);
    char *end = tool_put_hex(tool_put_bytes(address, "0x", 2), site.address);
    tool_json_string(&print->json, "address", (ttape_string){address, (size_t)(end - address)});
    tool_json_number(&print->json, "site", row->site);
}

/* Functions of many files have no address, and no number of a site. */
static void put_function(struct printing *print, const struct tool_report_row *row)
{
    struct tool_json *json = &print->json;
    const ttape_rollup_function *function = row->function;
    tool_json_string_if(json, "module", function->module_path);
    if (function->build_id.size_bytes > 0)
        tool_json_hex(json, "build_id", (const uint8_t *)function->build_id.data,
                      function->build_id.size_bytes);
    else
        tool_json_null(json, "build_id");
    tool_json_string_if(json, "file", function->file);
    tool_json_number_if(json, "line", function->line > 0, function->line);
    char address[24];
    char *end = tool_put_hex(tool_put_bytes(address, "0x", 2), function->offset);
    tool_json_string(json, "offset", (ttape_string){address, (size_t)(end - address)});
}

static void put_longest(struct printing *print, const struct tool_report_row *row)
{
    struct tool_json *json = &print->json;
    uint32_t count;
    const ttape_rollup_trace *traces = ttape_rollup_get_traces(print->view->rollup, &count);
    tool_json_begin(json, "longest", '[');
    for (uint32_t i = 0; i < row->longest_count; i++) {
        const ttape_rollup_call *call = &row->longest[i];
        char id[TOOL_CALL_ID_BYTES];
        tool_json_begin(json, NULL, '{');
        tool_json_text(json, "call", tool_put_call(id, call->stream, call->enter_number));
        tool_json_signed(json, "duration_ns", call->duration_ns);
        tool_json_string(json, "trace", traces[call->trace].name);
        tool_json_hex(json, "trace_id", traces[call->trace].id, sizeof traces[call->trace].id);
        tool_json_end(json, '}');
    }
    tool_json_end(json, ']');
}

/* The trace that a thread or a process of many files is in: R-FUN-05. */
static void put_trace(struct tool_json *json, const ttape_rollup_function *function)
{
    tool_json_hex(json, "trace_id", (const uint8_t *)function->build_id.data,
                  function->build_id.size_bytes);
    tool_json_string_if(json, "trace", function->file);
    tool_json_string_if(json, "host", function->module_path);
}

static void put_thread(struct printing *print, const struct tool_report_row *shown)
{
    const ttape_report_row *row = &shown->row;
    ttape_stream_info stream = {0};
    ttape_process process = {0};
    (void)ttape_reader_get_process(print->view->reader, row->process, &process);
    tool_json_number(&print->json, "pid", process.pid);
    if (row->stream != TTAPE_NONE &&
        ttape_reader_get_stream(print->view->reader, row->stream, &stream) == TTAPE_OK) {
        tool_json_number(&print->json, "tid", stream.stream.tid);
        if (shown->function == NULL)
            tool_json_number(&print->json, "stream", row->stream);
    }
    if (shown->function != NULL)
        put_trace(&print->json, shown->function);
    tool_json_number(&print->json, "events", row->event_count);
    tool_json_signed(&print->json, "span_ns", row->span_ns);
}

/* A trace, a host or a build is none. */
static void put_subject_of_many(struct printing *print, const struct tool_report_row *row)
{
    if (print->view->many == TOOL_MANY_BUILD) {
        put_function(print, row);
        return;
    }
    tool_json_number(&print->json, "events", row->row.event_count);
    put_wide(&print->json, "span_ns", row->row.span_ns, &row->wide->span_ns);
}

/* Where the calls were made: as the table has it, and apart. */
static void put_from(struct printing *print, uint32_t place)
{
    struct tool_json *json = &print->json;
    struct tool_output text;
    ttape_site site = {0};
    char address[24];
    if (ttape_reader_get_site(print->view->reader, place, &site) != TTAPE_OK) {
        tool_json_null(json, "from");
        return;
    }
    tool_output_open(&text, -1);
    tool_put_call_site(&text, print->view->reader, place);
    tool_json_string(json, "from", (ttape_string){text.data, text.size_bytes});
    free(text.data);
    tool_json_string_if(json, "from_symbol", site.symbol);
    tool_json_string_if(json, "from_file", site.file);
    tool_json_number_if(json, "from_line", site.line > 0, site.line);
    ttape_module module = {.start = 0};
    const char *key = "from_address"; /* of several files there is none */
    if (print->view->rollup != NULL) {
        (void)ttape_reader_get_module(print->view->reader, site.module, &module);
        key = "from_offset";
    }
    char *end = tool_put_hex(tool_put_bytes(address, "0x", 2), site.address - module.start);
    tool_json_string(json, key, (ttape_string){address, (size_t)(end - address)});
}

/* The names of functions are given as they are, the others as the table has them. */
static void put_subject(struct printing *print, const struct tool_report_row *row)
{
    ttape_report_by by = print->view->by;
    if (row->role != TOOL_ROLE_NONE)
        tool_json_text(&print->json, "role", tool_role_names[row->role]);
    if (by == TTAPE_REPORT_BY_FUNCTION || by == TTAPE_REPORT_BY_NAME ||
        by == TTAPE_REPORT_BY_CALL || by == TTAPE_REPORT_BY_SITE)
        put_site(print, "name", row->row.site);
    else
        tool_json_text(&print->json, "name", tool_report_name(print->view, row));
    if (by == TTAPE_REPORT_BY_CALL)
        put_site(print, "caller", row->row.caller);
    if (by == TTAPE_REPORT_BY_SITE)
        put_from(print, row->row.caller);
}

static void put_decoded(struct printing *print, const struct tool_report_row *row)
{
    struct tool_json *json = &print->json;
    if (!row->row.decoded)
        return;
    if (print->view->has_times && row->row.exit_count > 0) {
        tool_json_signed(json, "duration_sum_ns", row->row.duration_ns);
        tool_json_fixed(json, "duration_mean_ns", row->row.duration_mean_ns);
        tool_json_fixed(json, "duration_deviation_ns", row->row.duration_deviation_ns);
    }
    tool_json_number(json, "recursive_calls", row->row.recursion_count);
    tool_json_number(json, "unseen_exits", row->row.unseen_count);
}

static void put_percentiles(struct printing *print, const struct tool_report_row *row)
{
    struct tool_json *json = &print->json;
    if (print->view->is_estimate && !print->view->has_times)
        return;
    for (size_t i = 0; row->has_percentiles && i < TOOL_PERCENTILES; i++) {
        char key[16];
        strcpy(key, tool_percentile_names[i]);
        strcat(key, print->view->is_estimate ? "_estimate_ns" : "_ns");
        tool_json_signed(json, key, row->percentiles[i]);
    }
    if (row->bucket_count == 0)
        return;
    tool_json_begin(json, "histogram", '[');
    for (size_t i = 0; i < row->bucket_count; i++) {
        const ttape_report_bucket *bucket = &print->view->buckets[row->first_bucket + i];
        tool_json_begin(json, NULL, '{');
        tool_json_signed(json, "least_ns", bucket->least_ns);
        tool_json_signed(json, "most_ns", bucket->most_ns);
        tool_json_number(json, "calls", bucket->count);
        tool_json_end(json, '}');
    }
    tool_json_end(json, ']');
}

static void put_times(struct printing *print, const ttape_report_row *row,
                      const ttape_rollup_row *wide)
{
    struct tool_json *json = &print->json;
    bool ended = row->exit_count > 0;
    put_wide(json, "self_ns", row->self_ns, wide != NULL ? &wide->self_ns : NULL);
    if (tool_report_knows_cpu(print->view)) {
        tool_json_signed(json, "on_cpu_ns",
                         row->self_ns - row->preempted_ns - row->blocked_ns - row->unknown_ns);
        tool_json_signed(json, "preempted_ns", row->preempted_ns);
        tool_json_signed(json, "blocked_ns", row->blocked_ns);
        tool_json_signed(json, "unknown_ns", row->unknown_ns);
    }
    put_wide(json, "total_ns", row->total_ns, wide != NULL ? &wide->total_ns : NULL);
    if (wide != NULL)
        put_squares(json, wide->squares);
    tool_json_fixed(json, "mean_ns", row->mean_ns);
    if (ended) {
        tool_json_signed(json, "min_ns", row->min_ns);
        tool_json_signed(json, "max_ns", row->max_ns);
        tool_json_fixed(json, "deviation_ns", row->deviation_ns);
    } else {
        tool_json_null(json, "min_ns");
        tool_json_null(json, "max_ns");
        tool_json_null(json, "deviation_ns");
    }
    if (ended && print->view->has_self_times) {
        tool_json_signed(json, "self_min_ns", row->self_min_ns);
        tool_json_signed(json, "self_max_ns", row->self_max_ns);
    }
    if (row->idle_known || row->is_idle_least)
        tool_json_signed(json, "idle_ns", row->idle_ns);
    else
        tool_json_null(json, "idle_ns");
}

static void put_row(struct printing *print, const struct tool_report_row *row)
{
    struct tool_json *json = &print->json;
    ttape_report_by by = print->view->by;
    tool_json_begin(json, NULL, '{');
    put_subject(print, row);
    tool_json_number(json, "calls", row->row.call_count);
    tool_json_number(json, "ended", row->row.exit_count);
    tool_json_number(json, "unknown_ends", row->row.unknown_end_count);
    if (row->row.is_least)
        tool_json_bool(json, "is_least", true);
    if (row->row.is_about)
        tool_json_bool(json, "is_about", true);
    if (print->view->has_times)
        put_times(print, &row->row, row->wide);
    tool_json_string_if(json, "max_id", (ttape_string){row->id, strlen(row->id)});
    if (print->view->hook.is_known)
        tool_json_bool(json, "mostly_hook", tool_report_is_hook(print->view, &row->row));
    put_decoded(print, row);
    put_percentiles(print, row);
    if (print->view->many != TOOL_MANY_NONE)
        put_subject_of_many(print, row);
    else if (by == TTAPE_REPORT_BY_THREAD || by == TTAPE_REPORT_BY_PROCESS)
        put_thread(print, row);
    else if (row->function != NULL)
        put_function(print, row);
    else if (by == TTAPE_REPORT_BY_FUNCTION || by == TTAPE_REPORT_BY_CALL ||
             by == TTAPE_REPORT_BY_SITE)
        put_place(print, &row->row);
    if (row->longest_count > 0)
        put_longest(print, row);
    tool_json_end(json, '}');
}

static uint64_t lost_events(ttape_rollup *rollup)
{
    uint64_t sum = 0;
    uint32_t count;
    const ttape_rollup_trace *traces = ttape_rollup_get_traces(rollup, &count);
    for (uint32_t i = 0; i < count; i++)
        sum += traces[i].lost_count;
    return sum;
}

static void put_files(struct printing *print)
{
    uint32_t count, growing = 0;
    const ttape_rollup_trace *traces = ttape_rollup_get_traces(print->view->rollup, &count);
    for (uint32_t i = 0; i < count; i++)
        growing += traces[i].is_growing;
    tool_json_number(&print->json, "traces", count);
    tool_json_number(&print->json, "growing_traces", growing);
    tool_json_number(&print->json, "files_left_out", print->view->left_out);
}

static void put_head(struct printing *print)
{
    const struct tool_report *view = print->view;
    const ttape_report_info *info = &view->info;
    struct tool_json *json = &print->json;
    if (view->rollup != NULL)
        put_files(print);
    else
        tool_json_text(json, "file", view->input->name);
    tool_json_text(json, "by",
                   view->many != TOOL_MANY_NONE ? tool_report_many_names[view->many]
                                                : tool_report_by_names[view->by]);
    if (view->below != NULL)
        tool_json_text(json, "below", view->below);
    tool_json_bool(json, "exact", info->decoded_count == info->partition_count);
    if (view->selection->has_range) {
        tool_json_number(json, "from_ns", view->selection->from_ns);
        tool_json_number(json, "to_ns", view->selection->to_ns);
    }
    tool_json_number(json, "threads", info->stream_count);
    tool_json_number(json, "partitions", info->partition_count);
    tool_json_number(json, "decoded_partitions", info->decoded_count);
    tool_json_number(json, "damaged_partitions", info->damaged_count);
    tool_json_number(json, "events", info->event_count);
    tool_json_number(json, "calls", info->call_count);
    tool_json_number(json, "lost_events",
                     view->rollup != NULL ? lost_events(view->rollup)
                                          : tool_lost_events(view->reader));
    tool_json_number_if(json, "hook_ns", view->hook.is_known, view->hook.hook_ns);
    if (info->decoded_count == info->partition_count)
        tool_json_number(json, "unseen_exits", info->unseen_count);
    if (!view->selection->has_range)
        tool_json_number(json, "open_frames", info->open_count);
    static const char *const sources[] = {"nothing", "switches", "system calls", "functions"};
    if (info->has_times) {
        tool_json_signed(json, "span_ns", info->span_ns);
        tool_json_signed(json, "idle_ns", info->idle_ns);
        tool_json_signed(json, "recorder_ns", view->recorder_ns);
        tool_json_bool(json, "idle_exact", info->idle_known);
        tool_json_text(json, "idle_source", sources[info->idle_source]);
        if (info->idle_source == TTAPE_IDLE_SWITCHES) {
            tool_json_signed(json, "preempted_ns", info->preempted_ns);
            tool_json_signed(json, "unknown_ns", info->unknown_ns);
        }
    }
    if (view->is_estimate)
        tool_json_text(json, "percentiles_from", "histograms");
    else if (view->has_percentiles)
        tool_json_real(json, "percentile_error", info->percentile_error);
    tool_json_number(json, "rows_left_out", view->hidden_count);
}

void tool_report_json(struct tool_report *view, struct tool_output *out)
{
    struct printing print = {.view = view};
    tool_json_open(&print.json, out);
    tool_json_begin(&print.json, NULL, '{');
    put_head(&print);
    tool_json_begin(&print.json, "rows", '[');
    for (size_t i = 0; i < view->row_count && out->failed_errno == 0; i++)
        put_row(&print, &view->rows[i]);
    tool_json_end(&print.json, ']');
    tool_json_end(&print.json, '}');
}

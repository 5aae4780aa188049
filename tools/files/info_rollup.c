/* What is in a rollup, and which partitions of which traces it is of. */
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include <tracetape/rollup.h>

#include "tools/command/tool.h"
#include "tools/files/info_rollup.h"
#include "tools/io/input.h"
#include "tools/io/json.h"

static const char *const kinds[] = {"function", "name",    "module", "file",
                                    "thread",   "process", "call"};

struct showing {
    const struct tool_input *input;
    ttape_rollup_info info;
    const ttape_rollup_trace *traces;
    uint32_t trace_count;
    struct tool_output out;
    struct tool_json json;
};

static void put_json_trace(struct tool_json *json, const ttape_rollup_trace *trace)
{
    tool_json_begin(json, NULL, '{');
    tool_json_hex(json, "trace_id", trace->id, sizeof trace->id);
    tool_json_string(json, "name", trace->name);
    tool_json_string(json, "host", trace->host);
    tool_json_number(json, "events", trace->event_count);
    tool_json_number(json, "calls", trace->call_count);
    tool_json_number(json, "lost_events", trace->lost_count);
    tool_json_number(json, "partitions", trace->partition_count);
    tool_json_number(json, "damaged_partitions", trace->damaged_count);
    tool_json_bool(json, "growing", trace->is_growing);
    tool_json_bool(json, "truncated", trace->is_truncated);
    tool_json_begin(json, "covered", '[');
    for (uint32_t i = 0; i < trace->range_count; i++) {
        tool_json_begin(json, NULL, '{');
        tool_json_number(json, "first", trace->ranges[i].first);
        tool_json_number(json, "count", trace->ranges[i].count);
        tool_json_end(json, '}');
    }
    tool_json_end(json, ']');
    tool_json_end(json, '}');
}

static void put_json(struct showing *show)
{
    struct tool_json *json = &show->json;
    tool_json_open(json, &show->out);
    tool_json_begin(json, NULL, '{');
    tool_json_text(json, "file", show->input->name);
    tool_json_number(json, "file_bytes", show->input->source.size_bytes);
    tool_json_text(json, "kind", "rollup");
    tool_json_text(json, "by", kinds[show->info.by]);
    tool_json_number(json, "functions", show->info.function_count);
    tool_json_number(json, "rows", show->info.row_count);
    tool_json_bool(json, "counts_by_size", show->info.has_counts);
    tool_json_bool(json, "histograms", show->info.has_histograms);
    tool_json_number(json, "longest_calls", show->info.longest);
    tool_json_number(json, "events", show->info.report.event_count);
    tool_json_number(json, "calls", show->info.report.call_count);
    tool_json_begin(json, "traces", '[');
    for (uint32_t i = 0; i < show->trace_count; i++)
        put_json_trace(json, &show->traces[i]);
    tool_json_end(json, ']');
    tool_json_end(json, '}');
}

static void put_trace(struct tool_output *out, const ttape_rollup_trace *trace)
{
    uint64_t covered = 0;
    for (uint32_t i = 0; i < trace->range_count; i++)
        covered += trace->ranges[i].count;
    for (size_t i = 0; i < sizeof trace->id; i++)
        tool_output_printf(out, "%02x", trace->id[i]);
    tool_output_printf(out, "  %" PRIu64 " of %" PRIu32 " partitions, %" PRIu64 " events  ",
                       covered, trace->partition_count, trace->event_count);
    tool_output_escaped(out, TTP_ESCAPE_TERMINAL, trace->name);
    if (trace->host.size_bytes > 0) {
        tool_output_text(out, " of ");
        tool_output_escaped(out, TTP_ESCAPE_TERMINAL, trace->host);
    }
    if (trace->damaged_count > 0)
        tool_output_printf(out, ", %" PRIu64 " partitions damaged", trace->damaged_count);
    tool_output_printf(out, "%s%s\n", trace->is_growing ? ", still written" : "",
                       trace->is_truncated ? ", truncated" : "");
}

static void put_text(struct showing *show)
{
    const ttape_rollup_info *info = &show->info;
    struct tool_output *out = &show->out;
    tool_output_printf(out,
                       "rollup of %" PRIu32 " trace%s: %" PRIu64 " events, %" PRIu64
                       " calls; %" PRIu32 " rows by %s",
                       show->trace_count, show->trace_count == 1 ? "" : "s",
                       info->report.event_count, info->report.call_count, info->row_count,
                       kinds[info->by]);
    tool_output_printf(out, "%s%s, %" PRIu64 " bytes\n\n",
                       info->has_counts || info->has_histograms ? ", durations" : "",
                       info->longest > 0 ? ", longest calls" : "", show->input->source.size_bytes);
    for (uint32_t i = 0; i < show->trace_count; i++)
        put_trace(out, &show->traces[i]);
}

static int show_rollup(const struct tool_input *input, ttape_rollup *rollup, bool json)
{
    struct showing show = {.input = input};
    ttape_rollup_get_info(rollup, &show.info);
    show.traces = ttape_rollup_get_traces(rollup, &show.trace_count);
    if (show.traces == NULL)
        return tool_fail("there is not enough memory for '%s'", input->name);
    tool_output_open(&show.out, STDOUT_FILENO);
    if (json)
        put_json(&show);
    else
        put_text(&show);
    return tool_output_close(&show.out);
}

int tool_info_print_rollup(const char *path, bool json, uint64_t memory_bytes)
{
    const ttape_rollup_options how = {
        .size = sizeof(how), .takes_any = true, .memory_bytes = memory_bytes};
    struct tool_input input;
    ttape_error err = {0};
    ttape_rollup *rollup = NULL;
    int status = tool_input_open(&input, path);
    if (status == TOOL_OK && (ttape_rollup_open(&rollup, &how, &err) != TTAPE_OK ||
                              ttape_rollup_add_file(rollup, &input.source, &err) != TTAPE_OK))
        status = tool_fail_error(input.name, &err);
    if (status == TOOL_OK)
        status = show_rollup(&input, rollup, json);
    ttape_rollup_close(rollup);
    tool_input_close(&input);
    return status;
}

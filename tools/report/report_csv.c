/* A report as CSV: a line of names, then a line for each row, in the order of the table. Times are
 * nanoseconds; what is not known is empty. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/command/tool.h"
#include "tools/report/report_columns.h"

#define CALLER_SIGNAL "(signal)"

static void put_head(struct tool_output *out, const enum tool_report_column *ids, size_t count)
{
    for (size_t i = 0; i < count; i++)
        tool_output_printf(out, "%s%s%s", i > 0 ? "," : "", tool_report_titles[ids[i]].key,
                           tool_report_titles[ids[i]].is_time ? "_ns" : "");
    tool_output_text(out, "\n");
}

static void put_text(struct tool_output *out, const char *text)
{
    tool_output_csv(out, (ttape_string){text, strlen(text)});
}

static void put_time(struct tool_output *out, bool is_known, int64_t time_ns)
{
    if (is_known)
        tool_output_printf(out, "%" PRId64, time_ns);
}

static void put_real(struct tool_output *out, bool is_known, double time_ns)
{
    if (is_known)
        tool_output_printf(out, "%.1f", time_ns);
}

static void put_share(const struct tool_report *view, struct tool_output *out, int64_t part_ns)
{
    int64_t all_ns = tool_report_all_on_cpu(view);
    if (all_ns > 0)
        tool_output_printf(out, "%.2f", 100.0 * (double)part_ns / (double)all_ns);
}

static void put_number(struct tool_output *out, uint64_t number)
{
    tool_output_printf(out, "%" PRIu64, number);
}

static void put_id(const struct tool_report *view, struct tool_output *out,
                   const ttape_report_row *row, enum tool_report_column id)
{
    ttape_stream_info stream = {0};
    ttape_process process = {0};
    if (id == TID)
        (void)ttape_reader_get_stream(view->reader, row->stream, &stream);
    else
        (void)ttape_reader_get_process(view->reader, row->process, &process);
    put_number(out, id == TID ? stream.stream.tid : process.pid);
}

static void put_origin(const struct tool_report *view, struct tool_output *out,
                       const ttape_report_row *row, enum tool_report_column id)
{
    char text[TOOL_REPORT_ORIGIN_BYTES];
    size_t size = tool_report_origin(view, row, id, text);
    tool_output_csv(out, (ttape_string){text, size});
}

static void put_caller(struct tool_report *view, struct tool_output *out, uint32_t caller)
{
    if (caller == TTAPE_REPORT_SIGNAL)
        put_text(out, CALLER_SIGNAL);
    else if (caller != TTAPE_NONE)
        put_text(out, tool_site_name(&view->names, caller));
}

static void put_from(const struct tool_report *view, struct tool_output *out, uint32_t place)
{
    struct tool_output text;
    if (place == TTAPE_NONE)
        return;
    tool_output_open(&text, -1);
    tool_report_from(view, place, &text);
    tool_output_csv(out, (ttape_string){text.data, text.size_bytes});
    free(text.data);
}

static void put_cell(struct tool_report *view, struct tool_output *out,
                     const struct tool_report_row *shown, enum tool_report_column id)
{
    const ttape_report_row *row = &shown->row;
    bool ended = row->exit_count > 0, knows_off = row->unknown_ns == 0;
    double mean_ns = row->decoded ? shown->mean_ns : row->mean_ns; /* no bounds */
    double deviation_ns = row->decoded ? shown->deviation_ns : row->deviation_ns;
    switch (id) {
    case TOTAL: put_time(out, true, row->total_ns); break;
    case SELF: put_time(out, true, row->self_ns); break;
    case OFF: put_time(out, knows_off, row->preempted_ns + row->blocked_ns); break;
    case SHARE: put_share(view, out, shown->on_cpu_ns); break;
    case CALLS: put_number(out, row->call_count); break;
    case MEAN: put_real(out, row->call_count > 0 || ended, mean_ns); break;
    case SELF_MEAN:
        put_real(out, row->call_count > 0, (double)row->self_ns / (double)row->call_count);
        break;
    case SELF_MIN: put_time(out, ended, row->self_min_ns); break;
    case SELF_MAX: put_time(out, ended, row->self_max_ns); break;
    case MIN: put_time(out, ended, row->min_ns); break;
    case MAX: put_time(out, ended, row->max_ns); break;
    case DEVIATION: put_real(out, ended, deviation_ns); break;
    case P50: put_time(out, shown->has_percentiles, shown->percentiles[0]); break;
    case P90: put_time(out, shown->has_percentiles, shown->percentiles[1]); break;
    case P99: put_time(out, shown->has_percentiles, shown->percentiles[3]); break;
    case IDLE: put_time(out, row->idle_known, row->idle_ns); break;
    case SPAN: put_time(out, true, row->span_ns); break;
    case EVENTS: put_number(out, row->event_count); break;
    case PID:
    case TID: put_id(view, out, row, id); break;
    case HOST: tool_output_csv(out, shown->function->module_path); break; /* R-FUN-05 */
    case TRACE: tool_output_csv(out, shown->function->file); break;
    case FROM: put_from(view, out, row->caller); break;
    case CALLER: put_caller(view, out, row->caller); break;
    case CALL: put_text(out, shown->id); break;
    case ROLE: put_text(out, tool_role_names[shown->role]); break;
    case MODULE:
    case SOURCE: put_origin(view, out, row, id); break;
    default: put_text(out, tool_report_name(view, shown));
    }
}

int tool_report_csv(struct tool_report *view, struct tool_output *out)
{
    enum tool_report_column ids[TOOL_REPORT_COLUMNS];
    size_t count;
    int status = tool_report_columns(view, ids, &count);
    if (status != TOOL_OK)
        return status;
    if (view->columns == NULL && view->row_count > 0 && view->rows[0].role != TOOL_ROLE_NONE)
        ids[count++] = ROLE;
    put_head(out, ids, count);
    for (size_t i = 0; i < view->row_count; i++)
        for (size_t k = 0; k < count; k++) {
            put_cell(view, out, &view->rows[i], ids[k]);
            tool_output_text(out, k + 1 < count ? "," : "\n");
        }
    return TOOL_OK;
}

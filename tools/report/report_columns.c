/* Which columns a report has depends on what it knows, and on what is asked for. */
#include "tools/report/report_columns.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "tools/command/tool.h"
#include "tools/values/call_site.h"

#define PATH_MOST 4096u

const struct tool_report_title tool_report_titles[TOOL_REPORT_COLUMNS] = {
    [TOTAL] = {"total", "TOTAL", .is_time = true, .rank = 0},
    [SELF] = {"self", "SELF", .is_time = true, .rank = 0},
    [OFF] = {"off-cpu", "OFF CPU", .is_time = true, .rank = 1},
    [SHARE] = {"share", "SELF %", .rank = 2},
    [CALLS] = {"calls", "CALLS", .rank = 0},
    [MEAN] = {"mean", "MEAN", .is_time = true, .rank = 4},
    [MIN] = {"min", "MIN", .is_time = true, .rank = 7},
    [MAX] = {"max", "MAX", .is_time = true, .rank = 6},
    [DEVIATION] = {"deviation", "DEVIATION", .is_time = true, .rank = 8},
    [P50] = {"p50", "P50", .is_time = true, .rank = 5},
    [P90] = {"p90", "P90", .is_time = true, .rank = 9},
    [P99] = {"p99", "P99", .is_time = true, .rank = 5},
    [IDLE] = {"idle", "IDLE", .is_time = true, .rank = 3},
    [SPAN] = {"span", "SPAN", .is_time = true, .rank = 2},
    [EVENTS] = {"events", "EVENTS", .rank = 4},
    [PID] = {"pid", "PID", .rank = 0},
    [TID] = {"tid", "TID", .rank = 0},
    [HOST] = {"host", "HOST", .is_text = true, .rank = 1},
    [TRACE] = {"trace", "TRACE", .is_text = true, .rank = 2},
    [CALLER] = {"caller", "CALLER", .is_text = true},
    [FROM] = {"from", "FROM", .is_text = true},
    [CALL] = {"call", "CALL", .is_text = true},
    [SELF_MEAN] = {"self-mean", "SELF MEAN", .is_time = true, .rank = 0},
    [SELF_MIN] = {"self-min", "SELF MIN", .is_time = true, .rank = 0},
    [SELF_MAX] = {"self-max", "SELF MAX", .is_time = true, .rank = 0},
    [MODULE] = {"module", "MODULE", .is_text = true},
    [SOURCE] = {"source", "SOURCE", .is_text = true},
    [ROLE] = {"role", "ROLE", .is_text = true},
    [NAME] = {"name", "FUNCTION", .is_text = true},
};

static bool has_column(const struct tool_report *view, enum tool_report_column id)
{
    bool times = view->has_times, is_one = view->many == TOOL_MANY_NONE;
    bool thread = view->by == TTAPE_REPORT_BY_THREAD || view->by == TTAPE_REPORT_BY_PROCESS;
    switch (id) {
    case TOTAL: return times && !thread;
    case SELF:
    case SHARE: return times;
    case SPAN: return times && thread && view->many != TOOL_MANY_BUILD;
    case EVENTS: return thread && view->many != TOOL_MANY_BUILD;
    case PID: return thread && is_one;
    case OFF: return times && view->info.idle_source == TTAPE_IDLE_SWITCHES && is_one;
    case SELF_MEAN:
    case MEAN:
    case MIN:
    case MAX:
    case DEVIATION: return times && !thread;
    case SELF_MIN:
    case SELF_MAX: return times && view->rollup == NULL && !thread;
    case P50:
    case P90:
    case P99: return times && view->has_percentiles && !thread;
    case IDLE: return times && view->info.has_idle && is_one;
    case TID: return view->by == TTAPE_REPORT_BY_THREAD;
    case HOST:
    case TRACE: return thread && is_one && view->rollup != NULL;
    case CALLER: return view->by == TTAPE_REPORT_BY_CALL;
    case FROM: return view->by == TTAPE_REPORT_BY_SITE;
    case CALL: return view->has_ids;
    case MODULE:
    case SOURCE: return view->rollup == NULL && !thread;
    case ROLE: return view->row_count > 0 && view->rows[0].role != TOOL_ROLE_NONE;
    default: return true;
    }
}

static enum tool_report_column find_column(const char *text, size_t size)
{
    enum tool_report_column id = 0;
    while (id < TOOL_REPORT_COLUMNS && (strlen(tool_report_titles[id].key) != size ||
                                        memcmp(tool_report_titles[id].key, text, size) != 0))
        id++;
    return id;
}

bool tool_report_are_columns(const char *text)
{
    uint32_t seen = 0;
    for (const char *at = text;; at++) {
        size_t size = strcspn(at, ",");
        enum tool_report_column id = find_column(at, size);
        if (id == TOOL_REPORT_COLUMNS || (seen >> id & 1) != 0) {
            tool_message(id == TOOL_REPORT_COLUMNS ? "report has no column '%.*s'"
                                                   : "the column '%.*s' is asked for twice",
                         (int)size, at);
            return false;
        }
        seen |= UINT32_C(1) << id;
        at += size;
        if (*at == '\0')
            return true;
    }
}

static int take_columns(const struct tool_report *view, enum tool_report_column *ids, size_t *count)
{
    for (const char *at = view->columns;; at++) {
        size_t size = strcspn(at, ",");
        enum tool_report_column id = find_column(at, size);
        if (!has_column(view, id))
            return tool_usage("report", "this report has no column '%s'%s",
                              tool_report_titles[id].key,
                              id >= P50 && id <= P99 ? ": --exact or --histogram adds it"
                              : id == CALL           ? ": --ids adds it"
                              : id == SELF_MIN || id == SELF_MAX
                                  ? ": a trace has it that is reported alone, by functions"
                                  : "");
        ids[(*count)++] = id;
        at += size;
        if (*at == '\0')
            return TOOL_OK;
    }
}

bool tool_report_is_sorted_by(const struct tool_report *view, enum tool_report_column id)
{
    if (view->sort == NULL)
        return false;
    size_t size = strcspn(view->sort, ",");
    const char *key = id == SHARE ? "on-cpu" : tool_report_titles[id].key;
    return strlen(key) == size && memcmp(key, view->sort, size) == 0;
}

int tool_report_columns(const struct tool_report *view,
                        enum tool_report_column ids[TOOL_REPORT_COLUMNS], size_t *count)
{
    *count = 0;
    if (view->columns != NULL)
        return take_columns(view, ids, count);
    for (enum tool_report_column id = 0; id < TOOL_REPORT_COLUMNS; id++)
        if (has_column(view, id) &&
            (id < SELF_MEAN || id == NAME || tool_report_is_sorted_by(view, id)))
            ids[(*count)++] = id;
    return TOOL_OK;
}

void tool_report_from(const struct tool_report *view, uint32_t place, struct tool_output *text)
{
    ttape_site site = {0};
    if (ttape_reader_get_site(view->reader, place, &site) != TTAPE_OK) {
        tool_output_text(text, "(not recorded)");
        return;
    }
    tool_put_call_site(text, view->reader, place);
    if (site.line == 0 || site.file.size_bytes == 0 || site.symbol.size_bytes == 0)
        return;
    tool_output_text(text, " "); /* a line may have several calls; in builds their bytes differ */
    tool_output_escaped(text, TTP_ESCAPE_TEXT,
                        view->rollup != NULL ? ttp_text_without_offset(site.symbol) : site.symbol);
}

size_t tool_report_origin(const struct tool_report *view, const ttape_report_row *row,
                          enum tool_report_column id, char *text)
{
    ttape_site site = {0};
    ttape_module module = {0};
    if (id == MODULE)
        (void)ttape_reader_get_module(view->reader, row->module, &module);
    else
        (void)ttape_reader_get_site(view->reader, row->site, &site);
    ttape_string path = id == MODULE ? module.path : site.file;
    size_t size = path.size_bytes < PATH_MOST ? path.size_bytes : PATH_MOST;
    memcpy(text, size > 0 ? path.data : "", size);
    if (id == SOURCE && site.line > 0)
        size +=
            (size_t)snprintf(text + size, TOOL_REPORT_ORIGIN_BYTES - size, ":%" PRIu32, site.line);
    return size;
}

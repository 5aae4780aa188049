/* Rows of reports: names, filters, orders. */
#include <inttypes.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/command/escape.h"
#include "tools/command/tool.h"
#include "tools/report/report_view.h"

const double tool_percentiles[TOOL_PERCENTILES] = {0.5, 0.9, 0.95, 0.99};
const char *const tool_percentile_names[TOOL_PERCENTILES] = {"p50", "p90", "p95", "p99"};
const char *const tool_report_by_names[TTAPE_REPORT_BY_COUNT] = {
    "function", "name", "module", "file", "thread", "process", "call", "group"};

void tool_report_add(struct tool_report *view, const ttape_report *report, const char *group,
                     const char *role)
{
    uint32_t count = 0;
    const ttape_report_row *rows = ttape_report_get_rows(report, &count);
    ttape_report_get_info(report, &view->info);
    view->has_times = view->has_times || view->info.has_times;
    for (uint32_t i = 0; i < count; i++) {
        tool_grow((void **)&view->rows, &view->row_capacity, view->row_count + 1,
                  sizeof(*view->rows));
        struct tool_report_row *row = &view->rows[view->row_count++];
        *row = (struct tool_report_row){.row = rows[i], .group = group, .role = role};
        for (size_t p = 0; p < TOOL_PERCENTILES; p++) {
            row->has_percentiles = ttape_report_get_percentile(report, i, tool_percentiles[p],
                                                               &row->percentiles[p]) == TTAPE_OK;
        }
        view->has_percentiles = view->has_percentiles || row->has_percentiles;
    }
}

/* ---- names ---- */

#define NAME_BYTES 4096u

static const char *escaped(ttape_string text, const char *missing)
{
    static char name[NAME_BYTES + 1];
    size_t most = NAME_BYTES / TOOL_ESCAPE_MAX;
    if (text.size_bytes == 0)
        return missing;
    name[tool_escape(name, TOOL_ESCAPE_TERMINAL, text.data,
                     text.size_bytes < most ? text.size_bytes : most)] = '\0';
    return name;
}

static const char *thread_name(const struct tool_report *view, const ttape_report_row *row)
{
    ttape_stream_info stream;
    ttape_process process;
    if (row->stream != TTAPE_NONE &&
        ttape_reader_get_stream(view->reader, row->stream, &stream) == TTAPE_OK &&
        stream.stream.name.size_bytes > 0)
        return escaped(stream.stream.name, "");
    if (ttape_reader_get_process(view->reader, row->process, &process) != TTAPE_OK)
        return "(unknown)";
    return escaped(process.name, "(no name)");
}

const char *tool_report_name(struct tool_report *view, const struct tool_report_row *row)
{
    ttape_site site;
    ttape_module module;
    switch (view->by) {
    case TTAPE_REPORT_BY_MODULE:
        return ttape_reader_get_module(view->reader, row->row.module, &module) == TTAPE_OK
                   ? escaped(module.path, "(no path)")
                   : "(no module)";
    case TTAPE_REPORT_BY_FILE:
        return ttape_reader_get_site(view->reader, row->row.site, &site) == TTAPE_OK
                   ? escaped(site.file, "(no file)")
                   : "(no file)";
    case TTAPE_REPORT_BY_THREAD:
    case TTAPE_REPORT_BY_PROCESS: return thread_name(view, &row->row);
    case TTAPE_REPORT_BY_GROUP: return row->group;
    default: return tool_site_name(&view->names, row->row.site);
    }
}

/* ---- filters ---- */

int tool_report_filter(struct tool_report *view, const char *expression)
{
    regex_t regex;
    size_t kept = 0;
    if (regcomp(&regex, expression, REG_EXTENDED | REG_NOSUB) != 0)
        return tool_usage("report", "cannot use '%s' as a regular expression", expression);
    for (size_t i = 0; i < view->row_count; i++)
        if (regexec(&regex, tool_report_name(view, &view->rows[i]), 0, NULL, 0) == 0)
            view->rows[kept++] = view->rows[i];
    regfree(&regex);
    view->hidden_count += view->row_count - kept;
    view->row_count = kept;
    return TOOL_OK;
}

/* ---- order ---- */

static int compare_signed(int64_t a, int64_t b) { return (a < b) - (a > b); }
static int compare_unsigned(uint64_t a, uint64_t b) { return (a < b) - (a > b); }
static int compare_real(double a, double b) { return (a < b) - (a > b); }

/* The largest first. */
static int by_total(const struct tool_report_row *a, const struct tool_report_row *b)
{
    return compare_signed(a->row.total_ns, b->row.total_ns);
}
static int by_self(const struct tool_report_row *a, const struct tool_report_row *b)
{
    return compare_signed(a->row.self_ns, b->row.self_ns);
}
static int by_calls(const struct tool_report_row *a, const struct tool_report_row *b)
{
    return compare_unsigned(a->row.call_count, b->row.call_count);
}
static int by_mean(const struct tool_report_row *a, const struct tool_report_row *b)
{
    return compare_real(a->row.mean_ns, b->row.mean_ns);
}
static int by_min(const struct tool_report_row *a, const struct tool_report_row *b)
{
    return compare_signed(a->row.min_ns, b->row.min_ns);
}
static int by_max(const struct tool_report_row *a, const struct tool_report_row *b)
{
    return compare_signed(a->row.max_ns, b->row.max_ns);
}
static int by_deviation(const struct tool_report_row *a, const struct tool_report_row *b)
{
    return a->row.decoded && b->row.decoded
               ? compare_real(a->row.duration_deviation_ns, b->row.duration_deviation_ns)
               : compare_real(a->row.deviation_ns, b->row.deviation_ns);
}
static int by_idle(const struct tool_report_row *a, const struct tool_report_row *b)
{
    return compare_signed(a->row.idle_ns, b->row.idle_ns);
}
static int by_span(const struct tool_report_row *a, const struct tool_report_row *b)
{
    return compare_signed(a->row.span_ns, b->row.span_ns);
}
static int by_p50(const struct tool_report_row *a, const struct tool_report_row *b)
{
    return compare_signed(a->percentiles[0], b->percentiles[0]);
}
static int by_p90(const struct tool_report_row *a, const struct tool_report_row *b)
{
    return compare_signed(a->percentiles[1], b->percentiles[1]);
}
static int by_p95(const struct tool_report_row *a, const struct tool_report_row *b)
{
    return compare_signed(a->percentiles[2], b->percentiles[2]);
}
static int by_p99(const struct tool_report_row *a, const struct tool_report_row *b)
{
    return compare_signed(a->percentiles[3], b->percentiles[3]);
}

static struct tool_report *sorted; /* qsort has no context */

static int by_name(const struct tool_report_row *a, const struct tool_report_row *b)
{
    char first[NAME_BYTES + 1]; /* the second name may be made where the first one stands */
    snprintf(first, sizeof(first), "%s", tool_report_name(sorted, a));
    return strcmp(first, tool_report_name(sorted, b));
}

typedef int (*row_comparison)(const struct tool_report_row *a, const struct tool_report_row *b);

static const struct {
    const char *name;
    row_comparison compare;
} keys[] = {
    {"total", by_total},
    {"self", by_self},
    {"calls", by_calls},
    {"mean", by_mean},
    {"min", by_min},
    {"max", by_max},
    {"deviation", by_deviation},
    {"idle", by_idle},
    {"span", by_span},
    {"name", by_name},
    {"p50", by_p50},
    {"p90", by_p90},
    {"p95", by_p95},
    {"p99", by_p99},
};
#define KEY_COUNT  (sizeof(keys) / sizeof(keys[0]))
#define ORDER_MOST 16u

static row_comparison order[ORDER_MOST];
static size_t order_count;

static int parse_order(const char *text)
{
    order_count = 0;
    while (order_count < ORDER_MOST) {
        size_t length = strcspn(text, ","), key = 0;
        while (key < KEY_COUNT &&
               (strlen(keys[key].name) != length || memcmp(keys[key].name, text, length) != 0))
            key++;
        if (key == KEY_COUNT)
            return tool_usage("report", "unknown key '%.*s' of --sort", (int)length, text);
        order[order_count++] = keys[key].compare;
        if (text[length] == '\0')
            return TOOL_OK;
        text += length + 1;
    }
    return tool_usage("report", "too many keys of --sort");
}

/* Callers come before the function, callees behind it. */
static unsigned role_of(const struct tool_report_row *row)
{
    return row->role == NULL                  ? 0
           : strcmp(row->role, "caller") == 0 ? 0
           : row->role[0] == 'f'              ? 1
                                              : 2;
}

static int compare_rows(const void *one, const void *two)
{
    const struct tool_report_row *a = one, *b = two;
    if (role_of(a) != role_of(b))
        return role_of(a) < role_of(b) ? -1 : 1;
    for (size_t i = 0; i < order_count; i++) {
        int result = order[i](a, b);
        if (result != 0)
            return sorted->reverse ? -result : result;
    }
    /* Numbers of the file decide the rest. */
    if (a->row.site != b->row.site)
        return a->row.site < b->row.site ? -1 : 1;
    if (a->row.caller != b->row.caller)
        return a->row.caller < b->row.caller ? -1 : 1;
    return a->row.stream != b->row.stream
               ? (a->row.stream < b->row.stream ? -1 : 1)
               : (a->row.process > b->row.process) - (a->row.process < b->row.process);
}

static int compare_names(const void *one, const void *two)
{
    const struct tool_report_row *const *a = one, *const *b = two;
    return strcmp(tool_site_name(&sorted->names, (*a)->row.site),
                  tool_site_name(&sorted->names, (*b)->row.site));
}

/* Functions of one name are told apart by their places. */
static void mark_namesakes(struct tool_report *view)
{
    if (view->by != TTAPE_REPORT_BY_FUNCTION || view->row_count < 2)
        return;
    struct tool_report_row **rows =
        tool_allocate(view->row_count, sizeof(struct tool_report_row *));
    for (size_t i = 0; i < view->row_count; i++)
        rows[i] = &view->rows[i];
    qsort(rows, view->row_count, sizeof(struct tool_report_row *), compare_names);
    for (size_t i = 1; i < view->row_count; i++)
        if (compare_names(&rows[i - 1], &rows[i]) == 0)
            rows[i - 1]->is_namesake = rows[i]->is_namesake = true;
    free(rows);
}

int tool_report_sort(struct tool_report *view)
{
    const char *usual = !view->has_times ? "calls,name"
                        : view->by == TTAPE_REPORT_BY_THREAD || view->by == TTAPE_REPORT_BY_PROCESS
                            ? "self,calls"
                            : "total,self,calls";
    int status = parse_order(view->sort != NULL ? view->sort : usual);
    if (status != TOOL_OK)
        return status;
    sorted = view;
    if (view->row_count > 0)
        qsort(view->rows, view->row_count, sizeof(*view->rows), compare_rows);
    mark_namesakes(view);
    if (view->row_count > view->limit) {
        view->hidden_count += view->row_count - (size_t)view->limit;
        view->row_count = (size_t)view->limit;
    }
    return TOOL_OK;
}

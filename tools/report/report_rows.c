/* Rows of reports: names, filters, orders. */
#define _GNU_SOURCE /* qsort_r */
#include <math.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "tools/calls/losses.h"
#include "tools/command/tool.h"
#include "tools/report/report_view.h"

const double tool_percentiles[TOOL_PERCENTILES] = {0.5, 0.9, 0.95, 0.99};
const char *const tool_percentile_names[TOOL_PERCENTILES] = {"p50", "p90", "p95", "p99"};
const char *const tool_role_names[] = {NULL, "caller", "function", "callee"};
const char *const tool_report_by_names[TTAPE_REPORT_BY_COUNT] = {
    "function", "name", "module", "file", "thread", "process", "call", "group", "site"};
const char *const tool_report_many_names[TOOL_MANY_BUILD + 1] = {"", "trace", "host", "build"};

#define ROUNDED 1e-9 /* of sums */

static void add_histogram(struct tool_report *view, const ttape_report *report, uint32_t number,
                          struct tool_report_row *row)
{
    ttape_report_bucket buckets[TTAPE_REPORT_BUCKETS];
    if (ttape_report_get_histogram(report, number, buckets, TTAPE_REPORT_BUCKETS,
                                   &row->bucket_count) != TTAPE_OK)
        return;
    view->is_estimate = true;
    row->first_bucket = view->bucket_count;
    view->bucket_count += row->bucket_count;
    tool_grow((void **)&view->buckets, &view->bucket_capacity, view->bucket_count,
              sizeof(*view->buckets));
    memcpy(&view->buckets[row->first_bucket], buckets, row->bucket_count * sizeof(*view->buckets));
}

void tool_report_count_wait(struct tool_report *view, const ttape_report_row *row)
{
    bool counts = view->by == TTAPE_REPORT_BY_FUNCTION || view->by == TTAPE_REPORT_BY_NAME;
    if (!counts || !tool_site_is_recorder(view->reader, row->site))
        return;
    view->recorder_ns += row->total_ns;
    if (view->info.idle_source == TTAPE_IDLE_SWITCHES)
        view->recorder_idle_ns += row->blocked_ns;
}

/* Durations add up to their squares by the largest at least: where the total is less, it lacks
 * calls within calls, or what other stacks did meanwhile. */
void tool_report_measure(const struct tool_report *view, struct tool_report_row *shown)
{
    const ttape_report_row *row = &shown->row;
    bool is_whole = row->exit_count != 0 && !view->selection->has_range;
    shown->mean_ns = is_whole && row->decoded ? row->duration_mean_ns : row->mean_ns;
    shown->deviation_ns = row->decoded ? row->duration_deviation_ns : row->deviation_ns;
    if (!is_whole || row->decoded || row->max_ns <= 0)
        return;
    double least_ns = row->sum_of_squares / (double)row->max_ns;
    shown->is_recursive = least_ns > (double)row->total_ns * (1 + ROUNDED);
    if (!shown->is_recursive)
        return;
    double mean_ns = least_ns / (double)row->exit_count;
    mean_ns = mean_ns > row->mean_ns ? mean_ns : row->mean_ns;
    double square = row->sum_of_squares / (double)row->exit_count - mean_ns * mean_ns;
    shown->mean_ns = mean_ns;
    shown->deviation_ns = square > 0 ? sqrt(square) : 0;
}

void tool_report_add(struct tool_report *view, const ttape_report *report, const char *group,
                     enum tool_report_role role)
{
    uint32_t count = 0;
    const ttape_report_row *rows = ttape_report_get_rows(report, &count);
    ttape_report_get_info(report, &view->info);
    view->has_times = view->has_times || view->info.has_times;
    for (uint32_t i = 0; i < count; i++) {
        tool_grow((void **)&view->rows, &view->row_capacity, view->row_count + 1,
                  sizeof(*view->rows));
        struct tool_report_row *row = &view->rows[view->row_count++];
        *row = (struct tool_report_row){.row = rows[i],
                                        .group = group,
                                        .role = role,
                                        .on_cpu_ns = tool_report_on_cpu(view, &rows[i])};
        tool_report_measure(view, row);
        for (size_t p = 0; p < TOOL_PERCENTILES; p++) {
            row->has_percentiles = ttape_report_get_percentile(report, i, tool_percentiles[p],
                                                               &row->percentiles[p]) == TTAPE_OK;
        }
        view->has_percentiles = view->has_percentiles || row->has_percentiles;
        add_histogram(view, report, i, row);
        if (role == TOOL_ROLE_NONE)
            tool_report_count_wait(view, &rows[i]);
    }
}

/* ---- names ---- */

static const char *escaped(struct tool_report *view, ttape_string text, const char *missing)
{
    size_t most = TOOL_REPORT_NAME_BYTES / TTP_ESCAPE_MAX;
    if (text.size_bytes == 0)
        return missing;
    view->name[ttp_escape(view->name, TTP_ESCAPE_TERMINAL, text.data,
                          text.size_bytes < most ? text.size_bytes : most)] = '\0';
    return view->name;
}

static const char *thread_name(struct tool_report *view, const ttape_report_row *row)
{
    ttape_stream_info stream;
    ttape_process process;
    if (row->stream != TTAPE_NONE &&
        ttape_reader_get_stream(view->reader, row->stream, &stream) == TTAPE_OK &&
        stream.stream.name.size_bytes > 0)
        return escaped(view, stream.stream.name, "");
    if (ttape_reader_get_process(view->reader, row->process, &process) != TTAPE_OK)
        return "(unknown)";
    return escaped(view, process.name, "(no name)");
}

bool tool_report_is_hook(const struct tool_report *view, const ttape_report_row *row)
{
    bool is_function = view->by == TTAPE_REPORT_BY_FUNCTION || view->by == TTAPE_REPORT_BY_NAME;
    return is_function && tool_is_mostly_hook(&view->hook, row->call_count,
                                              row->self_ns - row->preempted_ns - row->blocked_ns);
}

bool tool_report_knows_cpu(const struct tool_report *view)
{
    return view->info.idle_source == TTAPE_IDLE_SWITCHES && view->many != TOOL_MANY_TRACE &&
           view->many != TOOL_MANY_HOST;
}

int64_t tool_report_on_cpu(const struct tool_report *view, const ttape_report_row *row)
{
    int64_t off_ns = tool_report_knows_cpu(view) ? row->preempted_ns + row->blocked_ns : 0;
    return row->self_ns - off_ns;
}

int64_t tool_report_all_on_cpu(const struct tool_report *view)
{
    const ttape_report_info *info = &view->info;
    int64_t off_ns = tool_report_knows_cpu(view) ? info->preempted_ns + info->blocked_ns : 0;
    return info->span_ns - off_ns;
}

const char *tool_report_name(struct tool_report *view, const struct tool_report_row *row)
{
    ttape_site site;
    ttape_module module;
    switch (view->by) {
    case TTAPE_REPORT_BY_MODULE:
        return ttape_reader_get_module(view->reader, row->row.module, &module) == TTAPE_OK
                   ? escaped(view, module.path, "(no path)")
                   : "(no module)";
    case TTAPE_REPORT_BY_FILE:
        return ttape_reader_get_site(view->reader, row->row.site, &site) == TTAPE_OK
                   ? escaped(view, site.file, "(no file)")
                   : "(no file)";
    case TTAPE_REPORT_BY_THREAD:
    case TTAPE_REPORT_BY_PROCESS: return thread_name(view, &row->row);
    case TTAPE_REPORT_BY_GROUP: return row->group;
    default: return tool_site_name(&view->names, row->row.site);
    }
}

/* ---- filters ---- */

static bool is_wanted(struct tool_report *view, const struct tool_report_row *row,
                      const regex_t *regex)
{
    if (view->by == TTAPE_REPORT_BY_FUNCTION || view->by == TTAPE_REPORT_BY_NAME ||
        view->by == TTAPE_REPORT_BY_CALL || view->by == TTAPE_REPORT_BY_SITE)
        return tool_site_matches(&view->names, row->row.site, regex);
    return regexec(regex, tool_report_name(view, row), 0, NULL, 0) == 0;
}

int tool_report_filter(struct tool_report *view, const char *expression)
{
    regex_t regex;
    size_t kept = 0;
    if (regcomp(&regex, expression, REG_EXTENDED | REG_NOSUB) != 0)
        return tool_usage("report", "cannot use '%s' as a regular expression", expression);
    for (size_t i = 0; i < view->row_count; i++)
        if (is_wanted(view, &view->rows[i], &regex))
            view->rows[kept++] = view->rows[i];
    regfree(&regex);
    if (kept == 0 && view->row_count > 0)
        return tool_no_match(view->reader, expression);
    view->row_count = kept;
    return TOOL_OK;
}

/* ---- order ---- */

enum key_kind { KEY_SIGNED, KEY_UNSIGNED, KEY_REAL, KEY_NAME };

struct key {
    const char *name;
    enum key_kind kind;
    size_t at; /* offset of a number in the row: the largest comes first */
};

#define KEY(name, field)                                                                           \
    {                                                                                              \
        name,                                                                                      \
            _Generic(((struct tool_report_row *)0)->field, int64_t                                 \
                     : KEY_SIGNED, uint64_t                                                        \
                     : KEY_UNSIGNED, double                                                        \
                     : KEY_REAL),                                                                  \
            offsetof(struct tool_report_row, field)                                                \
    }

static const struct key keys[] = {
    KEY("total", row.total_ns),
    KEY("self", row.self_ns),
    KEY("on-cpu", on_cpu_ns),
    KEY("calls", row.call_count),
    KEY("mean", mean_ns),
    KEY("min", row.min_ns),
    KEY("max", row.max_ns),
    KEY("deviation", deviation_ns),
    KEY("idle", row.idle_ns),
    KEY("span", row.span_ns),
    {"name", KEY_NAME, 0},
    KEY("p50", percentiles[0]),
    KEY("p90", percentiles[1]),
    KEY("p95", percentiles[2]),
    KEY("p99", percentiles[3]),
    KEY("self-min", row.self_min_ns),
    KEY("self-max", row.self_max_ns),
};
#define KEY_COUNT  (sizeof(keys) / sizeof(keys[0]))
#define ORDER_MOST 16u

struct ordering {
    struct tool_report *view;
    const struct key *keys[ORDER_MOST];
    size_t count;
};

static int refuse_key(const char *text, size_t length)
{
    char names[16 * KEY_COUNT], *at = names;
    for (size_t i = 0; i < KEY_COUNT; i++)
        at += snprintf(at, (size_t)(names + sizeof(names) - at), "%s%s", i > 0 ? ", " : "",
                       keys[i].name);
    return tool_usage("report", "unknown key '%.*s' of --sort: it has %s", (int)length, text,
                      names);
}

static void warn_of_switches(const struct tool_report *view, const char *key)
{
    if (strcmp(key, "on-cpu") != 0 || tool_report_knows_cpu(view))
        return;
    if (view->many != TOOL_MANY_NONE)
        tool_message("rows by %s do not say when threads ran: sorted by all of SELF",
                     tool_report_many_names[view->many]);
    else
        tool_message("'%s' does not say when threads ran: sorted by all of SELF",
                     view->input->name);
}

static int parse_order(struct ordering *order, const char *text)
{
    while (order->count < ORDER_MOST) {
        size_t length = strcspn(text, ","), key = 0;
        while (key < KEY_COUNT &&
               (strlen(keys[key].name) != length || memcmp(keys[key].name, text, length) != 0))
            key++;
        if (key == KEY_COUNT)
            return refuse_key(text, length);
        if (order->view->rollup != NULL && strncmp(keys[key].name, "self-", 5) == 0)
            return tool_usage("report", "--sort %s is for one trace", keys[key].name);
        warn_of_switches(order->view, keys[key].name);
        order->keys[order->count++] = &keys[key];
        if (text[length] == '\0')
            return TOOL_OK;
        text += length + 1;
    }
    return tool_usage("report", "too many keys of --sort");
}

#define FALLING(a, b) (((a) < (b)) - ((a) > (b)))

static int compare_texts(struct tool_report *view, const struct tool_report_row *a,
                         const struct tool_report_row *b)
{
    char first[TOOL_REPORT_NAME_BYTES + 1]; /* the second name may be made where the first stands */
    snprintf(first, sizeof(first), "%s", tool_report_name(view, a));
    return strcmp(first, tool_report_name(view, b));
}

static int compare_by(struct tool_report *view, const struct key *key,
                      const struct tool_report_row *a, const struct tool_report_row *b)
{
    const void *one = (const char *)a + key->at, *two = (const char *)b + key->at;
    switch (key->kind) {
    case KEY_SIGNED: return FALLING(*(const int64_t *)one, *(const int64_t *)two);
    case KEY_UNSIGNED: return FALLING(*(const uint64_t *)one, *(const uint64_t *)two);
    case KEY_REAL: return FALLING(*(const double *)one, *(const double *)two);
    default: return compare_texts(view, a, b);
    }
}

static int compare_rows(const void *one, const void *two, void *context)
{
    const struct tool_report_row *a = one, *b = two;
    const struct ordering *order = context;
    if (a->role != b->role)
        return a->role < b->role ? -1 : 1;
    for (size_t i = 0; i < order->count; i++) {
        int result = compare_by(order->view, order->keys[i], a, b);
        if (result != 0)
            return order->view->reverse ? -result : result;
    }
    if (a->row.total_ns != b->row.total_ns) /* of rows that are alike the larger one tells more */
        return FALLING(a->row.total_ns, b->row.total_ns);
    /* Numbers of the file decide the rest. */
    if (a->row.site != b->row.site)
        return a->row.site < b->row.site ? -1 : 1;
    if (a->row.caller != b->row.caller)
        return a->row.caller < b->row.caller ? -1 : 1;
    return a->row.stream != b->row.stream ? FALLING(b->row.stream, a->row.stream)
                                          : FALLING(b->row.process, a->row.process);
}

static int compare_names(const void *one, const void *two, void *context)
{
    const struct tool_report_row *const *a = one, *const *b = two;
    struct tool_report *view = context;
    return strcmp(tool_site_name(&view->names, (*a)->row.site),
                  tool_site_name(&view->names, (*b)->row.site));
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
    qsort_r(rows, view->row_count, sizeof(struct tool_report_row *), compare_names, view);
    for (size_t i = 1; i < view->row_count; i++)
        if (compare_names(&rows[i - 1], &rows[i], view) == 0)
            rows[i - 1]->is_namesake = rows[i]->is_namesake = true;
    free(rows);
}

int tool_report_sort(struct tool_report *view)
{
    const char *usual = !view->has_times ? "calls,name"
                        : view->by == TTAPE_REPORT_BY_THREAD || view->by == TTAPE_REPORT_BY_PROCESS
                            ? "self,calls"
                            : "total,self,calls";
    struct ordering order = {.view = view};
    int status = parse_order(&order, view->sort != NULL ? view->sort : usual);
    if (status != TOOL_OK)
        return status;
    if (view->row_count > 0)
        qsort_r(view->rows, view->row_count, sizeof(*view->rows), compare_rows, &order);
    mark_namesakes(view);
    if (view->row_count > view->limit) {
        view->hidden_count += view->row_count - (size_t)view->limit;
        view->row_count = (size_t)view->limit;
    }
    return TOOL_OK;
}

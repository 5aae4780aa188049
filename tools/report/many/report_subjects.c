/* The rows of a rollup, and a trace of definitions that names them: function i is site i; thread i
 * is process i and stream i, and so are traces, hosts and builds. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tracetape/writer.h>

#include "base/text.h"
#include "tools/command/tool.h"
#include "tools/report/many/report_many.h"

#define MODULE_BYTES (1ull << 32) /* of addresses each */
#define MODULES_MOST 4096u
#define SITE_BYTES   288u
#define FILE_BYTES   255u /* of a file's name */
#define NAME_BYTES   (FILE_BYTES + 45u)

/* ---- definitions ---- */

/* Texts of a rollup that are equal lie at one place. */
struct modules {
    const char *places[MODULES_MOST][2];
    uint32_t count;
};

/* The module of a function; too many of them are defined more than once. */
static ttape_status find_module(struct modules *modules, ttape_writer *writer,
                                const ttape_rollup_function *function, uint32_t *module,
                                ttape_error *err)
{
    const char *path = function->module_path.data, *build = function->build_id.data;
    for (*module = 0; *module < modules->count && *module < MODULES_MOST; ++*module)
        if (modules->places[*module][0] == path && modules->places[*module][1] == build)
            return TTAPE_OK;
    uint64_t start = (modules->count + 1ull) * MODULE_BYTES;
    const ttape_module own = {.start = start,
                              .end = start + MODULE_BYTES,
                              .process = TTAPE_NONE,
                              .path = function->module_path,
                              .build_id = function->build_id};
    if (modules->count < MODULES_MOST) {
        modules->places[modules->count][0] = path;
        modules->places[modules->count][1] = build;
    }
    modules->count++;
    return ttape_writer_add_module(writer, &own, module, err);
}

/* What has no name is called by its offset: addresses are none of a fleet's. */
static ttape_string name_by_module(const ttape_rollup_function *function, char text[SITE_BYTES])
{
    ttape_string base = ttp_path_base(function->module_path);
    size_t most = SITE_BYTES - 32;
    size_t size = base.size_bytes < most ? base.size_bytes : most;
    memcpy(text, base.data, size);
    size += (size_t)snprintf(text + size, 32, "+0x%" PRIx64, function->offset);
    return (ttape_string){text, size};
}

static ttape_status add_site(struct modules *modules, ttape_writer *writer,
                             const ttape_rollup_function *function, ttape_error *err)
{
    uint32_t module = TTAPE_NONE, id;
    uint64_t start = 0;
    if (function->module_path.size_bytes + function->build_id.size_bytes > 0) {
        ttape_status status = find_module(modules, writer, function, &module, err);
        if (status != TTAPE_OK)
            return status;
        start = (module + 1ull) * MODULE_BYTES;
    }
    char own[SITE_BYTES];
    bool is_kept = function->kind == TTAPE_SITE_SYSCALL || function->kind == TTAPE_SITE_CALL;
    const ttape_site site = {.address = start + function->offset,
                             .module = module,
                             .line = function->line,
                             .kind = is_kept ? function->kind : TTAPE_SITE_FUNCTION,
                             .symbol = function->symbol.size_bytes > 0 || module == TTAPE_NONE ||
                                               function->kind == TTAPE_SITE_CALL
                                           ? function->symbol
                                           : name_by_module(function, own),
                             .file = function->file};
    return ttape_writer_add_site(writer, &site, &id, err);
}

static ttape_status add_thread(ttape_writer *writer, const ttape_rollup_function *function,
                               ttape_error *err)
{
    uint32_t process, id;
    const ttape_process own = {
        .pid = function->offset, .parent = TTAPE_NONE, .name = function->symbol};
    ttape_status status = ttape_writer_add_process(writer, &own, &process, err);
    if (status != TTAPE_OK)
        return status;
    const ttape_stream thread = {
        .process = process, .tid = function->line, .name = function->symbol};
    return ttape_writer_add_stream(writer, &thread, &id, err);
}

static bool is_thread(ttape_report_by by)
{
    return by == TTAPE_REPORT_BY_THREAD || by == TTAPE_REPORT_BY_PROCESS;
}

static ttape_status define(struct tool_subjects *subjects, ttape_writer *writer, bool threads,
                           ttape_error *err)
{
    struct modules *modules = tool_allocate(1, sizeof(*modules));
    ttape_status status = TTAPE_OK;
    modules->count = 0;
    for (uint32_t i = 0; i < subjects->function_count && status == TTAPE_OK; i++) {
        const ttape_rollup_function *function = &subjects->functions[i];
        status =
            threads ? add_thread(writer, function, err) : add_site(modules, writer, function, err);
    }
    free(modules);
    return status == TTAPE_OK ? ttape_writer_finish(writer, err) : status;
}

static ttape_status open_names(struct tool_subjects *subjects, bool threads, ttape_error *err)
{
    ttape_sink sink = ttape_sink_memory(&subjects->bytes);
    const ttape_writer_options options = {.size = sizeof(options)};
    ttape_writer *writer;
    ttape_status status = ttape_writer_open(&writer, &sink, &options, err);
    if (status == TTAPE_OK)
        status = define(subjects, writer, threads, err);
    ttape_writer_close(writer);
    if (status != TTAPE_OK)
        return status;
    subjects->source = ttape_source_memory(subjects->bytes.data, subjects->bytes.size_bytes);
    const ttape_reader_options reading = {.size = sizeof(reading)};
    return ttape_reader_open(&subjects->reader, &subjects->source, &reading, err);
}

/* ---- traces, hosts and builds: functions and rows of their own ---- */

struct group {
    ttape_string name;
    uint32_t number; /* of the first trace in it */
    ttape_rollup_row row;
};

static void add_wide(ttape_wide_signed *to, ttape_wide_signed from)
{
    uint64_t low = to->low + from.low;
    to->high = (int64_t)((uint64_t)to->high + (uint64_t)from.high + (low < from.low));
    to->low = low;
}

static int64_t narrow(ttape_wide_signed wide)
{
    if (wide.high == ((int64_t)wide.low < 0 ? -1 : 0))
        return (int64_t)wide.low;
    return wide.high < 0 ? INT64_MIN : INT64_MAX;
}

static int compare_groups(const void *a, const void *b)
{
    const struct group *one = a, *two = b;
    int order = ttp_compare_strings(one->name, two->name);
    return order != 0 ? order : (one->number > two->number) - (one->number < two->number);
}

static ttape_string name_of(const ttape_rollup_trace *trace, enum tool_report_many by)
{
    return by == TOOL_MANY_HOST ? trace->host : trace->name;
}

/* One row of all traces of a name. A trace's own file may be one of several with its name: these
 * stay apart. */
static uint32_t join_traces(struct group *groups, const ttape_rollup_trace *traces, uint32_t count,
                            enum tool_report_many by)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++) {
        ttape_rollup_row row = {.self_ns = traces[i].self_ns, .span_ns = traces[i].span_ns};
        row.report.call_count = traces[i].call_count;
        row.report.event_count = traces[i].event_count;
        groups[i] = (struct group){name_of(&traces[i], by), i, row};
    }
    qsort(groups, count, sizeof(*groups), compare_groups);
    for (uint32_t i = 0; i < count; i++) {
        bool joins = by == TOOL_MANY_HOST && kept > 0 &&
                     ttp_compare_strings(groups[kept - 1].name, groups[i].name) == 0;
        if (!joins) {
            groups[kept++] = groups[i];
            continue;
        }
        ttape_rollup_row *row = &groups[kept - 1].row;
        add_wide(&row->self_ns, groups[i].row.self_ns);
        add_wide(&row->span_ns, groups[i].row.span_ns);
        row->report.call_count += groups[i].row.report.call_count;
        row->report.event_count += groups[i].row.report.event_count;
    }
    return kept;
}

/* Rows of a trace's or a host's are threads for whoever prints them. */
static int take_traces(struct tool_subjects *subjects, enum tool_report_many by)
{
    uint32_t count;
    const ttape_rollup_trace *traces = ttape_rollup_get_traces(subjects->folded, &count);
    if (traces == NULL)
        return tool_fail("there is not enough memory for the rows");
    struct group *groups = tool_allocate(count + 1, sizeof(*groups));
    subjects->row_count = subjects->function_count = join_traces(groups, traces, count, by);
    subjects->own_rows = tool_allocate(count + 1, sizeof(*subjects->own_rows));
    subjects->own_functions = tool_allocate(count + 1, sizeof(*subjects->own_functions));
    for (uint32_t i = 0; i < subjects->row_count; i++) {
        ttape_rollup_row *row = &subjects->own_rows[i];
        *row = groups[i].row;
        row->report.site = i;
        row->report.self_ns = narrow(row->self_ns);
        row->report.span_ns = narrow(row->span_ns);
        subjects->own_functions[i] = (ttape_rollup_function){.symbol = groups[i].name};
    }
    subjects->rows = subjects->own_rows;
    subjects->functions = subjects->own_functions;
    free(groups);
    return TOOL_OK;
}

/* A build is called by its module's file name and the first bytes of its id. */
static int name_builds(struct tool_subjects *subjects)
{
    uint32_t count = subjects->function_count;
    subjects->own_functions = tool_allocate(count + 1, sizeof(*subjects->own_functions));
    subjects->names = tool_allocate(count + 1, NAME_BYTES);
    for (uint32_t i = 0; i < count; i++) {
        const ttape_rollup_function *from = &subjects->functions[i];
        char *name = subjects->names + (size_t)i * NAME_BYTES;
        ttape_string base = ttp_path_base(from->module_path);
        if (base.size_bytes == 0)
            base = (ttape_string){"(no module)", 11};
        int size =
            snprintf(name, FILE_BYTES + 1, "%.*s",
                     (int)(base.size_bytes < FILE_BYTES ? base.size_bytes : FILE_BYTES), base.data);
        for (size_t k = 0; k < from->build_id.size_bytes && k < 20; k++)
            size += snprintf(name + size, 8, "%s%02x", k == 0 ? " " : "",
                             (unsigned char)from->build_id.data[k]);
        subjects->own_functions[i] = *from;
        subjects->own_functions[i].symbol = (ttape_string){name, (size_t)size};
    }
    subjects->functions = subjects->own_functions;
    return TOOL_OK;
}

/* ---- the call ---- */

int tool_subjects_open(struct tool_subjects *subjects, ttape_rollup *rollup,
                       enum tool_report_many by, ttape_rollup_across across)
{
    ttape_error err = {0};
    ttape_rollup_info info;
    int status = TOOL_OK;
    *subjects = (struct tool_subjects){0};
    ttape_rollup_get_info(rollup, &info);
    if (is_thread(info.by))
        across = TTAPE_ROLLUP_ACROSS_NONE;
    if (by == TOOL_MANY_BUILD)
        across = TTAPE_ROLLUP_ACROSS_MODULES;
    if (ttape_rollup_fold(&subjects->folded, rollup, across, &err) != TTAPE_OK)
        return tool_fail_error("the report", &err);
    subjects->rows = ttape_rollup_get_rows(subjects->folded, &subjects->row_count);
    subjects->functions = ttape_rollup_get_functions(subjects->folded, &subjects->function_count);
    if (subjects->rows == NULL || subjects->functions == NULL)
        return tool_fail("there is not enough memory for the rows");
    if (by == TOOL_MANY_TRACE || by == TOOL_MANY_HOST)
        status = take_traces(subjects, by);
    else if (by == TOOL_MANY_BUILD)
        status = name_builds(subjects);
    bool threads = by != TOOL_MANY_NONE || is_thread(info.by);
    if (status == TOOL_OK && open_names(subjects, threads, &err) != TTAPE_OK)
        status = tool_fail_error("the report", &err);
    return status;
}

static void take_percentiles(const struct tool_subjects *subjects, uint32_t number,
                             struct tool_report_row *row)
{
    for (size_t p = 0; p < TOOL_PERCENTILES; p++)
        row->has_percentiles =
            ttape_rollup_get_percentile(subjects->folded, number, tool_percentiles[p],
                                        &row->percentiles[p]) == TTAPE_OK;
}

/* The call of MAX, and the file that it is in. */
static void take_longest(const struct tool_subjects *subjects, uint32_t number,
                         struct tool_report *view, struct tool_report_row *row)
{
    uint32_t count, traces;
    const ttape_rollup_call *calls = ttape_rollup_get_longest(subjects->folded, number, &count);
    if (count == 0)
        return;
    (void)tool_put_call(row->id, calls[0].stream, calls[0].enter_number);
    row->id_trace = &ttape_rollup_get_traces(subjects->folded, &traces)[calls[0].trace];
    row->longest = calls;
    row->longest_count = count;
    view->has_ids = true;
}

void tool_subjects_rows(struct tool_subjects *subjects, struct tool_report *view)
{
    ttape_rollup_info info;
    ttape_rollup_get_info(subjects->folded, &info);
    view->info = info.report;
    view->has_times = info.report.has_times;
    view->is_estimate = info.has_histograms;
    bool threads = view->many != TOOL_MANY_NONE || is_thread(info.by);
    for (uint32_t i = 0; i < subjects->row_count; i++) {
        tool_grow((void **)&view->rows, &view->row_capacity, view->row_count + 1,
                  sizeof(*view->rows));
        struct tool_report_row *row = &view->rows[view->row_count++];
        *row = (struct tool_report_row){.row = subjects->rows[i].report,
                                        .wide = &subjects->rows[i],
                                        .function =
                                            &subjects->functions[subjects->rows[i].report.site]};
        if (threads) {
            row->row.process = row->row.site;
            row->row.stream = info.by == TTAPE_REPORT_BY_PROCESS ? TTAPE_NONE : row->row.process;
            row->row.site = TTAPE_NONE;
        }
        row->on_cpu_ns = tool_report_on_cpu(view, &row->row);
        tool_report_measure(view, row);
        if (!threads) {
            ttape_site site;
            (void)ttape_reader_get_site(subjects->reader, row->row.site, &site);
            row->row.module = site.module;
            take_percentiles(subjects, i, row);
            take_longest(subjects, i, view, row);
            tool_report_count_wait(view, &row->row);
        }
        view->has_percentiles = view->has_percentiles || row->has_percentiles;
    }
}

void tool_subjects_close(struct tool_subjects *subjects)
{
    ttape_reader_close(subjects->reader);
    ttape_memory_sink_close(&subjects->bytes);
    ttape_rollup_close(subjects->folded);
    free(subjects->own_rows);
    free(subjects->own_functions);
    free(subjects->names);
    *subjects = (struct tool_subjects){0};
}

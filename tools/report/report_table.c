/* A report for people: a line that says what it is of, and a table. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/escape.h"
#include "tools/command/pager.h"
#include "tools/command/tool.h"
#include "tools/command/wrap.h"
#include "tools/io/table.h"
#include "tools/report/report_columns.h"

#define LEAST_NAME  22u
#define LEAST_TIGHT 18u /* columns: pthread_mutex_lock and pthread_mutex_unlock are told apart */

struct printing {
    struct tool_report *view;
    struct tool_output *out;
    struct tool_table table;
    struct tool_column columns[TOOL_REPORT_COLUMNS];
    enum tool_report_column ids[TOOL_REPORT_COLUMNS];
    size_t count;
    bool colours;
};

static const char *subject_of(const struct tool_report *view)
{
    static const char *const subjects[TTAPE_REPORT_BY_COUNT] = {
        "FUNCTION", "FUNCTION", "MODULE",    "FILE",    "THREAD",
        "PROCESS",  "FUNCTION", "FUNCTIONS", "FUNCTION"};
    static const char *const others[] = {"", "TRACE", "HOST", "BUILD"};
    return view->many != TOOL_MANY_NONE ? others[view->many] : subjects[view->by];
}

/* Of a path the end tells more. */
static bool has_paths(const struct tool_report *view)
{
    return view->by == TTAPE_REPORT_BY_MODULE || view->by == TTAPE_REPORT_BY_FILE;
}

static int choose_columns(struct printing *print)
{
    int status = tool_report_columns(print->view, print->ids, &print->count);
    for (size_t i = 0; status == TOOL_OK && i < print->count; i++) {
        const struct tool_report_title *title = &tool_report_titles[print->ids[i]];
        /* It is there, however narrow it gets. */
        bool is_asked =
            print->view->columns != NULL || tool_report_is_sorted_by(print->view, print->ids[i]);
        bool is_place = print->ids[i] == CALLER || print->ids[i] == FROM;
        print->columns[i] = (struct tool_column){.title = title->title,
                                                 .is_text = title->is_text,
                                                 .rank = is_asked ? 0 : title->rank,
                                                 .cut = is_place ? LEAST_NAME : 0,
                                                 .gives_way = print->ids[i] == NAME};
        if (print->ids[i] != NAME)
            continue;
        print->columns[i].title = subject_of(print->view);
        print->columns[i].keeps_end = has_paths(print->view);
    }
    return status;
}

/* ---- cells ---- */

static enum tool_tone tone_of(const struct tool_report *view, const ttape_report_row *row)
{
    int64_t all_ns = tool_report_all_on_cpu(view), own_ns = tool_report_on_cpu(view, row);
    if (all_ns <= 0 || own_ns <= 0)
        return TOOL_PLAIN;
    double share = (double)own_ns / (double)all_ns;
    return share >= 0.1 ? TOOL_HOT : share >= 0.02 ? TOOL_WARM : TOOL_PLAIN;
}

/* Of the time in which threads ran: who waits, or is made to wait, takes none of it. */
static void put_share(struct printing *print, enum tool_tone tone, int64_t part_ns)
{
    int64_t all = tool_report_all_on_cpu(print->view);
    if (all <= 0)
        tool_table_text(&print->table, tone, "-");
    else
        tool_table_printf(&print->table, tone, "%.1f", 100.0 * (double)part_ns / (double)all);
}

static void put_duration(struct printing *print, const struct tool_report_row *row, int64_t time_ns)
{
    if (row->row.exit_count == 0)
        tool_table_text(&print->table, TOOL_FAINT, "-");
    else
        tool_table_time(&print->table, TOOL_PLAIN, time_ns);
}

/* A mean of times that hardly fit 64 bits is a double that does not. */
static int64_t whole_ns(double time_ns)
{
    return time_ns >= 0x1p63 ? INT64_MAX : time_ns >= -0x1p63 ? (int64_t)time_ns : INT64_MIN;
}

/* In front of times that are not exact. */
static const char *mark_of(const ttape_report_row *row)
{
    return row->is_about ? "~" : row->is_least ? ">=" : "";
}

static void put_mean(struct printing *print, const struct tool_report_row *shown)
{
    const ttape_report_row *row = &shown->row;
    if (row->call_count == 0 && row->exit_count == 0)
        tool_table_text(&print->table, TOOL_FAINT, "-");
    else
        tool_table_time_marked(&print->table, TOOL_PLAIN, whole_ns(shown->mean_ns),
                               row->exit_count == 0  ? mark_of(row)
                               : shown->is_recursive ? ">="
                                                     : "");
}

static void put_self_mean(struct printing *print, const ttape_report_row *row)
{
    if (row->call_count == 0)
        tool_table_text(&print->table, TOOL_FAINT, "-");
    else
        tool_table_time_marked(&print->table, TOOL_PLAIN, row->self_ns / (int64_t)row->call_count,
                               mark_of(row));
}

static void put_origin(struct printing *print, const ttape_report_row *row,
                       enum tool_report_column id)
{
    char text[TOOL_REPORT_ORIGIN_BYTES];
    size_t size = tool_report_origin(print->view, row, id, text);
    tool_table_bytes(&print->table, TOOL_PLAIN, text, size);
}

static void put_deviation(struct printing *print, const struct tool_report_row *row)
{
    if (row->row.exit_count == 0)
        tool_table_text(&print->table, TOOL_FAINT, "-");
    else
        tool_table_time_marked(&print->table, TOOL_PLAIN, whole_ns(row->deviation_ns),
                               row->is_recursive ? "<=" : "");
}

static void put_about(struct printing *print, int64_t time_ns)
{
    char text[40];
    text[tool_put_time(text, time_ns)] = '\0';
    tool_table_printf(&print->table, TOOL_PLAIN, "~%s", text);
}

static void put_percentile(struct printing *print, const struct tool_report_row *row,
                           unsigned number)
{
    if (!row->has_percentiles)
        tool_table_text(&print->table, TOOL_FAINT, "-");
    else if (print->view->is_estimate)
        put_about(print, row->percentiles[number]);
    else
        tool_table_time(&print->table, TOOL_PLAIN, row->percentiles[number]);
}

/* A time of which more may be not known. */
static void put_at_least(struct printing *print, int64_t time_ns)
{
    char text[40];
    text[tool_put_time(text, time_ns)] = '\0';
    tool_table_printf(&print->table, TOOL_FAINT, "%s?", text);
}

static void put_self(struct printing *print, enum tool_tone tone, const ttape_report_row *row)
{
    char text[40];
    if (!tool_report_is_hook(print->view, row)) {
        tool_table_time_marked(&print->table, tone, row->self_ns, mark_of(row));
        return;
    }
    text[tool_put_time(text, row->self_ns)] = '\0';
    tool_table_printf(&print->table, tone, "%s~", text);
}

/* Self time off the CPU. */
static void put_off(struct printing *print, const ttape_report_row *row)
{
    int64_t off_ns = row->preempted_ns + row->blocked_ns;
    if (row->unknown_ns != 0 && off_ns == 0)
        tool_table_text(&print->table, TOOL_FAINT, "?");
    else if (row->unknown_ns != 0)
        put_at_least(print, off_ns);
    else if (off_ns == 0)
        tool_table_text(&print->table, TOOL_FAINT, "-");
    else
        tool_table_time(&print->table, TOOL_PLAIN, off_ns);
}

static void put_idle(struct printing *print, const ttape_report_row *row)
{
    if (row->is_idle_least)
        put_at_least(print, row->idle_ns);
    else if (!row->idle_known)
        tool_table_text(&print->table, TOOL_FAINT, "?");
    else if (row->idle_ns == 0)
        tool_table_text(&print->table, TOOL_FAINT, "-");
    else
        tool_table_time(&print->table, TOOL_FAINT, row->idle_ns);
}

static const char *caller_name(struct printing *print, uint32_t caller)
{
    if (caller == TTAPE_NONE)
        return "(none)";
    return caller == TTAPE_REPORT_SIGNAL ? "(signal)" : tool_site_name(&print->view->names, caller);
}

static void put_from(struct printing *print, uint32_t place)
{
    struct tool_output text;
    tool_output_open(&text, -1);
    tool_report_from(print->view, place, &text);
    tool_table_bytes(&print->table, place == TTAPE_NONE ? TOOL_FAINT : TOOL_PLAIN, text.data,
                     text.size_bytes);
    free(text.data);
}

static void put_name(struct printing *print, const struct tool_report_row *row)
{
    struct tool_table *table = &print->table;
    const char *name = tool_report_name(print->view, row);
    char text[8192];
    char where[TOOL_PLACE_BYTES];
    const char *place =
        row->is_namesake ? tool_site_place(print->view->reader, row->row.site, where) : "";
    size_t size = strlen(name) < sizeof(text) / 2 ? strlen(name) : sizeof(text) / 2;
    memcpy(text, name, size);
    size_t more = strlen(place) < sizeof(text) - size ? strlen(place) : 0;
    memcpy(text + size, place, more);
    tool_table_bytes(table, tone_of(print->view, &row->row), text, size + more);
}

static void put_id(struct printing *print, const ttape_report_row *row, enum tool_report_column id)
{
    ttape_stream_info stream = {0};
    ttape_process process = {0};
    if (id == TID)
        (void)ttape_reader_get_stream(print->view->reader, row->stream, &stream);
    else
        (void)ttape_reader_get_process(print->view->reader, row->process, &process);
    tool_table_printf(&print->table, TOOL_PLAIN, "%" PRIu64,
                      id == TID ? stream.stream.tid : process.pid);
}

#define SHORT_BYTES (TOOL_REPORT_FILE_BYTES * TTP_ESCAPE_MAX)

/* A host's name, or a file's. */
static size_t write_short(char text[SHORT_BYTES], ttape_string name)
{
    size_t most =
        name.size_bytes < TOOL_REPORT_FILE_BYTES ? name.size_bytes : TOOL_REPORT_FILE_BYTES;
    return ttp_escape(text, TTP_ESCAPE_TERMINAL, name.data, most);
}

static void put_short(struct tool_table *table, ttape_string name)
{
    char text[SHORT_BYTES];
    tool_table_bytes(table, TOOL_PLAIN, text, write_short(text, name));
}

/* A call of many files has its file behind it. */
static void put_call(struct tool_table *table, const struct tool_report_row *shown)
{
    char text[TOOL_CALL_ID_BYTES + SHORT_BYTES + 2];
    size_t size = strlen(shown->id);
    memcpy(text, shown->id, size);
    if (shown->id_trace != NULL) {
        text[size++] = ' ';
        size += write_short(text + size, shown->id_trace->name);
    }
    tool_table_bytes(table, TOOL_PLAIN, text, size);
}

static void put_cell(struct printing *print, const struct tool_report_row *shown,
                     enum tool_report_column id)
{
    const ttape_report_row *row = &shown->row;
    struct tool_table *table = &print->table;
    enum tool_tone tone = tone_of(print->view, row);
    switch (id) {
    case TOTAL: tool_table_time_marked(table, TOOL_PLAIN, row->total_ns, mark_of(row)); break;
    case SELF: put_self(print, tone, row); break;
    case OFF: put_off(print, row); break;
    case SHARE: put_share(print, tone, shown->on_cpu_ns); break;
    case CALLS: tool_table_count(table, TOOL_PLAIN, row->call_count); break;
    case MEAN: put_mean(print, shown); break;
    case MIN: put_duration(print, shown, row->min_ns); break;
    case MAX: put_duration(print, shown, row->max_ns); break;
    case DEVIATION: put_deviation(print, shown); break;
    case P50: put_percentile(print, shown, 0); break;
    case P90: put_percentile(print, shown, 1); break;
    case P99: put_percentile(print, shown, 3); break;
    case IDLE: put_idle(print, row); break;
    case SPAN: tool_table_time(table, TOOL_PLAIN, row->span_ns); break;
    case EVENTS: tool_table_count(table, TOOL_PLAIN, row->event_count); break;
    case PID:
    case TID: put_id(print, row, id); break;
    case HOST: put_short(table, shown->function->module_path); break; /* R-FUN-05 */
    case TRACE: put_short(table, shown->function->file); break;
    case CALLER: tool_table_text(table, TOOL_PLAIN, caller_name(print, row->caller)); break;
    case FROM: put_from(print, row->caller); break;
    case CALL: put_call(table, shown); break;
    case SELF_MEAN: put_self_mean(print, row); break;
    case SELF_MIN: put_duration(print, shown, row->self_min_ns); break;
    case SELF_MAX: put_duration(print, shown, row->self_max_ns); break;
    case ROLE: tool_table_text(table, TOOL_PLAIN, tool_role_names[shown->role]); break;
    case MODULE:
    case SOURCE: put_origin(print, row, id); break;
    default: put_name(print, shown);
    }
}

/* ---- heads ---- */

/* The head of a report of many files says how many traces there are. */
static void put_files(const struct printing *print)
{
    ttape_rollup_info all;
    if (print->view->rollup == NULL)
        return;
    ttape_rollup_get_info(print->view->rollup, &all);
    tool_output_printf(print->out, "%" PRIu32 " trace%s: ", all.trace_count,
                       all.trace_count == 1 ? "" : "s");
}

static void put_head_words(struct printing *print)
{
    const ttape_report_info *info = &print->view->info;
    struct tool_output *out = print->out;
    char text[40];
    put_files(print);
    if (print->view->below != NULL)
        tool_output_printf(out, "below '%s': ", print->view->below);
    tool_output_bytes(out, text, tool_put_count(text, info->call_count));
    tool_output_printf(out, " calls in %" PRIu32 " thread%s", info->stream_count,
                       info->stream_count == 1 ? "" : "s");
    if (info->has_times) {
        tool_output_text(out, ", ");
        tool_output_bytes(out, text, tool_put_time(text, info->span_ns));
        tool_output_text(out, info->stream_count == 1 ? " long" : " together");
    }
    if (info->has_idle) {
        static const char *const sources[] = {"", " (blocked)", " (blocking system calls)",
                                              " (blocking functions)"};
        tool_output_text(out, info->idle_known ? ", of which idle " : ", of which idle at least ");
        tool_output_bytes(out, text,
                          tool_put_time(text, info->idle_ns - print->view->recorder_idle_ns));
        tool_output_text(out, sources[info->idle_source]);
    }
    if (print->view->recorder_ns != 0) {
        tool_output_text(out, ", the recorder ");
        tool_output_bytes(out, text, tool_put_time(text, print->view->recorder_ns));
    }
    if (info->preempted_ns != 0) {
        tool_output_text(out, ", preempted ");
        tool_output_bytes(out, text, tool_put_time(text, info->preempted_ns));
    }
}

static void put_head(struct printing *print)
{
    struct tool_folding folding = tool_folding_open(print->out, 0);
    put_head_words(print);
    tool_folding_close(&folding);
    tool_output_text(print->out, "\n");
}

static void put_rows(struct printing *print, size_t first, size_t end)
{
    tool_table_open(&print->table, print->columns, print->count);
    for (size_t i = first; i < end; i++)
        for (size_t column = 0; column < print->count; column++)
            put_cell(print, &print->view->rows[i], print->ids[column]);
    unsigned width = tool_table_width(&print->table, print->view->names.is_shortened);
    if (!print->table.keeps_all) {
        print->table.least = LEAST_NAME;
        print->table.least_tight = LEAST_TIGHT; /* SELF needs what of it is OFF CPU */
    }
    tool_table_print(&print->table, print->out, width, print->colours);
    tool_table_close(&print->table);
}

static bool goes_below_zero(const struct tool_report *view)
{
    bool is = view->info.span_ns < 0;
    for (size_t i = 0; i < view->row_count && !is; i++) {
        const ttape_report_row *row = &view->rows[i].row;
        is = row->self_ns < 0 || row->total_ns < 0 || (row->exit_count > 0 && row->min_ns < 0);
    }
    return view->has_times && is;
}

static void put_hook_note(const struct printing *print)
{
    const struct tool_report *view = print->view;
    size_t i = 0;
    while (i < view->row_count && !tool_report_is_hook(view, &view->rows[i].row))
        i++;
    if (i < view->row_count)
        tool_output_printf(print->out,
                           "\n~ for the most part the time of recording itself, at least %" PRIu64
                           " ns an event\n",
                           view->hook.hook_ns);
}

/* A row has no calls where its functions were called before, and not since. */
static void put_running(const struct printing *print)
{
    const struct tool_report_row *rows = print->view->rows;
    size_t i = print->view->by > TTAPE_REPORT_BY_NAME ? print->view->row_count : 0;
    while (i < print->view->row_count && (rows[i].role != TOOL_ROLE_NONE ||
                                          rows[i].row.call_count != 0 || rows[i].row.total_ns == 0))
        i++;
    if (i < print->view->row_count)
        tool_output_text(print->out, "\nCALLS 0: was running already\n");
}

/* Calls whose ends are not known, in rows that are shown. */
static void put_unknown_ends(const struct printing *print)
{
    struct tool_output *out = print->out;
    uint64_t count = 0;
    char text[40];
    for (size_t i = 0; i < print->view->row_count; i++)
        count += print->view->rows[i].row.unknown_end_count;
    if (count == 0)
        return;
    tool_output_text(out, "\nbegin or end not seen (~, >=): ");
    tool_output_bytes(out, text, tool_put_count(text, count));
    tool_output_printf(out, " call%s of these rows, without a duration\n", count == 1 ? "" : "s");
}

/* What is odd about the numbers above. */
static void put_notes(const struct printing *print)
{
    const ttape_report_info *info = &print->view->info;
    struct tool_output *out = print->out;
    char text[40];
    bool backwards = goes_below_zero(print->view);
    if (info->open_count > 0 || info->unseen_count > 0 || info->unknown_ns != 0 || backwards)
        tool_output_text(out, "\n");
    if (info->open_count > 0) {
        tool_output_text(out, "open at the end, without a duration: ");
        tool_output_bytes(out, text, tool_put_count(text, info->open_count));
        tool_output_printf(out, " frame%s\n", info->open_count == 1 ? "" : "s");
    }
    if (info->unseen_count > 0) {
        tool_output_text(out, "without a call in the trace: ");
        tool_output_bytes(out, text, tool_put_count(text, info->unseen_count));
        tool_output_printf(out, " exit%s\n", info->unseen_count == 1 ? "" : "s");
    }
    if (info->unknown_ns != 0) {
        tool_output_text(out, "?: whether threads ran is not known for ");
        tool_output_bytes(out, text, tool_put_time(text, info->unknown_ns));
        tool_output_text(out, "\n");
    }
    if (backwards)
        tool_output_text(out, "times below zero: the clock of a thread steps backwards\n");
}

int tool_report_table(struct tool_report *view, struct tool_output *out)
{
    struct printing print = {.view = view, .out = out, .colours = tool_terminal_colours()};
    int status = choose_columns(&print);
    if (status != TOOL_OK)
        return status;
    put_head(&print);
    for (size_t first = 0, end; first < view->row_count; first = end) {
        enum tool_report_role role = view->rows[first].role;
        for (end = first + 1; end < view->row_count && view->rows[end].role == role; end++)
            continue;
        if (role != TOOL_ROLE_NONE) {
            tool_output_printf(out, "%s%s%s:\n", first > 0 ? "\n" : "", tool_role_names[role],
                               role == TOOL_ROLE_FUNCTION ? "" : "s");
        }
        put_rows(&print, first, end);
    }
    if (view->row_count == 0)
        put_rows(&print, 0, 0);
    if (view->is_estimate && view->row_count == 1 && view->rows[0].bucket_count > 0)
        tool_report_spread(view, &view->rows[0], out);
    put_notes(&print);
    put_running(&print);
    put_unknown_ends(&print);
    put_hook_note(&print);
    if (view->hidden_count > 0) {
        tool_output_printf(out, "\n%zu more row%s left out\n", view->hidden_count,
                           view->hidden_count == 1 ? "" : "s");
    }
    return TOOL_OK;
}

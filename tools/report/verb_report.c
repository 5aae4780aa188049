/* tracetape report: which reports to make of a trace, and what of them to show. */
#define _GNU_SOURCE /* memmem */
#include <inttypes.h>
#include <limits.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "tools/calls/losses.h"
#include "tools/command/memory_limit.h"
#include "tools/command/options.h"
#include "tools/command/pager.h"
#include "tools/command/tool.h"
#include "tools/io/view_line.h"
#include "tools/report/report_columns.h"
#include "tools/report/report_options.h"

#define KEPT_BYTES (4 << 20) /* larger ones go back */

#define IDS_DEFAULT 10u /* rows: each may take as long as a partition */

static bool add_word(const char *text, void *into)
{
    struct word_list *list = into;
    tool_grow((void **)&list->words, &list->capacity, list->count + 1, sizeof(char *));
    list->words[list->count++] = text;
    return *text != '\0';
}

static const struct tool_option table[] = {
    {"by", 'b', "WHAT", "name, module, file, thread, process, call, site, trace, host or build",
     NULL, TOOL_AT(by)},
    {"across", 0, "WHAT", "builds (default): one function of a name; none: one of each build", NULL,
     TOOL_AT(across)},
    {"rollup", 0, "FILE", "write the sums to FILE, to be added up with others", NULL,
     TOOL_AT(rollup)},
    {"force", 'f', NULL, "replace that file where it exists", NULL, TOOL_AT(force)},
    {"callers", 0, "F", "who calls function F", NULL, TOOL_AT(callers)},
    {"callees", 0, "F", "whom function F calls", NULL, TOOL_AT(callees)},
    {"butterfly", 0, "F", "both, with F between them", NULL, TOOL_AT(butterfly)},
    {"group", 0, "REGEX", "one row of all functions that match; may be repeated", add_word,
     TOOL_AT(group)},
    {"below", 'B', "REGEX", "only time of matching functions and of what they call", NULL,
     TOOL_AT(below)},
    TOOL_FILTER_OPTION,
    TOOL_NO_BELOW_OPTION,
    {"function", 'F', "REGEX", "show only rows whose name matches", NULL, TOOL_AT(filter)},
    TOOL_NAMES_OPTION,
    TOOL_TIME_OPTION,
    TOOL_THREAD_OPTION,
    TOOL_PROCESS_OPTION,
    TOOL_STREAM_OPTION,
    {"exact", 0, NULL, "decode every event; adds percentiles", NULL, TOOL_AT(exact)},
    {"histogram", 0, NULL, "percentiles by powers of two (~), and the durations of one row", NULL,
     TOOL_AT(histogram)},
    {"sort", 's', "KEY,...", "total, self, on-cpu, calls, mean, min, max, deviation, idle, name",
     NULL, TOOL_AT(sort)},
    {"reverse", 'r', NULL, "the other way round", NULL, TOOL_AT(reverse)},
    {"limit", 'n', "N", "at most N rows", tool_parse_id, TOOL_AT(limit)},
    {"ids", 0, NULL, "which call MAX is of: for the first 10 rows, or as many as --limit", NULL,
     TOOL_AT(ids)},
    {"idle", 0, "NAME", "function NAME blocks, too; may be repeated", add_word, TOOL_AT(idle)},
    {"no-idle", 0, NULL, "nothing blocks", NULL, TOOL_AT(no_idle)},
    {"columns", 0, "NAME,...", "these, in this order: as --sort has them, source, module, ...",
     NULL, TOOL_AT(columns)},
    {"format", 0, "FORMAT", "text (default), csv or json", NULL, TOOL_AT(format)},
    {"json", 0, NULL, "print JSON", NULL, TOOL_AT(json)},
    {"jobs", 'j', "N", "threads that read; default: one per processor", tool_parse_u32,
     TOOL_AT(jobs)},
    {"no-pager", 0, NULL, "straight to the terminal", NULL, TOOL_AT(no_pager)},
    TOOL_MEMORY_OPTION,
    {0}};

static const struct tool_command command = {
    .verb = "report",
    .usage = "[OPTION]... FILE|-|FOLDER|@LIST...",
    .about =
        "Says where the time went: calls, self and total time, durations and idle time per\n"
        "function, out of the summaries of the trace. What these cannot tell is decoded: other\n"
        "rows, callers, callees, percentiles, parts of the threads, ends of a time range. Of\n"
        "several files, traces and rollups, the sums are exact whatever their order.",
    .options = table,
    .examples = "  tracetape report run.ttape --limit 20\n"
                "  tracetape report run.ttape --sort on-cpu --time +1s..+2s\n"
                "  tracetape report run.ttape --below '^parse_line$'\n"
                "  tracetape report run.ttape --butterfly parse_line\n"
                "  tracetape report run.ttape --histogram -F '^parse_line$'\n"
                "  tracetape report run.ttape --group '^parse_' --group '^read_'\n"
                "  tracetape report run.ttape server.ttape --by trace\n"
                "  tracetape report run.ttape server.ttape --rollup runs.rollup\n",
    .statuses = "  0  done\n"
                "  2  the command line is wrong\n"
                "  3  a file is truncated or damaged: what is there was reported\n"
                "  4  not done\n",
    .operands_min = 1,
    .operands_max = INT_MAX,
};

/* ---- showing ---- */

static void say_view(const struct options *options, const struct tool_report *view)
{
    const struct tool_selection *selection = view->selection;
    const struct tool_place place = {.pane = options->butterfly != NULL ? "callers" : "functions",
                                     .function = options->butterfly,
                                     .has_range = selection->has_range,
                                     .from_ns = selection->from_ns,
                                     .to_ns = selection->to_ns};
    bool is_whole = options->butterfly == NULL && !selection->has_range;
    if (!options->json && !options->csv)
        tool_say_view(view->input, is_whole ? NULL : &place);
}

/* Calls of what starts threads tell how many there were. */
static void say_started(const struct tool_report *view, const char *below)
{
    static const char *const starters[] = {"pthread_create", "thrd_create", "_M_start_thread"};
    uint64_t counts[sizeof starters / sizeof *starters] = {0}, most = 0;
    ttape_site site;
    for (size_t i = 0; i < view->row_count; i++) {
        const ttape_report_row *row = &view->rows[i].row;
        if (ttape_reader_get_site(view->reader, row->site, &site) != TTAPE_OK)
            continue;
        for (size_t s = 0; s < sizeof starters / sizeof *starters; s++) {
            if (memmem(site.symbol.data, site.symbol.size_bytes, starters[s],
                       strlen(starters[s])) != NULL)
                counts[s] += row->call_count;
            most = counts[s] > most ? counts[s] : most;
        }
    }
    tool_below_say_started(view->input->name, below, most);
}

static int show_report(struct tool_report *view, struct asking *ask)
{
    int status = tool_below_open(&ask->below, "report", ask->options->below, &view->names);
    if (status == TOOL_OK)
        status = tool_report_collect(view, ask);
    int matched = tool_below_close(&ask->below);
    status = matched > status ? matched : status;
    bool has_functions = view->by == TTAPE_REPORT_BY_FUNCTION || view->by == TTAPE_REPORT_BY_NAME;
    if (status == TOOL_OK && ask->options->below != NULL && has_functions)
        say_started(view, ask->options->below);
    if (status == TOOL_OK && ask->options->filter != NULL)
        status = tool_report_filter(view, ask->options->filter);
    if (status == TOOL_OK)
        status = tool_report_sort(view);
    if (status == TOOL_OK && ask->options->ids)
        status = tool_report_find_ids(view, ask->options->limit.given ? view->limit : IDS_DEFAULT,
                                      tool_jobs(ask->options->jobs));
    if (status == TOOL_OK)
        status = tool_report_print(ask->options, view);
    if (status == TOOL_OK)
        say_view(ask->options, view);
    return status == TOOL_OK ? ask->status : status;
}

static int report_input(void *context, const struct tool_input *input)
{
    const struct options *options = context;
    struct tool_selection selection = {0};
    struct asking *ask = tool_allocate(1, sizeof(*ask));
    struct tool_report view = {.input = input,
                               .reader = input->reader,
                               .by = options->row_kind,
                               .sort = options->sort,
                               .columns = options->columns,
                               .has_self_times = tool_report_wants_self_times(options),
                               .below = options->below,
                               .reverse = options->reverse,
                               .limit = options->limit.given ? options->limit.value : UINT64_MAX,
                               .selection = &selection};
    int status = tool_select(&selection, input, &options->choice);
    if (status == TOOL_OK) {
        tool_losses_warn(input);
        tool_hook_cost_find(&view.hook, input->reader);
    }
    tool_site_names_open_as(&view.names, input->reader,
                            tool_name_style(options->names, options->json || options->csv));
    ask->options = options;
    ask->input = input;
    ask->names = &view.names;
    if (status == TOOL_OK)
        status = show_report(&view, ask);
    tool_site_names_close(&view.names);
    tool_selection_close(&selection);
    free(view.rows);
    free(view.buckets);
    free(ask);
    return status;
}

/* ---- the command line ---- */

static int parse_by(struct options *options)
{
    options->row_kind = TTAPE_REPORT_BY_FUNCTION;
    if (options->by == NULL)
        return TOOL_OK;
    for (uint32_t i = TOOL_MANY_TRACE; i <= TOOL_MANY_BUILD; i++) {
        if (strcmp(options->by, tool_report_many_names[i]) == 0) {
            options->many = (enum tool_report_many)i;
            return TOOL_OK;
        }
    }
    for (uint32_t i = 0; i < TTAPE_REPORT_BY_COUNT; i++) {
        if (i != TTAPE_REPORT_BY_GROUP && strcmp(options->by, tool_report_by_names[i]) == 0) {
            options->row_kind = i;
            return TOOL_OK;
        }
    }
    return tool_usage("report", "unknown kind of rows '%s'", options->by);
}

static int check_options(const struct options *options)
{
    int subjects = (options->by != NULL) + (options->callers != NULL) + (options->callees != NULL) +
                   (options->butterfly != NULL) + (options->group.count > 0);
    if (subjects > 1) {
        return tool_usage(
            "report", "only one of --by, --callers, --callees, --butterfly, --group is possible");
    }
    if (options->exact && options->histogram)
        return tool_usage("report", "--exact and --histogram exclude each other");
    if (options->across != NULL && strcmp(options->across, "builds") != 0 &&
        strcmp(options->across, "none") != 0)
        return tool_usage("report", "--across is builds or none, not '%s'", options->across);
    if (options->force && options->rollup == NULL)
        return tool_usage("report", "--force is for the file of --rollup");
    return TOOL_OK;
}

static int check_output(struct options *options)
{
    static const char *const names[] = {"text", "csv", "json"};
    size_t format = 0;
    while (options->format != NULL && format < 3 && strcmp(options->format, names[format]) != 0)
        format++;
    if (format == 3)
        return tool_usage("report", "unknown format '%s'", options->format);
    options->csv = format == 1;
    options->json |= format == 2;
    if (options->csv && options->json)
        return tool_usage("report", "--json and --format csv exclude each other");
    if (options->columns != NULL && options->json)
        return tool_usage("report", "JSON has all that is known: --columns is not for it");
    return options->columns == NULL || tool_report_are_columns(options->columns) ? TOOL_OK
                                                                                 : TOOL_USAGE;
}

static int check_ids(const struct options *options)
{
    bool is_of_functions = options->row_kind == TTAPE_REPORT_BY_FUNCTION &&
                           options->callers == NULL && options->callees == NULL &&
                           options->butterfly == NULL && options->group.count == 0;
    return !options->ids || is_of_functions
               ? TOOL_OK
               : tool_usage("report", "--ids is for rows of functions");
}

/* Tables of rows are freed and made anew: each time the system would have to clear their pages. */
static void keep_memory(void)
{
#ifdef M_MMAP_THRESHOLD
    (void)mallopt(M_MMAP_THRESHOLD, KEPT_BYTES);
    (void)mallopt(M_TRIM_THRESHOLD, 2 * KEPT_BYTES);
#endif
}

int tool_verb_report(int argc, char **argv) { return tool_report_shared(argc, argv, NULL); }

static int run_verb(struct options *options, int argc, char **argv, const struct tool_share *share)
{
    int count, status;
    if (tool_options_parse(&command, argc, argv, options, &count, &status) != TOOL_PARSED_GO)
        return status;
    status = check_options(options);
    status = status == TOOL_OK ? parse_by(options) : status;
    status = status == TOOL_OK ? check_ids(options) : status;
    status = status == TOOL_OK ? check_output(options) : status;
    if (status != TOOL_OK)
        return status;
    tool_memory_bound(options->memory_bytes);
    keep_memory();
    struct tool_operands paths;
    status = tool_operands_take(&paths, count, argv);
    bool is_one = !paths.are_many && options->rollup == NULL && options->across == NULL &&
                  options->many == TOOL_MANY_NONE && share == NULL;
    if (status == TOOL_OK && is_one && !tool_is_rollup(paths.paths[0]))
        status = tool_filtered_run("report", &options->kept, paths.paths[0], 1,
                                   options->memory_bytes, report_input, options);
    else if (status == TOOL_OK)
        status = tool_report_many(options, &paths, share);
    tool_operands_close(&paths);
    return status;
}

int tool_report_shared(int argc, char **argv, const struct tool_share *share)
{
    struct options options = {0};
    int status = run_verb(&options, argc, argv, share);
    free(options.group.words);
    free(options.idle.words);
    tool_filter_close(&options.kept);
    tool_choice_close(&options.choice);
    return status;
}

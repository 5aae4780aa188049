/* tracetape report: which reports to make of a trace, and what of them to show. */
#include <inttypes.h>
#include <malloc.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "tools/calls/below.h"
#include "tools/calls/losses.h"
#include "tools/command/memory_limit.h"
#include "tools/command/options.h"
#include "tools/command/pager.h"
#include "tools/command/tool.h"
#include "tools/io/view_line.h"
#include "tools/report/report_view.h"

#define KEPT_BYTES (4 << 20) /* larger ones go back */

#define IDS_DEFAULT     10u       /* rows: each may take as long as a partition */
#define SWITCHES_EVENTS 30000000u /* a second of decoding */
#define SITES_MOST      1024u     /* functions of one name */

struct word_list {
    const char **words;
    size_t count, capacity;
};

struct options {
    const char *by, *callers, *callees, *butterfly, *below, *filter, *sort;
    struct word_list group, idle;
    struct tool_choice choice;
    struct tool_id limit;
    uint32_t jobs, row_kind; /* of --by */
    enum tool_name_style names;
    bool exact, histogram, ids, json, reverse, no_idle, no_pager;
    uint64_t memory_bytes;
};

static bool add_word(const char *text, void *into)
{
    struct word_list *list = into;
    tool_grow((void **)&list->words, &list->capacity, list->count + 1, sizeof(char *));
    list->words[list->count++] = text;
    return *text != '\0';
}

static const struct tool_option table[] = {
    {"by", 'b', "WHAT", "function (default), name, module, file, thread, process, call", NULL,
     TOOL_AT(by)},
    {"callers", 0, "F", "who calls function F", NULL, TOOL_AT(callers)},
    {"callees", 0, "F", "whom function F calls", NULL, TOOL_AT(callees)},
    {"butterfly", 0, "F", "both, with F between them", NULL, TOOL_AT(butterfly)},
    {"group", 0, "REGEX", "one row of all functions that match; may be repeated", add_word,
     TOOL_AT(group)},
    {"below", 'B', "REGEX", "only time of matching functions and of what they call", NULL,
     TOOL_AT(below)},
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
    {"json", 0, NULL, "print JSON", NULL, TOOL_AT(json)},
    {"jobs", 'j', "N", "threads that read; default: one per processor", tool_parse_u32,
     TOOL_AT(jobs)},
    {"no-pager", 0, NULL, "straight to the terminal", NULL, TOOL_AT(no_pager)},
    TOOL_MEMORY_OPTION,
    {0}};

static const struct tool_command command = {
    .verb = "report",
    .usage = "[OPTION]... FILE|-",
    .about =
        "Says where the time went: calls, self and total time, durations and idle time per\n"
        "function, out of the summaries of the trace. What these cannot tell is decoded: other\n"
        "rows, callers, callees, percentiles, parts of the threads, ends of a time range.",
    .options = table,
    .examples = "  tracetape report run.ttape --limit 20\n"
                "  tracetape report run.ttape --sort on-cpu --time +1s..+2s\n"
                "  tracetape report run.ttape --below '^parse_line$'\n"
                "  tracetape report run.ttape --butterfly parse_line\n"
                "  tracetape report run.ttape --histogram -F '^parse_line$'\n"
                "  tracetape report run.ttape --group '^parse_' --group '^read_'\n",
    .statuses = "  0  done\n"
                "  2  the command line is wrong\n"
                "  3  the file is truncated or damaged: what is there was reported\n"
                "  4  not done\n",
    .operands_min = 1,
    .operands_max = 1,
};

/* What the callbacks of a report look at. */
struct asking {
    const struct options *options;
    const struct tool_input *input;
    const struct tool_site_names *names;
    const regex_t *regex;
    struct tool_below below;
    uint32_t sites[SITES_MOST], site_count;
    uint64_t damage_count;
    int status; /* damage that was met is a loss */
};

/* ---- callbacks ---- */

static uint32_t group_of(void *context, uint32_t site)
{
    struct asking *ask = context;
    struct tool_site_names names = *ask->names;
    return tool_site_matches(&names, site, ask->regex) ? 0 : TTAPE_NONE;
}

static bool is_below(void *context, uint32_t site)
{
    struct asking *ask = context;
    return tool_below_matches(&ask->below, site);
}

static bool has_focus(void *context, uint32_t site)
{
    const struct asking *ask = context;
    for (uint32_t i = 0; i < ask->site_count; i++)
        if (ask->sites[i] == site)
            return true;
    return false;
}

static uint32_t focus_group(void *context, uint32_t site)
{
    return has_focus(context, site) ? 0 : TTAPE_NONE;
}

static bool is_idle(void *context, uint32_t site)
{
    const struct asking *ask = context;
    const struct options *options = ask->options;
    ttape_site found;
    if (options->no_idle || ttape_reader_get_site(ask->input->reader, site, &found) != TTAPE_OK)
        return false;
    for (size_t i = 0; i < options->idle.count; i++)
        if (tool_text_is(found.symbol, options->idle.words[i]))
            return true;
    return ttape_is_idle_name(found.symbol);
}

static void note_damage(void *context, uint32_t partition, const ttape_error *error)
{
    struct asking *ask = context;
    (void)partition;
    (void)tool_input_go_on(ask->input, error, &ask->damage_count, &ask->status);
}

/* ---- making ---- */

/* With --idle or --no-idle, time off the CPU is not shown: the user has said what is idle. */
static bool names_idle(const struct options *options)
{
    return options->no_idle || options->idle.count > 0;
}

/* Where they are not summed up, very long traces are not decoded for them. */
static bool decodes_for_switches(const struct tool_report *view, const struct options *options)
{
    ttape_info info;
    ttape_reader_get_info(view->reader, &info);
    return info.event_count <= SWITCHES_EVENTS && !names_idle(options);
}

static ttape_report_options base_options(const struct tool_report *view, struct asking *ask)
{
    const struct tool_selection *selection = view->selection;
    const struct options *options = ask->options;
    return (ttape_report_options){.size = sizeof(ttape_report_options),
                                  .by = view->by,
                                  .exact = options->exact,
                                  .percentiles = options->exact,
                                  .histograms = options->histogram,
                                  .has_range = selection->has_range,
                                  .from_ns = selection->from_ns,
                                  .to_ns = selection->to_ns,
                                  .streams = selection->streams,
                                  .stream_count = selection->stream_count,
                                  .switches = decodes_for_switches(view, options),
                                  .summed_switches = !names_idle(options),
                                  .is_idle = names_idle(options) ? is_idle : NULL,
                                  .below = options->below != NULL ? is_below : NULL,
                                  .damage = note_damage,
                                  .context = ask,
                                  .memory_bytes = options->memory_bytes,
                                  .jobs = tool_jobs(options->jobs)};
}

/* *report is the caller's. */
static int make(const struct tool_report *view, const ttape_report_options *how,
                ttape_report **report)
{
    ttape_error err = {0};
    if (ttape_report_make(report, view->reader, how, &err) != TTAPE_OK)
        return tool_fail_error(view->input->name, &err);
    return TOOL_OK;
}

static int add_report(struct tool_report *view, const ttape_report_options *how, const char *group,
                      enum tool_report_role role)
{
    ttape_report *report;
    int status = make(view, how, &report);
    if (status == TOOL_OK) {
        tool_report_add(view, report, group, role);
        ttape_report_close(report);
    }
    return status;
}

/* One report for each expression: a function may match several. */
static int add_matches(struct tool_report *view, struct asking *ask)
{
    int status = TOOL_OK;
    const struct word_list *match = &ask->options->group;
    view->by = TTAPE_REPORT_BY_GROUP;
    for (size_t i = 0; i < match->count && status == TOOL_OK; i++) {
        regex_t regex;
        if (regcomp(&regex, match->words[i], REG_EXTENDED | REG_NOSUB) != 0)
            return tool_usage("report", "cannot use '%s' as a regular expression", match->words[i]);
        ttape_report_options how = base_options(view, ask);
        size_t before = view->row_count;
        how.group = group_of;
        ask->regex = &regex;
        status = add_report(view, &how, match->words[i], TOOL_ROLE_NONE);
        regfree(&regex);
        if (status == TOOL_OK && view->row_count == before)
            tool_message("nothing that was called matches '%s'", match->words[i]);
    }
    return status == TOOL_OK && view->row_count == 0 ? TOOL_CANNOT : status;
}

/* Rows of calls: those of the focus are its callers', those by it its callees'. */
static void set_roles(struct tool_report *view, struct asking *ask, bool callers, bool callees)
{
    size_t kept = 0, count = view->row_count;
    for (size_t i = 0; i < count; i++) {
        struct tool_report_row *row = &view->rows[i];
        bool of = has_focus(ask, row->row.site), by = has_focus(ask, row->row.caller);
        struct tool_report_row one = *row;
        if (of && callers) {
            one.role = TOOL_ROLE_CALLER;
            view->rows[kept++] = one;
        } else if (by && callees) {
            one.role = TOOL_ROLE_CALLEE;
            view->rows[kept++] = one;
        }
    }
    view->row_count = kept;
}

/* Calls of the focus by itself are both: they stand among the callers, and again here. */
static void repeat_recursion(struct tool_report *view, struct asking *ask)
{
    for (size_t i = 0, count = view->row_count; i < count; i++) {
        if (!has_focus(ask, view->rows[i].row.caller) || !has_focus(ask, view->rows[i].row.site))
            continue;
        tool_grow((void **)&view->rows, &view->row_capacity, view->row_count + 1,
                  sizeof(*view->rows));
        view->rows[view->row_count] = view->rows[i];
        view->rows[view->row_count++].role = TOOL_ROLE_CALLEE;
    }
}

static int add_neighbours(struct tool_report *view, struct asking *ask, const char *name,
                          bool callers, bool callees)
{
    ask->site_count = tool_find_sites(&view->names, name, ask->sites, SITES_MOST);
    if (ask->site_count == 0)
        return tool_no_function(&view->names, view->input->name, name);
    if (ask->site_count > SITES_MOST)
        return tool_fail("'%s' has too many functions '%s'", view->input->name, name);
    view->by = TTAPE_REPORT_BY_CALL;
    ttape_report_options how = base_options(view, ask);
    how.focus = has_focus;
    int status = add_report(view, &how, NULL, TOOL_ROLE_NONE);
    if (status != TOOL_OK)
        return status;
    set_roles(view, ask, callers, callees);
    if (callers && callees) {
        repeat_recursion(view, ask);
        how.by = TTAPE_REPORT_BY_GROUP;
        how.focus = NULL;
        how.group = focus_group;
        size_t first = view->row_count;
        status = add_report(view, &how, NULL, TOOL_ROLE_FUNCTION);
        for (size_t i = first; i < view->row_count; i++)
            view->rows[i].row.site = ask->sites[0];
    }
    return status;
}

static int collect(struct tool_report *view, struct asking *ask)
{
    const struct options *options = ask->options;
    if (options->group.count > 0)
        return add_matches(view, ask);
    if (options->butterfly != NULL)
        return add_neighbours(view, ask, options->butterfly, true, true);
    if (options->callers != NULL)
        return add_neighbours(view, ask, options->callers, true, false);
    if (options->callees != NULL)
        return add_neighbours(view, ask, options->callees, false, true);
    ttape_report_options how = base_options(view, ask);
    return add_report(view, &how, NULL, TOOL_ROLE_NONE);
}

/* ---- showing ---- */

static int print(const struct options *options, struct tool_report *view)
{
    struct tool_output out;
    tool_pager_open(&out, !options->json && !options->no_pager);
    if (options->json)
        tool_report_json(view, &out);
    else
        tool_report_table(view, &out);
    return tool_pager_close(&out);
}

static void say_view(const struct options *options, const struct tool_report *view)
{
    const struct tool_selection *selection = view->selection;
    const struct tool_place place = {.pane = options->butterfly != NULL ? "callers" : "functions",
                                     .function = options->butterfly,
                                     .has_range = selection->has_range,
                                     .from_ns = selection->from_ns,
                                     .to_ns = selection->to_ns};
    bool is_whole = options->butterfly == NULL && !selection->has_range;
    if (!options->json)
        tool_say_view(view->input, is_whole ? NULL : &place);
}

static int show(struct tool_report *view, struct asking *ask)
{
    int status = tool_below_open(&ask->below, "report", ask->options->below, &view->names);
    if (status == TOOL_OK)
        status = collect(view, ask);
    int matched = tool_below_close(&ask->below);
    status = matched > status ? matched : status;
    if (status == TOOL_OK && ask->options->filter != NULL)
        status = tool_report_filter(view, ask->options->filter);
    if (status == TOOL_OK)
        status = tool_report_sort(view);
    if (status == TOOL_OK && ask->options->ids)
        status = tool_report_find_ids(view, ask->options->limit.given ? view->limit : IDS_DEFAULT,
                                      tool_jobs(ask->options->jobs));
    if (status == TOOL_OK)
        status = print(ask->options, view);
    if (status == TOOL_OK)
        say_view(ask->options, view);
    return status == TOOL_OK ? ask->status : status;
}

static int run(void *context, const struct tool_input *input)
{
    const struct options *options = context;
    struct tool_selection selection = {0};
    struct asking *ask = tool_allocate(1, sizeof(*ask));
    struct tool_report view = {.input = input,
                               .reader = input->reader,
                               .by = options->row_kind,
                               .sort = options->sort,
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
                            tool_name_style(options->names, options->json));
    ask->options = options;
    ask->input = input;
    ask->names = &view.names;
    if (status == TOOL_OK)
        status = show(&view, ask);
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
    for (uint32_t i = 0; i < TTAPE_REPORT_BY_GROUP; i++) {
        if (strcmp(options->by, tool_report_by_names[i]) == 0) {
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
    return TOOL_OK;
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

int tool_verb_report(int argc, char **argv)
{
    int count, status;
    struct options options = {0};
    if (tool_options_parse(&command, argc, argv, &options, &count, &status) != TOOL_PARSED_GO)
        return status;
    status = check_options(&options);
    status = status == TOOL_OK ? parse_by(&options) : status;
    status = status == TOOL_OK ? check_ids(&options) : status;
    if (status != TOOL_OK)
        return status;
    tool_memory_bound(options.memory_bytes);
    keep_memory();
    status = tool_input_run(argv[0], 1, options.memory_bytes, run, &options);
    free(options.group.words);
    free(options.idle.words);
    tool_choice_close(&options.choice);
    return status;
}

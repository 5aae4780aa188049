/* Reports of one trace: by function, of callers and callees, of groups. */
#include <stdlib.h>
#include <string.h>

#include "tools/calls/losses.h"
#include "tools/command/memory_limit.h"
#include "tools/command/pager.h"
#include "tools/command/tool.h"
#include "tools/report/report_options.h"

#define SWITCHES_EVENTS 30000000u /* a second of decoding */

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

bool tool_report_names_idle(const struct options *options)
{
    return options->no_idle || options->idle.count > 0;
}

/* Very long traces are not decoded for switches that are not summed up. */
static bool decodes_for_switches(const struct tool_report *view, const struct options *options)
{
    ttape_info info;
    ttape_reader_get_info(view->reader, &info);
    return info.event_count <= SWITCHES_EVENTS && !tool_report_names_idle(options);
}

bool tool_report_wants_self_times(const struct options *options)
{
    const char *texts[] = {options->columns, options->sort};
    for (size_t i = 0; i < 2; i++)
        if (texts[i] != NULL &&
            (strstr(texts[i], "self-min") != NULL || strstr(texts[i], "self-max") != NULL))
            return true;
    return options->json && options->exact;
}

ttape_report_options tool_report_how(const struct tool_report *view, struct asking *ask)
{
    const struct tool_selection *selection = view->selection;
    const struct options *options = ask->options;
    return (ttape_report_options){.size = sizeof(ttape_report_options),
                                  .by = view->by,
                                  .exact = options->exact,
                                  .percentiles = options->exact,
                                  .self_times = view->has_self_times,
                                  .histograms = options->histogram,
                                  .has_range = selection->has_range,
                                  .from_ns = selection->from_ns,
                                  .to_ns = selection->to_ns,
                                  .streams = selection->streams,
                                  .stream_count = selection->stream_count,
                                  .switches = decodes_for_switches(view, options),
                                  .summed_switches = !tool_report_names_idle(options),
                                  .is_idle = tool_report_names_idle(options) ? is_idle : NULL,
                                  .below = options->below != NULL ? is_below : NULL,
                                  .damage = note_damage,
                                  .context = ask,
                                  .memory_bytes = tool_memory_of_answer(),
                                  .jobs = tool_jobs(options->jobs)};
}

/* *report is the caller's. */
static int make_report(const struct tool_report *view, const ttape_report_options *how,
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
    int status = make_report(view, how, &report);
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
        ttape_report_options how = tool_report_how(view, ask);
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

void tool_report_set_roles(struct tool_report *view, struct asking *ask, bool callers, bool callees)
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

int tool_report_find_focus(struct tool_report *view, struct asking *ask, const char *name)
{
    ask->site_count = tool_find_sites(&view->names, name, ask->sites, TOOL_REPORT_SITES_MOST);
    if (ask->site_count == 0)
        return tool_no_function(&view->names, view->input->name, name);
    if (ask->site_count > TOOL_REPORT_SITES_MOST)
        return tool_fail("'%s' has too many functions '%s'", view->input->name, name);
    return TOOL_OK;
}

static int add_neighbours(struct tool_report *view, struct asking *ask, const char *name,
                          bool callers, bool callees)
{
    int status = tool_report_find_focus(view, ask, name);
    if (status != TOOL_OK)
        return status;
    view->by = TTAPE_REPORT_BY_CALL;
    ttape_report_options how = tool_report_how(view, ask);
    how.focus = has_focus;
    status = add_report(view, &how, NULL, TOOL_ROLE_NONE);
    if (status != TOOL_OK)
        return status;
    tool_report_set_roles(view, ask, callers, callees);
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

bool tool_report_has_call_sites(const ttape_reader *reader)
{
    ttape_site site;
    for (uint32_t i = 0; ttape_reader_get_site(reader, i, &site) == TTAPE_OK; i++)
        if (site.kind == TTAPE_SITE_CALL)
            return true;
    return false;
}

int tool_report_no_call_sites(const char *name)
{
    return tool_fail("'%s' does not say where calls were made: record it with --call-sites", name);
}

/* Rows of functions say it themselves; what is damaged is told once. */
static bool waits_apart(const struct tool_report *view)
{
    ttape_site site;
    if (view->by == TTAPE_REPORT_BY_FUNCTION || view->by == TTAPE_REPORT_BY_NAME ||
        view->info.damaged_count != 0)
        return false;
    for (uint32_t i = 0; ttape_reader_get_site(view->reader, i, &site) == TTAPE_OK; i++)
        if (tool_site_is_recorder(view->reader, i))
            return true;
    return false;
}

static int add_waits(struct tool_report *view, ttape_report_options how)
{
    ttape_report *report;
    const ttape_report_by by = view->by;
    uint32_t count = 0;
    how.by = TTAPE_REPORT_BY_FUNCTION;
    how.percentiles = how.histograms = how.self_times = false;
    int status = make_report(view, &how, &report);
    if (status != TOOL_OK)
        return status;
    const ttape_report_row *rows = ttape_report_get_rows(report, &count);
    view->by = how.by;
    for (uint32_t i = 0; i < count; i++)
        tool_report_count_wait(view, &rows[i]);
    view->by = by;
    ttape_report_close(report);
    return TOOL_OK;
}

static int collect_rows(struct tool_report *view, struct asking *ask,
                        const ttape_report_options *how)
{
    const struct options *options = ask->options;
    if (view->by == TTAPE_REPORT_BY_SITE && !tool_report_has_call_sites(view->reader))
        return tool_report_no_call_sites(view->input->name);
    if (options->group.count > 0)
        return add_matches(view, ask);
    if (options->butterfly != NULL)
        return add_neighbours(view, ask, options->butterfly, true, true);
    if (options->callers != NULL)
        return add_neighbours(view, ask, options->callers, true, false);
    if (options->callees != NULL)
        return add_neighbours(view, ask, options->callees, false, true);
    return add_report(view, how, NULL, TOOL_ROLE_NONE);
}

int tool_report_collect(struct tool_report *view, struct asking *ask)
{
    ttape_report_options how = tool_report_how(view, ask);
    int status = collect_rows(view, ask, &how);
    return status == TOOL_OK && waits_apart(view) ? add_waits(view, how) : status;
}

/* ---- showing ---- */

int tool_report_print(const struct options *options, struct tool_report *view)
{
    struct tool_output out;
    int status = TOOL_OK;
    tool_pager_open(&out, !options->json && !options->csv && !options->no_pager);
    if (options->json)
        tool_report_json(view, &out);
    else
        status = options->csv ? tool_report_csv(view, &out) : tool_report_table(view, &out);
    int closed = tool_pager_close(&out);
    return status == TOOL_OK ? closed : status;
}

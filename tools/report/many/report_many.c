/* A report of many files: which of its questions a rollup answers, and the answer. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/calls/losses.h"
#include "tools/command/tool.h"
#include "tools/io/target.h"
#include "tools/report/many/report_many.h"
#include "tools/report/report_options.h"

#define LONGEST_KEPT 10u /* calls of a function */

/* What only the traces themselves can tell. */
static const char *needs_traces(const struct options *options)
{
    return options->choice.time.given                  ? "--time"
           : tool_choice_names(&options->choice)       ? "a choice of threads"
           : options->below != NULL                    ? "--below"
           : options->kept.count > 0                   ? "--filter"
           : options->kept.trigger_count > 0           ? "--on"
           : tool_report_names_idle(options)           ? "--idle"
           : options->row_kind == TTAPE_REPORT_BY_SITE ? "--by site" /* no rollup file has them */
                                                       : NULL;
}

/* What is asked of one trace only. */
static int check_many(struct options *options, const struct tool_share *share)
{
    if (options->butterfly != NULL || options->group.count > 0)
        return tool_usage("report", "%s is for one trace",
                          options->butterfly != NULL ? "--butterfly" : "--group");
    if (options->rollup != NULL && options->many != TOOL_MANY_NONE)
        return tool_usage("report", "a rollup has these rows anyway: leave out --by");
    const char *needs = needs_traces(options);
    if (share != NULL && share->size > 1 && needs != NULL)
        return tool_usage("report", "several processes add up whole traces: leave out %s", needs);
    if (options->rollup != NULL && options->row_kind == TTAPE_REPORT_BY_SITE)
        return tool_usage("report", "a rollup's file has no rows by place: leave out --by site, or "
                                    "--rollup, as a report of the traces has them");
    if (options->rollup != NULL && needs != NULL)
        return tool_usage("report", "a rollup is of whole traces: leave out %s", needs);
    options->join = options->across != NULL && strcmp(options->across, "none") == 0
                        ? TTAPE_ROLLUP_ACROSS_NONE
                        : TTAPE_ROLLUP_ACROSS_BUILDS;
    return TOOL_OK;
}

static int begin_trace(void *context, const struct tool_input *input, ttape_report_options *how)
{
    struct asking *ask = context;
    const struct options *options = ask->options;
    ask->input = input;
    ask->selection = (struct tool_selection){0};
    ask->damage_count = 0;
    tool_site_names_open_as(&ask->own_names, input->reader,
                            tool_name_style(options->names, options->json || options->csv));
    ask->names = &ask->own_names;
    tool_losses_warn(input);
    ask->has_call_sites |= tool_report_has_call_sites(input->reader);
    int status = tool_select_of_many(&ask->selection, input, &options->choice);
    ask->is_inside |= status == TOOL_OK && !ask->selection.is_outside;
    if (status == TOOL_OK)
        status = tool_below_open(&ask->below, "report", options->below, &ask->own_names);
    ask->view->reader = input->reader;
    ask->view->selection = &ask->selection;
    if (status == TOOL_OK)
        *how = tool_report_how(ask->view, ask);
    return status;
}

static void end_trace(void *context)
{
    struct asking *ask = context;
    if (tool_below_close(&ask->below) == TOOL_OK)
        ask->has_matched = true;
    tool_site_names_close(&ask->own_names);
    tool_selection_close(&ask->selection);
}

static int write_rollup(const struct options *options, ttape_rollup *rollup,
                        const struct tool_operands *paths)
{
    struct tool_target target = {0};
    ttape_error err = {0};
    for (size_t i = 0; i < paths->count; i++)
        if (tool_target_is_input(options->rollup, paths->paths[i]))
            return tool_fail("'%s' is an input, too", options->rollup);
    int status = tool_target_open(&target, options->rollup, options->force);
    if (status == TOOL_OK && ttape_rollup_write(rollup, &target.sink, &err) != TTAPE_OK)
        status = tool_fail_error(options->rollup, &err);
    if (status == TOOL_OK)
        status = tool_target_commit(&target);
    tool_target_close(&target);
    return status;
}

static int show_many(struct tool_report *view, struct asking *ask)
{
    const struct options *options = ask->options;
    const char *function = options->callers != NULL ? options->callers : options->callees;
    int status = TOOL_OK;
    if (function != NULL) {
        status = tool_report_find_focus(view, ask, function);
        if (status != TOOL_OK)
            return status;
        tool_report_set_roles(view, ask, options->callers != NULL, options->callees != NULL);
    }
    if (options->filter != NULL)
        status = tool_report_filter(view, options->filter);
    if (status == TOOL_OK)
        status = tool_report_sort(view);
    return status == TOOL_OK ? tool_report_print(options, view) : status;
}

static int show_rollup(struct tool_report *view, struct asking *ask, ttape_rollup *rollup)
{
    const struct options *options = ask->options;
    static const struct tool_selection all;
    struct tool_subjects subjects;
    int status = tool_subjects_open(&subjects, rollup, options->many, options->join);
    if (status == TOOL_OK) {
        view->reader = subjects.reader;
        view->selection = &all;
        view->rollup = subjects.folded;
        view->many = options->many;
        view->by = options->many != TOOL_MANY_NONE ? TTAPE_REPORT_BY_PROCESS : view->by;
        tool_site_names_open_as(&view->names, subjects.reader,
                                tool_name_style(options->names, options->json || options->csv));
        tool_subjects_rows(&subjects, view);
        status = show_many(view, ask);
        tool_site_names_close(&view->names);
    }
    tool_subjects_close(&subjects);
    return status;
}

int tool_report_many(struct options *options, const struct tool_operands *paths,
                     const struct tool_share *share)
{
    if (check_many(options, share) != TOOL_OK)
        return TOOL_USAGE;
    struct tool_filter_made filter = {0};
    bool has_filter = tool_filter_is_given(&options->kept);
    int status = has_filter ? tool_filter_make(&filter, "report", &options->kept) : TOOL_OK;
    if (status != TOOL_OK)
        return status;
    bool by_call = options->callers != NULL || options->callees != NULL;
    char name[64];
    snprintf(name, sizeof(name), "%zu file%s", paths->count, paths->count == 1 ? "" : "s");
    const struct tool_input input = {.name = paths->count == 1 ? paths->paths[0] : name, .fd = -1};
    struct asking *ask = tool_allocate(1, sizeof(*ask));
    struct tool_report view = {.input = &input,
                               .by = by_call ? TTAPE_REPORT_BY_CALL : options->row_kind,
                               .sort = options->sort,
                               .columns = options->columns,
                               .below = options->below,
                               .reverse = options->reverse,
                               .limit = options->limit.given ? options->limit.value : UINT64_MAX};
    const ttape_rollup_options how = {.size = sizeof(how),
                                      .by = view.by,
                                      .counts = options->exact,
                                      .histograms = options->histogram,
                                      .longest = options->ids ? LONGEST_KEPT : 0,
                                      .memory_bytes = options->memory_bytes};
    ttape_error err = {0};
    *ask =
        (struct asking){.options = options, .view = &view, .has_matched = options->below == NULL};
    struct tool_many many = {.paths = paths,
                             .memory_bytes = options->memory_bytes,
                             .jobs = tool_jobs(options->jobs),
                             .begin = begin_trace,
                             .end = end_trace,
                             .context = ask,
                             .needs = needs_traces(options),
                             .filter = has_filter ? &filter : NULL,
                             .share = share};
    status = ttape_rollup_open(&many.rollup, &how, &err) == TTAPE_OK ? tool_many_add(&many)
                                                                     : tool_fail_error(name, &err);
    if (status == TOOL_OK)
        status = tool_filter_check(&filter);
    if (status == TOOL_OK && options->choice.time.given && !ask->is_inside)
        status = TOOL_CANNOT;
    if (status == TOOL_OK && view.by == TTAPE_REPORT_BY_SITE && !ask->has_call_sites)
        status = tool_report_no_call_sites(name);
    tool_filter_unmake(&filter);
    uint64_t left_out = many.left_out;
    many.status = many.status != TOOL_OK ? many.status : ask->status;
    if (status == TOOL_OK && share != NULL)
        status = share->reduce(share->context, many.rollup, &many.status, &left_out);
    bool shows = status == TOOL_OK && (share == NULL || share->rank == 0);
    view.left_out = (size_t)left_out;
    if (shows)
        status = options->rollup != NULL ? write_rollup(options, many.rollup, paths)
                                         : show_rollup(&view, ask, many.rollup);
    if (status == TOOL_OK && !ask->has_matched)
        status = TOOL_CANNOT;
    status = status != TOOL_OK ? status : many.status;
    ttape_rollup_close(many.rollup);
    free(view.rows);
    free(ask);
    return status;
}

/* What the command line of `report` asks for, and how it becomes reports: verb_report.c reads it,
 * report_collect.c makes reports of one trace, many/ those of several. */
#ifndef TOOL_REPORT_OPTIONS_H
#define TOOL_REPORT_OPTIONS_H

#include <regex.h>

#include "tools/calls/below.h"
#include "tools/command/options.h"
#include "tools/filter/filtered_input.h"
#include "tools/io/operands/operands.h"
#include "tools/report/report_share.h"
#include "tools/report/report_view.h"

#define TOOL_REPORT_SITES_MOST 1024u /* functions of one name */

struct word_list {
    const char **words;
    size_t count, capacity;
};

struct options {
    const char *by, *callers, *callees, *butterfly, *below, *filter, *sort, *across, *rollup,
        *columns, *format;
    struct word_list group, idle;
    struct tool_choice choice;
    struct tool_filter kept;
    struct tool_id limit;
    uint32_t jobs, row_kind; /* of --by */
    enum tool_name_style names;
    bool exact, histogram, ids, json, csv, reverse, no_idle, no_pager, force;
    enum tool_report_many many; /* of --by */
    ttape_rollup_across join;   /* of --across */
    uint64_t memory_bytes;
};

/* What the callbacks of a report look at. */
struct asking {
    const struct options *options;
    const struct tool_input *input;
    const struct tool_site_names *names;
    const regex_t *regex;
    struct tool_below below;
    uint32_t sites[TOOL_REPORT_SITES_MOST], site_count;
    uint64_t damage_count;
    int status; /* damage that was met is a loss */
    /* of many files: of the one at hand, which has `own_names` and `selection` */
    struct tool_report *view;
    struct tool_site_names own_names;
    struct tool_selection selection;
    bool has_matched;    /* --below, in any of them */
    bool has_call_sites; /* of any of them */
    bool is_inside;      /* any of them, of the range of --time */
};

/* With --idle or --no-idle, time off the CPU is not shown: the user has said what is idle. */
bool tool_report_names_idle(const struct options *options);
/* What to ask of the trace of a view. */
ttape_report_options tool_report_how(const struct tool_report *view, struct asking *ask);
/* Whether something asks for the least and the largest own time. */
bool tool_report_wants_self_times(const struct options *options);
/* Makes the reports and appends their rows. Returns a tool_exit. */
int tool_report_collect(struct tool_report *view, struct asking *ask);
/* Whether it says where calls were made; TOOL_CANNOT, where it does not. */
bool tool_report_has_call_sites(const ttape_reader *reader);
int tool_report_no_call_sites(const char *name);
/* Finds the functions of a name: they are the focus then. Returns a tool_exit. */
int tool_report_find_focus(struct tool_report *view, struct asking *ask, const char *name);
/* Rows of calls: those of the focus are its callers', those by it its callees'. */
void tool_report_set_roles(struct tool_report *view, struct asking *ask, bool callers,
                           bool callees);
int tool_report_print(const struct options *options, struct tool_report *view);
/* All of it, of many files. */
int tool_report_many(struct options *options, const struct tool_operands *paths,
                     const struct tool_share *share);

#endif

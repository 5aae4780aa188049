/* Reports as the command shows them: what verb_report.c collects, report_rows.c puts in order,
 * report_table.c and report_json.c print. */
#ifndef TOOL_REPORT_VIEW_H
#define TOOL_REPORT_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#include <tracetape/report.h>
#include <tracetape/rollup.h>

#include "tools/calls/hook_cost.h"
#include "tools/calls/site_name.h"
#include "tools/calls/stream_choice.h"
#include "tools/command/output.h"
#include "tools/io/input.h"

#define TOOL_PERCENTILES       4u /* 50, 90, 95, 99 */
#define TOOL_REPORT_NAME_BYTES 4096u
#define TOOL_REPORT_FILE_BYTES 64u /* of a file's name in a table */

/* What a row is to the function that was asked about, in the order in which they are shown. */
enum tool_report_role { TOOL_ROLE_NONE, TOOL_ROLE_CALLER, TOOL_ROLE_FUNCTION, TOOL_ROLE_CALLEE };

/* What else rows may be of, of many files. */
enum tool_report_many { TOOL_MANY_NONE, TOOL_MANY_TRACE, TOOL_MANY_HOST, TOOL_MANY_BUILD };

/* A row, with what only its report could tell. */
struct tool_report_row {
    ttape_report_row row;
    const char *group; /* the regular expression of a group */
    enum tool_report_role role;
    int64_t percentiles[TOOL_PERCENTILES];
    int64_t on_cpu_ns;            /* of its own time, as far as it is known */
    double mean_ns, deviation_ns; /* as they are shown */
    bool is_recursive;            /* they are bounds: summaries count recursion once in the total */
    bool has_percentiles;
    size_t first_bucket; /* how its durations are spread; with a count of 0, nobody asked */
    uint32_t bucket_count;
    bool is_namesake;             /* another row that is shown has its name */
    char id[TOOL_CALL_ID_BYTES];  /* of the call of MAX, "": not looked for, or not in the file */
    const ttape_rollup_row *wide; /* of many files: the same, with all bits; or NULL */
    const ttape_rollup_function *function; /* of many files */
    const ttape_rollup_trace *id_trace;    /* of many files: the call's */
    const ttape_rollup_call *longest;      /* of many files, the longest first */
    uint32_t longest_count;
};

struct tool_report {
    const struct tool_input *input;
    ttape_reader *reader;
    ttape_report_by by;
    enum tool_report_many many; /* by is then BY_PROCESS */
    ttape_rollup *rollup;       /* of many files, or NULL */
    size_t left_out;            /* files */
    const char *sort;           /* keys, or NULL: the usual ones */
    const char *columns;        /* their names, with commas; NULL: the usual ones */
    const char *below;          /* a regular expression, or NULL: the report is of all that ran */
    bool reverse, has_times, has_percentiles, has_ids, has_self_times;
    uint64_t limit;
    const struct tool_selection *selection;
    ttape_report_info info; /* of the last report */
    struct tool_hook_cost hook;
    int64_t recorder_ns;      /* of waits for the recorder, as rows of functions say, */
    int64_t recorder_idle_ns; /* and of that what counts as idle in info */
    bool is_estimate;         /* percentiles are of histograms, which are these: */
    ttape_report_bucket *buckets;
    size_t bucket_count, bucket_capacity;
    struct tool_report_row *rows;
    size_t row_count, row_capacity, hidden_count; /* hidden: by --limit */
    struct tool_site_names names;
    char name[TOOL_REPORT_NAME_BYTES + 1]; /* of the last row that tool_report_name was asked for */
};

/* Appends the rows of a report; group may be NULL. */
void tool_report_add(struct tool_report *view, const ttape_report *report, const char *group,
                     enum tool_report_role role);
/* Counts what a row says of waiting for the recorder. */
void tool_report_count_wait(struct tool_report *view, const ttape_report_row *row);
/* Keeps the rows whose name matches. Returns a tool_exit. */
int tool_report_filter(struct tool_report *view, const char *expression);
/* Sorts and cuts to the limit; rows of one role stay together. Returns a tool_exit: TOOL_USAGE for
 * an unknown key. */
int tool_report_sort(struct tool_report *view);

/* Finds the ids of at most so many rows, a partition or two decoded for each. Returns a
 * tool_exit. */
int tool_report_find_ids(struct tool_report *view, uint64_t most, uint32_t jobs);

/* Whether a function's own time is that of recording it, for the most part. */
bool tool_report_is_hook(const struct tool_report *view, const ttape_report_row *row);

/* Whether rows say when their threads ran: the sums of a trace or a host do not. */
bool tool_report_knows_cpu(const struct tool_report *view);

/* The part of its own time in which a row's threads ran, as far as it is known; where nothing is
 * known, and of what is not known, all of it. Of the whole report: of all threads. */
int64_t tool_report_on_cpu(const struct tool_report *view, const ttape_report_row *row);
int64_t tool_report_all_on_cpu(const struct tool_report *view);

/* Works out what is shown of a row's durations. */
void tool_report_measure(const struct tool_report *view, struct tool_report_row *row);

/* What a row is called: a function, a path, a thread ... It stands until the next call. */
const char *tool_report_name(struct tool_report *view, const struct tool_report_row *row);

/* Each returns a tool_exit: TOOL_USAGE for a column that the report does not have. */
int tool_report_table(struct tool_report *view, struct tool_output *out);
int tool_report_csv(struct tool_report *view, struct tool_output *out);
/* How the durations of a row are spread: a bar for each power of two. */
void tool_report_spread(struct tool_report *view, const struct tool_report_row *row,
                        struct tool_output *out);
void tool_report_json(struct tool_report *view, struct tool_output *out);

extern const double tool_percentiles[TOOL_PERCENTILES];
extern const char *const tool_percentile_names[TOOL_PERCENTILES]; /* "p50" ... */
extern const char *const tool_role_names[];                       /* by tool_report_role */
extern const char *const tool_report_by_names[TTAPE_REPORT_BY_COUNT];
extern const char *const tool_report_many_names[TOOL_MANY_BUILD + 1];

#endif

/* Columns of a report, for its table and for CSV: what they are called, and which one has. */
#ifndef TOOL_REPORT_COLUMNS_H
#define TOOL_REPORT_COLUMNS_H

#include "tools/report/report_view.h"

/* In their order. */
enum tool_report_column {
    TOTAL,
    SELF,
    OFF,
    SHARE,
    CALLS,
    MEAN,
    MIN,
    MAX,
    DEVIATION,
    P50,
    P90,
    P99,
    IDLE,
    SPAN,
    EVENTS,
    PID,
    TID,
    HOST,
    TRACE,
    CALLER,
    FROM,
    CALL,
    SELF_MEAN, /* from here on: where they are asked for */
    SELF_MIN,
    SELF_MAX,
    MODULE,
    SOURCE,
    ROLE,
    NAME,
    TOOL_REPORT_COLUMNS
};

struct tool_report_title {
    const char *key, *title;
    bool is_text, is_time;
    unsigned rank; /* as of tool_column */
};

extern const struct tool_report_title tool_report_titles[TOOL_REPORT_COLUMNS];

/* Those of the command line, in its order, or those that the report has something for. Returns a
 * tool_exit: TOOL_USAGE where it does not have one that is asked for. */
int tool_report_columns(const struct tool_report *view,
                        enum tool_report_column ids[TOOL_REPORT_COLUMNS], size_t *count);
/* Whether a column is what rows are sorted by first. */
bool tool_report_is_sorted_by(const struct tool_report *view, enum tool_report_column id);
/* Whether all of a text are names of columns; what is none was said. */
bool tool_report_are_columns(const char *text);

/* Where calls were made, of rows by site. */
void tool_report_from(const struct tool_report *view, uint32_t place, struct tool_output *text);

/* The module's path, or the source file and line; its size. */
#define TOOL_REPORT_ORIGIN_BYTES 4128u
size_t tool_report_origin(const struct tool_report *view, const ttape_report_row *row,
                          enum tool_report_column id, char *text);

#endif

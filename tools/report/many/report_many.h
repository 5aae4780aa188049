/* A report of many files: their sums in a rollup, and its rows as the report of one trace has them.
 *
 *   report_add.c       files -> rollup
 *   report_subjects.c  rollup -> rows of functions, callers, threads, or traces, hosts, builds
 *
 * Functions, threads and traces become the definitions of a trace in memory, which the rest of a
 * report asks for names as it asks that of one file. */
#ifndef TOOL_REPORT_MANY_H
#define TOOL_REPORT_MANY_H

#include <tracetape/rollup.h>

#include "tools/filter/filtered_input.h"
#include "tools/io/operands/operands.h"
#include "tools/report/report_share.h"
#include "tools/report/report_view.h"

struct tool_many {
    const struct tool_operands *paths;
    ttape_rollup *rollup;
    uint64_t memory_bytes;
    uint32_t jobs;
    /* What to ask of a trace, and the end of it; both with `context`. Returns a tool_exit. */
    int (*begin)(void *context, const struct tool_input *input, ttape_report_options *how);
    void (*end)(void *context);
    void *context;
    const struct tool_share *share;  /* NULL: all of it is this process's */
    struct tool_filter_made *filter; /* NULL: all of the traces */
    const char *needs;               /* why no rollup will do ("--time"), or NULL */
    size_t left_out;                 /* files */
    int status;                      /* TOOL_LOSS where something was left out */
};

/* Adds all files. What is damaged or no trace is named and left out. Returns a tool_exit. */
int tool_many_add(struct tool_many *many);

/* What names stand for in the rows of many files. */
struct tool_subjects {
    ttape_rollup *folded;
    ttape_memory_sink bytes; /* a trace of definitions */
    ttape_source source;
    ttape_reader *reader;
    const ttape_rollup_row *rows;
    const ttape_rollup_function *functions;
    ttape_rollup_row *own_rows; /* of traces and hosts */
    ttape_rollup_function *own_functions;
    char *names; /* of builds */
    uint32_t row_count, function_count;
};

/* Opens the reader of names. Returns a tool_exit. */
int tool_subjects_open(struct tool_subjects *subjects, ttape_rollup *rollup,
                       enum tool_report_many by, ttape_rollup_across across);
/* Appends the rows to a view whose reader is that of the names. */
void tool_subjects_rows(struct tool_subjects *subjects, struct tool_report *view);
void tool_subjects_close(struct tool_subjects *subjects);

#endif

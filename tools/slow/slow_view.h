/* The longest calls of a trace, and how they are shown. */
#ifndef TOOL_SLOW_VIEW_H
#define TOOL_SLOW_VIEW_H

#include <tracetape/longest.h>

#include "tools/calls/inlined/inlined_callers.h"
#include "tools/calls/site_name.h"
#include "tools/calls/stream_choice.h"
#include "tools/command/output.h"
#include "tools/filter/filtered_input.h"
#include "tools/io/input.h"
#include "tools/io/operands/operands.h"

struct tool_slow;
struct tool_slow_file;

/* A call of many files, and the file that it is of. */
struct tool_slow_row {
    const ttape_longest_call *call;
    struct tool_slow *of;
};

/* Calls that took far longer than the others of their functions. */
struct tool_slow_usual {
    const ttape_longest_call *call;
    int64_t usual_ns; /* the mean of the others */
    bool is_waiting;  /* for what comes from outside, as a server does */
};

struct tool_slow_unusual {
    ttape_longest *longest[2]; /* that they are of: the longest, and those longest on a processor */
    struct tool_slow_usual *calls;
    uint32_t count;
};

struct tool_slow {
    const struct tool_input *input;
    const ttape_reader *reader;
    const char *function; /* what was asked for, or NULL: all */
    ttape_longest_by by;
    struct tool_site_names names;
    struct tool_inlined *inlined; /* NULL, of many files: each would have a process of its own */
    ttape_longest_info info;
    const ttape_longest_call *calls;
    uint32_t call_count;
    bool is_inside;                   /* something of it is in the range of --time */
    bool has_off;                     /* of a call it is known how long its thread did not run */
    uint64_t start_ns;                /* the trace's first event */
    const struct tool_slow_row *rows; /* of many files: call_count of them; NULL: `calls` */
    struct tool_slow_unusual unusual; /* beside the longest of all */
    size_t file_count;
    struct tool_slow_file *file; /* of many files: the one that this is of */
};

/* What a file is asked, and what is held for its answer. */
struct tool_slow_file {
    struct tool_input input;
    struct tool_slow view;
    ttape_longest *longest;
    uint32_t kept; /* of its calls, among the longest of all */
};

/* Fills file->view; the file's input is open. Returns a tool_exit. */
typedef int tool_slow_ask(void *context, struct tool_slow_file *file);
/* Asks one file after the other, and puts the longest calls of all into `all`, whose rows and files
 * live until tool_slow_files_close. `filter` says what is left of each, or is NULL. Files that
 * cannot be read are left out. Returns a tool_exit. */
struct tool_slow_files {
    struct tool_slow_file **files;
    size_t count, capacity;
    struct tool_slow_row *rows;
};
int tool_slow_many(struct tool_slow_files *files, const struct tool_operands *operands,
                   struct tool_filter_made *filter, uint64_t memory_bytes, uint32_t limit,
                   tool_slow_ask *ask, void *context, struct tool_slow *all);
void tool_slow_file_close(struct tool_slow_file *file);
void tool_slow_files_close(struct tool_slow_files *files);

/* What tree and dump open; "" where the call's enter is not in the file. The buffer is of
 * TOOL_CALL_ID_BYTES. */
const char *tool_slow_id(const ttape_longest_call *call, char *buffer);
const char *tool_slow_end(const ttape_longest_call *call);
uint64_t tool_slow_tid(const struct tool_slow *view, const ttape_longest_call *call);

/* Finds them as the longest were asked for; without an answer there are none. */
void tool_slow_unusual_find(struct tool_slow_unusual *unusual, ttape_reader *reader,
                            const ttape_longest_options *asked);
void tool_slow_unusual_close(struct tool_slow_unusual *unusual);

void tool_slow_table(struct tool_slow *view, struct tool_output *out);
void tool_slow_json(struct tool_slow *view, struct tool_output *out);

#endif

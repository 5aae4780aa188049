/* System calls of a trace and the code paths that led to them, added up.
 *
 *   call cursor -> calls of interest (syscalls_walk.c) -> counts and times by node of a tree of
 *                  paths, by call, by module (syscalls_add.c) -> rows (syscalls_rows.c) -> text,
 *                  JSON, folded stacks, pictures
 *
 * Of several calls that are open at once on a thread (handlers of signals make calls in calls, and
 * so do libraries where their calls are the ones of interest) a moment counts once: for the whole
 * in the outermost, for a row in the outermost that belongs to the row. */
#ifndef TOOL_SYSCALLS_VIEW_H
#define TOOL_SYSCALLS_VIEW_H

#include <regex.h>
#include <stdbool.h>
#include <stdint.h>

#include <tracetape/calls.h>
#include <tracetape/last.h>

#include "tools/callgraph/graph_functions.h"
#include "tools/calls/site_name.h"
#include "tools/calls/stream_choice.h"
#include "tools/command/options.h"
#include "tools/command/output.h"
#include "tools/command/tool_map.h"
#include "tools/io/input.h"

struct tool_sys_sum {
    uint64_t calls, errors;
    int64_t time_ns, longest_ns;
};

/* A path from its outermost frame to here. Node 0 is before them all. */
struct tool_sys_node {
    uint32_t parent, depth;
    uint32_t function;                 /* of tool_functions; FRAME_CUT, FRAME_SIGNAL + number */
    uint32_t first_child, next_child;  /* 0: none; made for printing */
    struct tool_sys_sum within, exact; /* at or below it; its own */
};

#define TOOL_SYS_ROOT   0u
#define TOOL_SYS_CUT    UINT32_MAX          /* frames that nobody could see */
#define TOOL_SYS_SIGNAL (UINT32_C(1) << 31) /* and a signal's number: its handler */

enum tool_sys_by { TOOL_SYS_BY_CALL, TOOL_SYS_BY_MODULE, TOOL_SYS_BY_PATH, TOOL_SYS_BY_FILE };

/* What is asked for. */
struct tool_sys_asked {
    enum tool_sys_by by;
    bool application; /* of paths only the frames in modules of the application */
    const regex_t
        *own; /* whose paths match; NULL: the executable, and what is in no system folder */
    const uint8_t *chosen; /* by site; NULL: all system calls */
    const uint8_t
        *through;      /* by function; NULL: all paths. They begin with the outermost of these */
    const uint8_t *to; /* by function: only these calls; NULL: all */
    bool failed;       /* only calls that failed */
    const char *path;  /* only calls with this path among their arguments; NULL: all */
    const struct tool_id *descriptor; /* only calls with this one; NULL: all */
    bool list;                        /* each call is printed, and nothing added up */
    const char *measure;              /* a counter in the place of time; NULL: time */
};

/* Arguments of a call that is open, for the line that it ends with. */
struct tool_sys_kept {
    ttape_value *values; /* NULL: nobody uses this one */
    char *text;          /* of strings */
    uint32_t count;
    uint32_t node;  /* the path to it */
    bool is_hidden; /* it only says what descriptors are */
};

/* A call that is open. */
struct tool_sys_open {
    uint64_t number; /* of its begin */
    uint32_t node, function, module;
    uint32_t whole;    /* its node before what is not asked for was cut off */
    uint32_t fresh;    /* nodes on its path that are deeper than this are those of no call around */
    int64_t nested_ns; /* of calls in it */
    bool is_inner;     /* within another one */
    bool counts;       /* it belongs to what is shown */
    bool is_unsampled; /* its stack was not taken, and rows need it */
    bool is_shown_inner, is_same_call, is_same_module; /* within another one that counts */
};

/* A call that is open where a part of a trace ends that is being recorded. */
struct tool_sys_left {
    struct tool_sys_open call;
    uint32_t stream, site, stack, height;
    uint64_t enter_ns;
    int64_t duration_ns; /* so far */
};

/* Counts of durations, by function. */
struct tool_sys_sizes {
    uint64_t **counts; /* by size; NULL: it made no call */
    uint32_t count, used;
};

struct tool_sys {
    const struct tool_input *input;
    const ttape_reader *reader;
    struct tool_sys_asked asked;
    struct tool_functions functions;
    struct tool_site_names names;
    enum tool_name_style name_style;
    bool *is_own;        /* by function: in a module of the application */
    uint32_t *module_of; /* by module: the first with its path */
    uint32_t module_count;
    struct tool_sys_node *nodes;
    size_t node_count, node_capacity;
    struct ttp_key_map children;
    uint32_t *path_nodes; /* by path: its node + 1; 0: not made yet */
    uint32_t path_count;
    struct tool_sys_open *open; /* of the stream that is read */
    size_t open_count, open_capacity;
    bool is_live; /* the trace is read part by part, while it is recorded */
    struct tool_sys_left *left;
    size_t left_count, left_capacity;
    bool needs_stacks; /* stacks are of some calls only, and rows are made of these */
    struct tool_sys_sum without_stack;            /* not in what follows */
    struct tool_sys_sum all, shown;               /* of all calls; of those that rows are made of */
    struct tool_sys_sum *by_function, *by_module; /* the last is of no module */
    struct tool_sys_sizes sizes;                  /* of what `shown` is of */
    uint64_t begin_count;
    uint64_t start_ns;                        /* the trace's first event */
    struct tool_output *out;                  /* of the list */
    struct tool_sys_files *files;             /* in its place, or NULL */
    struct tool_sys_descriptors *descriptors; /* of a list that says what they are; else NULL */
    struct tool_sys_kept *kept;
    size_t kept_count, kept_capacity;
    bool has_arguments; /* of some call that was asked */
    bool has_listed;
    ttape_last_end *ends; /* by stream: how it ended, where that is to be shown yet; how 0: not */
    size_t stream_count, stream_capacity;
};

/* ---- syscalls_add.c ---- */

void tool_sys_open_view(struct tool_sys *view, const struct tool_input *input,
                        const struct tool_sys_asked *asked, enum tool_name_style names);
void tool_sys_close_view(struct tool_sys *view);
/* Takes in what is defined by now; numbers stay what they are. False: nothing is new. */
bool tool_sys_grow_view(struct tool_sys *view);
uint32_t tool_sys_child(struct tool_sys *view, uint32_t node, uint32_t function);
/* The node of a path of the trace. */
uint32_t tool_sys_path_node(struct tool_sys *view, uint32_t path);
/* A call begins on the thread that is read; `node` is the path that leads to it, without it;
 * `has_stack`: it is known. Returns a number for its end, not 0. */
uint64_t tool_sys_begin(struct tool_sys *view, uint32_t node, uint32_t site, bool has_stack);
void tool_sys_end(struct tool_sys *view, uint64_t number, int64_t duration_ns, bool is_error);

/* ---- syscalls_sizes.c ---- */

void tool_sys_sizes_add(struct tool_sys_sizes *sizes, uint32_t function, int64_t duration_ns);
/* The duration that this share of the function's calls stay below. False: there are none. */
bool tool_sys_sizes_at(const struct tool_sys_sizes *sizes, uint32_t function, double share,
                       int64_t *duration_ns);
/* The last one stays the last. */
void tool_sys_sizes_grow(struct tool_sys_sizes *sizes, uint32_t to);
struct tool_json;
/* p50, p95 and p99 of a row, where they are known. */
void tool_sys_json_percentiles(const struct tool_sys *view, const struct tool_sys_sizes *sizes,
                               uint32_t row, struct tool_json *json);
void tool_sys_sizes_close(struct tool_sys_sizes *sizes);

/* ---- syscalls_parts.c: a trace that is being recorded, read part by part ---- */

/* Where a part ends; the number is that of its begin. */
void tool_sys_leave(struct tool_sys *view, const ttape_call *call, uint64_t number);
/* Where the next one begins; 0: nobody asked for this call. */
uint64_t tool_sys_resume(struct tool_sys *view, const ttape_call *call);

/* What follows the trace: `take` is called with each part (and all definitions so far), `show` not
 * more often than each interval, where something was taken in. Ends with the recording, its
 * recorder, and when `stop_fd` can be read. */
struct tool_sys_watch {
    const char *trace;
    uint64_t interval_ns, memory_bytes;
    int stop_fd;
    bool (*take)(void *context, const struct tool_input *part);
    void (*show)(void *context);
    void *context;
};
void tool_sys_watch(const struct tool_sys_watch *watch);
/* Calls `print` with the open calls counted as far as they came. */
void tool_sys_with_left(struct tool_sys *view, void (*print)(void *context), void *context);

/* ---- syscalls_walk.c ---- */

/* Reads the selection; with asked.list in the order of time. */
int tool_sys_read(struct tool_sys *view, const struct tool_selection *selection);
/* Reads the one partition that a forward reader has, of the streams that were chosen. */
int tool_sys_read_part(struct tool_sys *view, const struct tool_selection *selection,
                       const struct tool_choice *choice);

/* ---- syscalls_rows.c ---- */

struct tool_sys_row {
    uint32_t index;  /* of the node, function or module */
    uint32_t parent; /* of a node */
    struct tool_sys_sum within, exact;
};

struct tool_sys_rows {
    struct tool_sys_row *rows; /* most time first; of paths as a tree, where `expand` */
    size_t count, left_out;
};

struct tool_sys_shape {
    bool expand;    /* paths without a call of their own, too, as a tree */
    uint32_t depth; /* at most so many frames; 0: any */
    uint64_t limit; /* at most so many rows; 0: any */
};

void tool_sys_rows_make(struct tool_sys_rows *rows, struct tool_sys *view,
                        const struct tool_sys_shape *shape);
void tool_sys_rows_free(struct tool_sys_rows *rows);
/* The name of a step of a path, escaped; `buffer` is of TOOL_SYS_NAME_BYTES. */
#define TOOL_SYS_NAME_BYTES 48u
const char *tool_sys_step_name(struct tool_sys *view, uint32_t function, char *buffer);
/* "a > b > c" of a node. */
void tool_sys_put_path(struct tool_sys *view, struct tool_output *text, uint32_t node,
                       const char *between);

/* ---- syscalls_known.c ---- */

/* How the calls were recorded; NULL where the trace does not say it. */
struct tool_sys_known {
    const char *engine, *from;
    ttape_string measure;        /* the counter that they have; empty: none */
    uint64_t unseen, unrecorded; /* places; processes */
};

/* Whether what is measured is a time: elapsed, or on a processor. */
bool tool_sys_is_time(const struct tool_sys *view);
void tool_sys_find_known(const ttape_reader *reader, struct tool_sys_known *known);
/* A line, where the trace says it. */
void tool_sys_put_known(const struct tool_sys *view, struct tool_output *out);

/* ---- the forms ---- */

/* One line for each end of a call; `node`: the path to it. Returns a number for its end, not 0. */
uint64_t tool_sys_list_enter(struct tool_sys *view, const ttape_call_step *step, uint32_t node,
                             const ttape_call *call, bool is_shown);
void tool_sys_list_exit(struct tool_sys *view, const ttape_call_step *step, const ttape_call *call,
                        uint64_t number, bool is_shown);
/* Signals, and ends of threads, where the event is one and all calls are listed. */
void tool_sys_list_fact(struct tool_sys *view, const ttape_call_step *step);
/* Where a stream stops: "+++ exited with 7 +++". */
void tool_sys_list_end(struct tool_sys *view, const ttape_call_step *step);
void tool_sys_list_free(struct tool_sys *view);

void tool_sys_table(struct tool_sys *view, const struct tool_sys_rows *rows,
                    const struct tool_sys_shape *shape, struct tool_output *out);
/* As `strace -c` prints it. */
void tool_sys_summary(struct tool_sys *view, const struct tool_sys_rows *rows,
                      struct tool_output *out);
void tool_sys_json(struct tool_sys *view, const struct tool_sys_rows *rows,
                   struct tool_output *out);
/* Path and microseconds, or calls where there are no times. */
void tool_sys_folded(struct tool_sys *view, struct tool_output *out);
/* The tree of paths, as Graphviz draws it. */
void tool_sys_dot(struct tool_sys *view, const struct tool_sys_rows *rows, struct tool_output *out);

#endif

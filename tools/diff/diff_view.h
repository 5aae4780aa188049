/* Two traces side by side, or several runs a side: what is the same function in all, what functions
 * and call paths took in each, and where two runs first differ.
 *
 *   A, B -> diff_keys.c (one number for a function of all runs)
 *        -> diff_rows.c (functions, from reports; call paths, from calls) -> rows with two sides
 *        -> diff_sides.c (what a side is whose runs are several: medians)
 *        -> diff_noise.c (which rows differ by more than two runs do anyhow)
 *        -> diff_moves.c (functions that others call now)
 *        -> diff_totals.c (how large they are)
 *        -> diff_first.c (event by event, without times)
 *        -> diff_print.c, diff_json.c */
#ifndef TOOL_DIFF_VIEW_H
#define TOOL_DIFF_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/callgraph/graph_functions.h"
#include "tools/calls/site_name.h"
#include "tools/command/output.h"
#include "tools/io/input.h"

#define TOOL_DIFF_PATH_MOST 1000000u /* call paths of two traces */
#define TOOL_DIFF_RUN_MOST  64u      /* files: each stays open */

/* A file, which is a run of the program. */
struct tool_diff_run {
    struct tool_input input;
    struct tool_site_names names;
    ttape_info info;
    const uint32_t *key_of; /* by site */
};

struct tool_diff {
    struct tool_diff_run runs[TOOL_DIFF_RUN_MOST]; /* those of A, then those of B */
    uint32_t run_count, a_count;
    ttape_functions *functions;
    const ttape_function *keys; /* `reader` is a run; the last is of unknown functions */
    uint32_t key_count;
    bool has_times; /* all */
    uint32_t jobs;
    uint64_t memory_bytes;
    int status; /* TOOL_OK, or the worst that happened */
};

void tool_diff_make_keys(struct tool_diff *diff);
void tool_diff_close_keys(struct tool_diff *diff);
static inline uint32_t tool_diff_key_of(const struct tool_diff *diff, uint32_t run, uint32_t site)
{
    const struct tool_diff_run *of = &diff->runs[run];
    return site < of->info.site_count ? of->key_of[site] : diff->key_count - 1;
}
/* The runs of a side: from *from to *to. */
static inline void tool_diff_runs_of(const struct tool_diff *diff, int side, uint32_t *from,
                                     uint32_t *to)
{
    *from = side == 0 ? 0 : diff->a_count;
    *to = side == 0 ? diff->a_count : diff->run_count;
}
const char *tool_diff_name(struct tool_diff *diff, uint32_t key);
/* The name as --names has it, or the address in `buffer` (20 bytes); the module; the file. */
void tool_diff_describe(const struct tool_diff *diff, uint32_t key, char *buffer,
                        ttape_string *symbol, ttape_string *module, ttape_string *file);

/* ---- rows ---- */

/* What a row is in a run, or in a side: there the medians of its runs. */
struct tool_diff_side {
    uint64_t calls;
    int64_t self_ns, total_ns;
    int64_t preempted_ns; /* is no part of self_ns */
    bool is_there;        /* in any of its runs */
    bool is_partial;      /* but not in all */
};

enum tool_diff_state {
    TOOL_DIFF_SAME, /* within the limits */
    TOOL_DIFF_CHANGED,
    TOOL_DIFF_NEW,  /* in B only */
    TOOL_DIFF_GONE, /* in A only */
    TOOL_DIFF_NOISE /* another, as two runs of the same program are */
};

/* A function, or a call path: a function below another path. */
struct tool_diff_row {
    uint32_t key;
    uint32_t parent; /* paths: a row; TTAPE_NONE: outermost */
    uint32_t depth;
    uint32_t state; /* tool_diff_state */
};

enum tool_diff_sort { TOOL_DIFF_BY_SELF, TOOL_DIFF_BY_TOTAL, TOOL_DIFF_BY_CALLS };

#define TOOL_DIFF_SHARE 0.005 /* of all self time: smaller changes are noise */

/* Changes are parts of the smaller time: +1 twice as slow, -1 twice as fast. */
struct tool_diff_noise {
    bool is_measured;
    enum tool_diff_sort sort;
    double all_ns;        /* self time of all rows, of the longer run */
    double shift, spread; /* what changes by shift - spread to shift + spread is noise */
    double calls_spread;
    double run_shifts[TOOL_DIFF_RUN_MOST]; /* from a run to the next one of its side */
};

struct tool_diff_rows {
    struct tool_diff_row *rows;
    struct tool_diff_side *runs;  /* run_count of each row */
    struct tool_diff_side *sides; /* two of each row; of two runs: the same array */
    size_t count, capacity, runs_capacity;
    uint32_t run_count;
    uint32_t depth_limit; /* paths: deeper calls count where the limit is; 0: none were */
    uint32_t *order;      /* rows that changed, by how much */
    size_t order_count;
    uint64_t state_counts[5];
    struct tool_diff_noise noise;
};

/* Return a tool_exit; what failed has been reported. */
int tool_diff_functions(struct tool_diff *diff, struct tool_diff_rows *rows);
int tool_diff_paths(struct tool_diff *diff, uint32_t depth_limit, struct tool_diff_rows *rows);
void tool_diff_rows_close(struct tool_diff_rows *rows);
/* Works out `sides`. */
void tool_diff_make_sides(const struct tool_diff *diff, struct tool_diff_rows *rows);
static inline const struct tool_diff_side *tool_diff_sides(const struct tool_diff_rows *rows,
                                                           size_t row)
{
    return &rows->sides[2 * row];
}

void tool_diff_measure_noise(const struct tool_diff *diff, struct tool_diff_rows *rows,
                             enum tool_diff_sort sort);
bool tool_diff_is_noise(const struct tool_diff *diff, const struct tool_diff_rows *rows,
                        size_t row);
/* A change of the noise as a part of A's time: -0.5 is half of it. */
double tool_diff_part_of(double ratio);

struct tool_diff_limits {
    enum tool_diff_sort sort;
    bool hides_noise;
    uint64_t min_ns;   /* changes of self or total that count ... */
    double min_change; /* ... and make up this part of A's; 0.05 is 5 % */
};

/* Decides states and order. */
void tool_diff_judge(const struct tool_diff *diff, const struct tool_diff_limits *limits,
                     struct tool_diff_rows *rows);

/* Is it another number of calls, by more than the noise? */
bool tool_diff_is_other_count(const struct tool_diff_noise *noise, uint64_t a, uint64_t b);

/* ---- other callers ---- */

/* Of the callers that lost calls, or gained some, the one with most. */
struct tool_diff_caller {
    uint32_t key;    /* TTAPE_NONE: the function was outermost */
    uint32_t others; /* how many more there are */
    uint64_t calls;  /* in A (who lost them), or in B */
    uint64_t change;
};

struct tool_diff_move {
    uint32_t key;
    uint64_t calls; /* that moved */
    struct tool_diff_caller callers[2];
};

struct tool_diff_moves {
    struct tool_diff_move *moves; /* most first */
    size_t count;
};

/* Of paths that have been judged. */
void tool_diff_find_moves(const struct tool_diff_rows *paths, struct tool_diff_moves *moves);
void tool_diff_moves_close(struct tool_diff_moves *moves);

/* ---- the first difference ---- */

struct tool_diff_frame {
    uint32_t key; /* signals: TTAPE_NONE */
    uint32_t signal;
    uint32_t ordinal;    /* among its parent's calls, from 0 */
    uint32_t call_count; /* by it so far */
    uint64_t number[2];  /* of its enter in its stream */
};

enum tool_diff_end {
    TOOL_DIFF_EQUAL,
    TOOL_DIFF_EVENT, /* events differ */
    TOOL_DIFF_END_A, /* A's thread ends here */
    TOOL_DIFF_END_B,
    TOOL_DIFF_ONLY_A, /* B has no such thread */
    TOOL_DIFF_ONLY_B
};

/* A thread of A and what stands for it in B: the same place in the order of creation. */
struct tool_diff_thread {
    uint32_t process; /* place of its process */
    uint32_t place;   /* in its process */
    uint32_t streams[2];
    uint64_t tids[2], pids[2];
    uint32_t end;          /* tool_diff_end */
    uint64_t equal_events; /* before the difference */
    uint64_t numbers[2];   /* of the first events that differ */
    ttape_event events[2]; /* which they are */
    struct tool_diff_frame *frames;
    size_t frame_count;
    bool is_moved;   /* the same function is called next, by another caller: */
    uint32_t called; /* it ... */
    uint32_t
        callers[2]; /* ... and they; TTAPE_NONE: it is outermost, or a signal's handler calls */
};

struct tool_diff_first {
    struct tool_diff_thread *threads;
    size_t count, capacity;
    size_t first; /* the earliest of those that differ (by A's time), or SIZE_MAX */
    uint64_t equal_events, differing;
};

/* What differs between the two events: a phrase, or NULL where there are not two. */
const char *tool_diff_why(const struct tool_diff *diff, const struct tool_diff_thread *thread);
int tool_diff_find_first(struct tool_diff *diff, struct tool_diff_first *first);
void tool_diff_first_close(struct tool_diff_first *first);

/* ---- printing ---- */

struct tool_json;
/* `functions`: of tool_diff_functions, whose calls are added up, or NULL: calls are not told. */
void tool_diff_print_totals(const struct tool_diff *diff, const struct tool_diff_rows *functions,
                            struct tool_output *out);
void tool_diff_json_totals(const struct tool_diff *diff, const struct tool_diff_rows *functions,
                           struct tool_json *json);

void tool_diff_print_moves(struct tool_diff *diff, const struct tool_diff_moves *moves,
                           uint64_t limit, struct tool_output *out);
void tool_diff_json_moves(const struct tool_diff *diff, const struct tool_diff_moves *moves,
                          uint64_t limit, struct tool_json *json);
void tool_diff_json_name(const struct tool_diff *diff, struct tool_json *json, const char *key,
                         uint32_t function);
const char *tool_diff_caller_name(struct tool_diff *diff, uint32_t key);
bool tool_diff_is_shortened(const struct tool_diff *diff);
void tool_diff_print_rows(struct tool_diff *diff, const struct tool_diff_rows *rows, bool of_paths,
                          uint64_t limit, struct tool_output *out);
void tool_diff_print_first(struct tool_diff *diff, const struct tool_diff_first *first,
                           struct tool_output *out);
void tool_diff_json(struct tool_diff *diff, const struct tool_diff_rows *functions,
                    const struct tool_diff_rows *paths, const struct tool_diff_moves *moves,
                    uint64_t limit, struct tool_output *out);
void tool_diff_json_first(struct tool_diff *diff, const struct tool_diff_first *first,
                          struct tool_output *out);

extern const char *const tool_diff_states[];
extern const char *const tool_diff_ends[];

#endif

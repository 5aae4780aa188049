/* Two traces side by side, or several runs a side, as they are shown. What changed the library says
 * (tracetape/diff.h).
 *
 *   A, B -> ttape_diff_make -> diff_totals.c (how large they are), diff_print.c, diff_json.c,
 *                              diff_callers.c
 *        -> diff_keys.c (one number for a function of both runs)
 *        -> diff_first.c (where two runs first differ: event by event, without times) */
#ifndef TOOL_DIFF_VIEW_H
#define TOOL_DIFF_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#include <tracetape/diff.h>

#include "tools/callgraph/graph_functions.h"
#include "tools/calls/site_name.h"
#include "tools/command/output.h"
#include "tools/io/input.h"

/* A file, which is a run of the program. */
struct tool_diff_run {
    struct tool_input input;
    struct tool_site_names names;
    ttape_info info;
    const uint32_t *key_of; /* by site */
    uint64_t error_count;   /* damaged places that were reported */
};

struct tool_diff {
    struct tool_diff_run runs[TTAPE_DIFF_TRACES_MAX]; /* those of A, then those of B */
    uint32_t run_count, a_count;
    const ttape_functions *functions;
    ttape_functions *own_functions; /* --first: they are not the answer's */
    const ttape_function *keys;     /* `reader` is a run; the last is of unknown functions */
    uint32_t key_count;
    bool has_times; /* all */
    uint32_t jobs;
    uint64_t memory_bytes;
    int status; /* TOOL_OK, or the worst that happened */
};

/* functions: of an answer; NULL: they are made here. */
void tool_diff_take_keys(struct tool_diff *diff, const ttape_functions *functions);
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
/* The name, as tool_site_word has it in `buffer` (TOOL_LABEL_BYTES); the module; the file. */
void tool_diff_describe(const struct tool_diff *diff, uint32_t key, char *buffer,
                        ttape_string *symbol, ttape_string *module, ttape_string *file);

/* Two of each row. */
static inline const ttape_diff_side *tool_diff_sides(const ttape_diff_rows *rows, size_t row)
{
    return &rows->sides[2 * row];
}

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
void tool_diff_print_totals(const struct tool_diff *diff, const ttape_diff_rows *functions,
                            struct tool_output *out);
void tool_diff_json_totals(const struct tool_diff *diff, const ttape_diff_rows *functions,
                           struct tool_json *json);

/* Modules and files that are compared as one under two names. */
void tool_diff_print_matches(const struct tool_diff *diff, struct tool_output *out);
void tool_diff_json_matches(const struct tool_diff *diff, struct tool_json *json);

void tool_diff_print_moves(struct tool_diff *diff, const ttape_diff *answer, uint64_t limit,
                           struct tool_output *out);
void tool_diff_json_moves(const struct tool_diff *diff, const ttape_diff *answer, uint64_t limit,
                          struct tool_json *json);
void tool_diff_json_name(const struct tool_diff *diff, struct tool_json *json, const char *key,
                         uint32_t function);
const char *tool_diff_caller_name(struct tool_diff *diff, uint32_t key);
bool tool_diff_is_shortened(const struct tool_diff *diff);
void tool_diff_print_rows(struct tool_diff *diff, const ttape_diff_rows *rows, bool of_paths,
                          uint64_t limit, struct tool_output *out);
void tool_diff_print_first(struct tool_diff *diff, const struct tool_diff_first *first,
                           struct tool_output *out);
void tool_diff_json(struct tool_diff *diff, const ttape_diff *answer, uint64_t limit,
                    struct tool_output *out);
void tool_diff_json_first(struct tool_diff *diff, const struct tool_diff_first *first,
                          struct tool_output *out);

extern const char *const tool_diff_states[];
extern const char *const tool_diff_ends[];

#endif

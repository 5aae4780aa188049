/* Two runs of a program side by side, or several runs a side: what functions and call paths took in
 * each, what changed by more than two runs differ by anyhow, and which functions others call now.
 *
 *   reports of all runs --> rows of functions --+
 *   calls of all runs ----> rows of call paths -+--> states, order by the size of the change, noise
 *                                               +--> functions whose calls moved to other callers
 *
 * Functions are the same where symbol, module and file have the same names (tracetape/functions.h,
 * BY_NAME), or are matched under two names, as there: a row's `key` is the number of a function
 * there. What a side of several runs has is the median of them. A call path is a function below
 * another path; more paths than fit make the depth smaller, for all runs alike: what is deeper
 * counts where the limit is.
 *
 * Times are in nanoseconds, by the conventions of tracetape/calls.h; time in which a thread got no
 * processor is no part of self_ns. Sums wrap around at 64 bits.
 *
 * Threads: an answer is made by one thread and does not change afterwards: any thread may read it.
 * The readers must not be used while it is made, and must outlive it. */
#ifndef TRACETAPE_DIFF_H
#define TRACETAPE_DIFF_H

#include <stdbool.h>

#include <tracetape/error.h>
#include <tracetape/functions.h>
#include <tracetape/reader.h>
#include <tracetape/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TTAPE_DIFF_TRACES_MAX 64u
#define TTAPE_DIFF_SHARE      0.005 /* of all self time: smaller changes of two runs are noise */

typedef struct ttape_diff ttape_diff;

typedef enum ttape_diff_sort {
    TTAPE_DIFF_BY_SELF = 0,
    TTAPE_DIFF_BY_TOTAL = 1,
    TTAPE_DIFF_BY_CALLS = 2
} ttape_diff_sort;

typedef enum ttape_diff_state {
    TTAPE_DIFF_SAME = 0, /* within the limits */
    TTAPE_DIFF_CHANGED = 1,
    TTAPE_DIFF_NEW = 2,  /* in B only */
    TTAPE_DIFF_GONE = 3, /* in A only */
    TTAPE_DIFF_NOISE = 4 /* another, as two runs of the same program are */
} ttape_diff_state;
#define TTAPE_DIFF_STATES 5u

/* Zero means the default everywhere. */
typedef struct ttape_diff_options {
    size_t size;           /* sizeof(ttape_diff_options) */
    uint32_t a_count;      /* runs of A, the others are B's; default 1 */
    bool no_functions;     /* no rows of functions, */
    bool no_paths;         /* none of call paths, and no moves */
    bool keeps_noise;      /* noise is not looked for: what changed by the limits changed */
    uint32_t depth;        /* of call paths; default 64 */
    ttape_diff_sort sort;  /* by the change of what */
    uint64_t min_ns;       /* changes of self or total that count ... */
    double min_change;     /* ... and make up this part of A's; 0.05 is 5 % */
    uint32_t jobs;         /* of reports: threads; default 1 */
    uint64_t memory_bytes; /* of the answer; default 256 MiB */
    uint64_t report_bytes; /* of each report on the way; default 256 MiB */
    /* A damaged place of a run (its number) that is left out; NULL: the call fails. */
    void (*damage)(void *context, uint32_t run, const ttape_error *error);
    void *context;            /* of it, which is called from the calling thread */
    const ttape_watch *watch; /* NULL: nobody. Steps are partitions of a report, then events */
} ttape_diff_options;

/* What a row is in a run, or in a side: there the medians of its runs. */
typedef struct ttape_diff_side {
    uint64_t calls;
    int64_t self_ns, total_ns;
    int64_t preempted_ns; /* is no part of self_ns */
    int64_t shortest_ns;  /* of its calls that ended, where these call nothing; 0: not known */
    bool is_there;        /* in any of its runs */
    bool is_partial;      /* but not in all */
} ttape_diff_side;

/* A function, or a call path: a function below another path. */
typedef struct ttape_diff_row {
    uint32_t key;    /* the function's number */
    uint32_t parent; /* paths: a row; TTAPE_NONE: outermost */
    uint32_t depth;
    ttape_diff_state state;
} ttape_diff_row;

/* Changes are parts of the smaller time: +1 twice as slow, -1 twice as fast. */
typedef struct ttape_diff_noise {
    bool is_measured;
    ttape_diff_sort sort;
    double all_ns;        /* self time of all rows, of the longer run */
    double shift, spread; /* what changes by shift - spread to shift + spread is noise */
    double calls_spread;
    double share; /* of all_ns: smaller changes are noise; of several runs a side less */
    double trace_shifts[TTAPE_DIFF_TRACES_MAX]; /* from a run to the next one of its side */
} ttape_diff_noise;

/* Belongs to the library, which may give it more fields. */
typedef struct ttape_diff_rows {
    uint32_t row_count, trace_count;
    const ttape_diff_row *rows;
    const ttape_diff_side *traces; /* trace_count of each row */
    const ttape_diff_side *sides;  /* two of each row */
    const uint32_t *order;         /* rows that changed, are new or gone: by how much */
    uint32_t order_count;
    uint32_t depth_limit; /* paths: deeper calls count where the limit is; 0: none were */
    uint64_t state_counts[TTAPE_DIFF_STATES];
    ttape_diff_noise noise;
    uint64_t reserved[4];
} ttape_diff_rows;

/* The caller with most calls, of those that lost some or gained some. */
typedef struct ttape_diff_caller {
    uint32_t key;    /* TTAPE_NONE: the function was outermost */
    uint32_t others; /* how many more there are */
    uint64_t calls;  /* in A (who lost them), or in B */
    uint64_t change;
} ttape_diff_caller;

typedef struct ttape_diff_move {
    uint32_t key;
    uint64_t calls; /* that moved */
    ttape_diff_caller callers[2];
} ttape_diff_move;

/* 2 to TTAPE_DIFF_TRACES_MAX runs: those of A, then those of B. *out is NULL on failure. Limits:
 * TTAPE_E_LIMIT past memory_bytes; call paths get shallower before. */
TTAPE_API ttape_status ttape_diff_make(ttape_diff **out, ttape_reader *const *readers,
                                       uint32_t reader_count, const ttape_diff_options *options,
                                       ttape_error *err);
TTAPE_API void ttape_diff_close(ttape_diff *diff);

/* Rows of functions, and of call paths: they live as long as the answer; NULL: they were not asked
 * for. */
TTAPE_API const ttape_diff_rows *ttape_diff_get_functions(const ttape_diff *diff);
TTAPE_API const ttape_diff_rows *ttape_diff_get_paths(const ttape_diff *diff);
/* Functions whose calls moved to other callers, that with most first. */
TTAPE_API const ttape_diff_move *ttape_diff_get_moves(const ttape_diff *diff, uint32_t *count);
/* The functions that keys are numbers of; what was matched, ttape_functions_get_matches says. */
TTAPE_API const ttape_functions *ttape_diff_get_keys(const ttape_diff *diff);
/* Have all runs times? */
TTAPE_API bool ttape_diff_has_times(const ttape_diff *diff);
/* A change of the noise as a part of A's time: -0.5 is half of it. */
TTAPE_API double ttape_diff_change(double ratio);

#ifdef __cplusplus
}
#endif
#endif

/* The inside of a comparison (tracetape/diff.h).
 *
 *   diff.c        functions, from reports
 *   diff_paths.c  call paths, from calls
 *   diff_sides.c  what a side is whose runs are several: medians
 *   diff_judge.c  states and order, by diff_noise.c: what differs anyhow
 *   diff_moves.c  functions that others call now */
#ifndef TTP_ANSWERS_DIFF_INTERNAL_H
#define TTP_ANSWERS_DIFF_INTERNAL_H

#include <tracetape/diff.h>

#include "base/region.h"

/* Rows while they are made; `region` is theirs alone, or the answer's. */
struct ttp_diff_rows {
    struct ttp_region *region;
    ttape_diff_row *rows;
    ttape_diff_side *traces, *sides;
    size_t count, capacity, traces_capacity;
    uint32_t trace_count, depth_limit;
    uint32_t *order;
    size_t order_count;
    uint64_t state_counts[TTAPE_DIFF_STATES];
    ttape_diff_noise noise;
    int64_t rank_bound;                     /* diff_ranks.c; -1: there are too few runs for it */
    double paces[2][TTAPE_DIFF_TRACES_MAX]; /* of times, of shortest calls */
    ttape_diff_rows shown;                  /* the same, as it is given out */
};

struct ttape_diff {
    struct ttp_region region;
    struct ttp_region paths_region;
    ttape_diff_options options;
    ttape_reader *const *readers; /* while it is made */
    uint32_t trace_count, a_count;
    ttape_functions *functions;
    uint32_t key_count;
    bool has_times;
    struct ttp_diff_rows rows, paths;
    ttape_diff_move *moves;
    uint32_t move_count;
    uint64_t event_count; /* gone through so far */
    ttape_status status;  /* of the first failure, with *err */
    ttape_error *err;
};

/* The runs of a side: from *from to *to. */
static inline void ttp_diff_traces_of(const struct ttape_diff *diff, int side, uint32_t *from,
                                      uint32_t *to)
{
    *from = side == 0 ? 0 : diff->a_count;
    *to = side == 0 ? diff->a_count : diff->trace_count;
}

static inline const ttape_diff_side *ttp_diff_sides(const struct ttp_diff_rows *rows, size_t row)
{
    return &rows->sides[2 * row];
}

static inline ttape_diff_side *ttp_diff_measures(const struct ttp_diff_rows *rows, uint32_t row,
                                                 uint32_t run)
{
    return &rows->traces[(size_t)row * rows->trace_count + run];
}

/* A new row's number; TTAPE_NONE: memory is short. */
uint32_t ttp_diff_add_row(struct ttp_diff_rows *rows, uint32_t key, uint32_t parent,
                          uint32_t depth);
/* A place of a run failed: true where it is left out, and the rest can be gone on with. */
bool ttp_diff_pass_over(struct ttape_diff *diff, uint32_t run, const ttape_error *error);
/* False: the caller does not want to go on; that is noted. */
bool ttp_diff_goes_on(struct ttape_diff *diff);

void ttp_diff_make_paths(struct ttape_diff *diff);
/* Works out `sides`. */
void ttp_diff_make_sides(const struct ttape_diff *diff, struct ttp_diff_rows *rows);
void ttp_diff_judge(const struct ttape_diff *diff, struct ttp_diff_rows *rows);
/* The time that is looked at, of a function in a run. */
double ttp_diff_time(const ttape_diff_side *side, ttape_diff_sort sort);
int ttp_diff_compare_numbers(const void *a, const void *b); /* doubles, for qsort */
void ttp_diff_measure_noise(const struct ttape_diff *diff, struct ttp_diff_rows *rows,
                            ttape_diff_sort sort);
bool ttp_diff_is_noise(const struct ttape_diff *diff, const struct ttp_diff_rows *rows, size_t row);
/* Ranks tell of many runs a side; `numbers` has room for all rows. */
void ttp_diff_measure_ranks(const struct ttape_diff *diff, struct ttp_diff_rows *rows,
                            double *numbers);
bool ttp_diff_ranks_differ(const struct ttape_diff *diff, const struct ttp_diff_rows *rows,
                           size_t row);
/* Is it another number of calls, by more than the noise? */
bool ttp_diff_is_other_count(const ttape_diff_noise *noise, uint64_t a, uint64_t b);
void ttp_diff_find_moves(struct ttape_diff *diff);

#endif

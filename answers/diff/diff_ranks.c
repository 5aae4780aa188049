/* Whether the runs of two sides differ, where each side has many: by the ranks of their times among
 * each other (Mann and Whitney), which one disturbed run cannot turn. A run in which everything was
 * slower counts as if it had not been: each time is taken by the pace of its run.
 *
 * The same is asked of the shortest calls, where functions call nothing: what disturbs a run makes
 * calls longer and none shorter, so that of many calls the shortest one tells what the code takes.
 * The times have to agree in direction and, by a third, in size: a function's shortest call may be
 * a way through it that hardly ever counts.
 *
 * Chance alone makes any of the functions that have a say look changed in one of twenty comparisons
 * at most, by both questions together. */
#include <stdlib.h>

#include "answers/diff/diff_internal.h"

#define PACE_LEAST  5u   /* functions that have a say: fewer have no middle but themselves */
#define CERTAIN     4    /* of what shortest calls tell, so much less is shown, */
#define AGREE       3    /* where times say as much, or so much less */
#define ERRORS_MOST 0.05 /* of a whole comparison of runs that are alike */

/* How many pairs of a run of A and one of B may be in order, the rarer way round, where that is no
 * chance; in halves of pairs. -1: so few runs never tell. `ways` has room for a * b + 1. */
static int64_t find_bound(uint32_t a, uint32_t b, double errors, double *ways)
{
    uint32_t pairs = a * b;
    for (uint32_t u = 0; u <= pairs; u++)
        ways[u] = u == 0;
    /* arrangements by their pairs in order: the product of (1 - q^(b+i)) / (1 - q^i) */
    for (uint32_t i = 1; i <= a; i++) {
        for (uint32_t u = pairs; u >= b + i; u--)
            ways[u] -= ways[u - b - i];
        for (uint32_t u = i; u <= pairs; u++)
            ways[u] += ways[u - i];
    }
    double all = 0, sum = 0;
    for (uint32_t u = 0; u <= pairs; u++)
        all += ways[u];
    int64_t bound = -1;
    for (uint32_t u = 0; u <= pairs; u++) {
        sum += ways[u];
        if (2 * sum > errors * all)
            break;
        bound = 2 * (int64_t)u;
    }
    return bound;
}

static double middle_of(double *numbers, size_t count)
{
    if (count == 0)
        return 0;
    qsort(numbers, count, sizeof(*numbers), ttp_diff_compare_numbers);
    return count % 2 != 0 ? numbers[count / 2] : (numbers[count / 2 - 1] + numbers[count / 2]) / 2;
}

enum question { BY_TIME, BY_SHORTEST };

static double measure_of(const struct ttape_diff *diff, const struct ttp_diff_rows *rows,
                         size_t row, uint32_t run, enum question by)
{
    const ttape_diff_side *side = &rows->traces[row * diff->trace_count + run];
    return by == BY_TIME ? ttp_diff_time(side, rows->noise.sort) : (double)side->shortest_ns;
}

/* The measure of a function in most runs of both sides. */
static double usual_of(const struct ttape_diff *diff, const struct ttp_diff_rows *rows, size_t row,
                       enum question by)
{
    double numbers[TTAPE_DIFF_TRACES_MAX];
    for (uint32_t run = 0; run < diff->trace_count; run++)
        numbers[run] = measure_of(diff, rows, row, run, by);
    return middle_of(numbers, diff->trace_count);
}

/* Whether the function's shortest calls are known in all runs. */
static bool is_known(const struct ttape_diff *diff, const struct ttp_diff_rows *rows, size_t row)
{
    for (uint32_t run = 0; run < diff->trace_count; run++)
        if (rows->traces[row * diff->trace_count + run].shortest_ns <= 0)
            return false;
    return true;
}

/* A run's pace is how much slower than usual most functions that have a say were in it; `usual` is
 * 0 of others. */
static double pace_of(const struct ttape_diff *diff, const struct ttp_diff_rows *rows, uint32_t run,
                      enum question by, const double *usual, double *numbers)
{
    size_t count = 0;
    for (size_t row = 0; row < rows->count; row++) {
        double measure = measure_of(diff, rows, row, run, by);
        if (measure > 0 && usual[row] > 0)
            numbers[count++] = measure / usual[row];
    }
    return count >= PACE_LEAST ? middle_of(numbers, count) : 1;
}

void ttp_diff_measure_ranks(const struct ttape_diff *diff, struct ttp_diff_rows *rows,
                            double *numbers)
{
    uint32_t a = diff->a_count, b = diff->trace_count - a;
    double *usual = ttp_region_take(rows->region, 2 * rows->count + 1, sizeof(double));
    double *ways = ttp_region_take(rows->region, (size_t)a * b + 1, sizeof(double));
    size_t questions = 0;
    rows->rank_bound = -1;
    if (usual == NULL || ways == NULL)
        return;
    double *shortest = usual + rows->count;
    for (size_t row = 0; row < rows->count; row++) {
        usual[row] = usual_of(diff, rows, row, BY_TIME);
        if (usual[row] < rows->noise.share * rows->noise.all_ns) {
            usual[row] = 0; /* it has no say */
            continue;
        }
        shortest[row] = usual_of(diff, rows, row, BY_SHORTEST);
        questions += is_known(diff, rows, row) ? 2 : 1;
    }
    rows->rank_bound =
        find_bound(a, b, ERRORS_MOST / (double)(questions > 0 ? questions : 1), ways);
    for (uint32_t run = 0; run < diff->trace_count; run++) {
        rows->paces[BY_TIME][run] = pace_of(diff, rows, run, BY_TIME, usual, numbers);
        rows->paces[BY_SHORTEST][run] = pace_of(diff, rows, run, BY_SHORTEST, shortest, numbers);
    }
    ttp_region_give(rows->region, usual);
    ttp_region_give(rows->region, ways);
}

/* Whether the runs differ by their ranks; then *before and *now are the middles of both sides. */
static bool differ_by(const struct ttape_diff *diff, const struct ttp_diff_rows *rows, size_t row,
                      enum question by, double *before, double *now)
{
    double times[TTAPE_DIFF_TRACES_MAX];
    uint32_t a = diff->a_count, b = diff->trace_count - a;
    int64_t halves = 0;
    for (uint32_t run = 0; run < diff->trace_count; run++)
        times[run] = measure_of(diff, rows, row, run, by) / rows->paces[by][run];
    for (uint32_t i = 0; i < a; i++)
        for (uint32_t k = a; k < diff->trace_count; k++)
            halves += times[i] < times[k] ? 2 : times[i] == times[k];
    int64_t other = 2 * (int64_t)a * b - halves;
    *before = middle_of(times, a);
    *now = middle_of(times + a, b);
    return (halves < other ? halves : other) <= rows->rank_bound;
}

static double size_of(double change) { return change < 0 ? -change : change; }

bool ttp_diff_ranks_differ(const struct ttape_diff *diff, const struct ttp_diff_rows *rows,
                           size_t row)
{
    double before, now, shortest_before, shortest_now;
    double least = rows->noise.share * rows->noise.all_ns;
    bool differs = differ_by(diff, rows, row, BY_TIME, &before, &now);
    if (differs && size_of(now - before) >= least)
        return true;
    if (rows->noise.sort != TTAPE_DIFF_BY_SELF || !is_known(diff, rows, row) ||
        !differ_by(diff, rows, row, BY_SHORTEST, &shortest_before, &shortest_now))
        return false;
    double change = (shortest_now / shortest_before - 1) * before;
    return (change < 0) == (now < before) && size_of(change) >= least / CERTAIN &&
           size_of(now - before) >= size_of(change) / AGREE;
}

/* Whether the runs of two sides differ, where each side has many: by the ranks of their times among
 * each other (Mann and Whitney), which one disturbed run cannot turn. A run in which everything was
 * slower counts as if it had not been: each time is taken by the pace of its run.
 *
 * Chance alone makes any of the functions that have a say look changed in one of twenty comparisons
 * at most. */
#include <stdlib.h>

#include "answers/diff/diff_internal.h"

#define PACE_LEAST  5u   /* functions that have a say: fewer have no middle but themselves */
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

/* The time of a function in most runs of both sides. */
static double usual_of(const struct ttape_diff *diff, const struct ttp_diff_rows *rows, size_t row)
{
    double numbers[TTAPE_DIFF_TRACES_MAX];
    for (uint32_t run = 0; run < diff->trace_count; run++)
        numbers[run] =
            ttp_diff_time(&rows->traces[row * diff->trace_count + run], rows->noise.sort);
    return middle_of(numbers, diff->trace_count);
}

/* A run's pace is how much slower than usual most functions that have a say were in it. */
static double pace_of(const struct ttape_diff *diff, const struct ttp_diff_rows *rows, uint32_t run,
                      const double *usual, double *numbers)
{
    size_t count = 0;
    for (size_t row = 0; row < rows->count; row++) {
        double time = ttp_diff_time(&rows->traces[row * diff->trace_count + run], rows->noise.sort);
        if (usual[row] >= rows->noise.share * rows->noise.all_ns && time > 0)
            numbers[count++] = time / usual[row];
    }
    return count >= PACE_LEAST ? middle_of(numbers, count) : 1;
}

void ttp_diff_measure_ranks(const struct ttape_diff *diff, struct ttp_diff_rows *rows,
                            double *numbers)
{
    uint32_t a = diff->a_count, b = diff->trace_count - a;
    double *usual = ttp_region_take(rows->region, rows->count + 1, sizeof(double));
    double *ways = ttp_region_take(rows->region, (size_t)a * b + 1, sizeof(double));
    size_t judged = 0;
    rows->rank_bound = -1;
    if (usual == NULL || ways == NULL)
        return;
    for (size_t row = 0; row < rows->count; row++) {
        usual[row] = usual_of(diff, rows, row);
        judged += usual[row] >= rows->noise.share * rows->noise.all_ns;
    }
    rows->rank_bound = find_bound(a, b, ERRORS_MOST / (double)(judged > 0 ? judged : 1), ways);
    for (uint32_t run = 0; run < diff->trace_count; run++)
        rows->paces[run] = pace_of(diff, rows, run, usual, numbers);
    ttp_region_give(rows->region, usual);
    ttp_region_give(rows->region, ways);
}

bool ttp_diff_ranks_differ(const struct ttape_diff *diff, const struct ttp_diff_rows *rows,
                           size_t row)
{
    double times[TTAPE_DIFF_TRACES_MAX];
    const ttape_diff_side *traces = &rows->traces[row * diff->trace_count];
    uint32_t a = diff->a_count, b = diff->trace_count - a;
    int64_t halves = 0;
    for (uint32_t run = 0; run < diff->trace_count; run++)
        times[run] = ttp_diff_time(&traces[run], rows->noise.sort) / rows->paces[run];
    for (uint32_t i = 0; i < a; i++)
        for (uint32_t k = a; k < diff->trace_count; k++)
            halves += times[i] < times[k] ? 2 : times[i] == times[k];
    int64_t other = 2 * (int64_t)a * b - halves;
    double change = middle_of(times + a, b) - middle_of(times, a);
    return (halves < other ? halves : other) <= rows->rank_bound &&
           (change < 0 ? -change : change) >= rows->noise.share * rows->noise.all_ns;
}

/* What two runs of the same program differ by anyhow, worked out from the traces themselves. Of one
 * run a side: most functions did not change, so that what most of them differ by is the noise. Of
 * several: what the runs of a side differ by among themselves is. Medians, because the functions
 * that did change, and the run that was disturbed, must not count. See
 * spec/decisions/0067-noise.md. */
#include <stdlib.h>

#include "answers/diff/diff_internal.h"

#define COUNTS_SHARE 0.001 /* of all time: smaller functions say nothing about the noise */
#define COUNTS_LEAST 5u    /* fewer functions have no median that means anything */
#define USUAL_SPREAD 0.05
#define MANY_SPREADS 4.45      /* three standard deviations, by the median deviation */
#define ROOT_OF_HALF 0.7071068 /* two runs differ by more than one run does from what is usual */

/* How much slower (+) or faster (-) as a part of the smaller one, so that twice and half as much
 * are alike: +1 and -1. */
static double ratio_of(double a, double b)
{
    a = a > 1 ? a : 1;
    b = b > 1 ? b : 1;
    return b >= a ? b / a - 1 : 1 - a / b;
}

double ttape_diff_change(double ratio) { return ratio >= 0 ? ratio : 1 / (1 - ratio) - 1; }

static double distance(double a, double b) { return a > b ? a - b : b - a; }

/* No math library for one root: Newton's steps from above. */
static double root_of(double square)
{
    double root = square > 1 ? square : 1;
    for (int i = 0; i < 40; i++)
        root = (root + square / root) / 2;
    return root;
}

double ttp_diff_time(const ttape_diff_side *side, ttape_diff_sort sort)
{
    return (double)(sort == TTAPE_DIFF_BY_TOTAL ? side->total_ns : side->self_ns);
}

int ttp_diff_compare_numbers(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return left < right ? -1 : left > right;
}

/* The lower one of two in the middle: one of two functions that changed is no noise. */
static double median(double *numbers, size_t count)
{
    qsort(numbers, count, sizeof(*numbers), ttp_diff_compare_numbers);
    return numbers[(count - 1) / 2];
}

static double sum_of_self(const struct ttp_diff_rows *rows)
{
    double sums[2] = {0, 0};
    for (size_t i = 0; i < rows->count; i++)
        for (int side = 0; side < 2; side++)
            sums[side] += (double)ttp_diff_sides(rows, i)[side].self_ns;
    return sums[0] > sums[1] ? sums[0] : sums[1];
}

/* ---- two columns of numbers: two sides, or two runs of one ---- */

struct columns {
    const ttape_diff_side *a; /* of the first row; the next is `stride` behind it */
    const ttape_diff_side *b;
    size_t stride, count;
};

/* The changes of the functions that have a say. */
static size_t list_changes(const ttape_diff_noise *noise, const struct columns *columns,
                           double *changes)
{
    size_t count = 0;
    for (size_t i = 0; i < columns->count; i++) {
        const ttape_diff_side *one = &columns->a[i * columns->stride];
        const ttape_diff_side *two = &columns->b[i * columns->stride];
        double a = ttp_diff_time(one, noise->sort), b = ttp_diff_time(two, noise->sort);
        if (one->is_there && two->is_there && (a > b ? a : b) > 0 &&
            (a > b ? a : b) >= COUNTS_SHARE * noise->all_ns)
            changes[count++] = ratio_of(a, b);
    }
    return count;
}

static size_t list_call_changes(const struct columns *columns, double *changes)
{
    size_t count = 0;
    for (size_t i = 0; i < columns->count; i++) {
        const ttape_diff_side *one = &columns->a[i * columns->stride];
        const ttape_diff_side *two = &columns->b[i * columns->stride];
        if (one->is_there && two->is_there)
            changes[count++] = distance(ratio_of((double)one->calls, (double)two->calls), 0);
    }
    return count;
}

/* The middle of the changes; they become distances from it. False: too few to say anything. */
static bool centre(double *changes, size_t count, double *middle)
{
    *middle = 0;
    if (count < COUNTS_LEAST)
        return false;
    *middle = median(changes, count);
    for (size_t i = 0; i < count; i++)
        changes[i] = distance(changes[i], *middle);
    return true;
}

/* ---- one run a side ---- */

/* Calls of most programs are the same each time: then any other number is a change. */
static void measure_pair(ttape_diff_noise *noise, const struct columns *sides, double *numbers)
{
    size_t count = list_changes(noise, sides, numbers);
    if (centre(numbers, count, &noise->shift))
        noise->spread = MANY_SPREADS * median(numbers, count);
    count = list_call_changes(sides, numbers);
    if (count >= COUNTS_LEAST)
        noise->calls_spread = MANY_SPREADS * median(numbers, count);
}

/* ---- several ---- */

/* How far medians of so many runs lie apart, where a run's distance from what is usual is 1. */
static double scale_of(const struct ttape_diff *diff)
{
    double a = diff->a_count, b = diff->trace_count - diff->a_count;
    return root_of(1 / a + 1 / b);
}

/* The noise grows as everything gets slower: twice as slow, twice the noise. */
static double pace_of(double shift) { return 1 + distance(shift, 0); }

static bool has_next(const struct ttape_diff *diff, uint32_t run)
{
    return run + 1 < diff->trace_count && run + 1 != diff->a_count;
}

/* Noise is what differs between each run and the next one of its side. */
static void measure_traces(const struct ttape_diff *diff, struct ttp_diff_rows *rows,
                           const struct columns *sides, double *numbers)
{
    ttape_diff_noise *noise = &rows->noise;
    if (rows->count == 0)
        return;
    double *distances =
        ttp_region_take(rows->region, rows->count * diff->trace_count + 1, sizeof(double));
    double *calls =
        ttp_region_take(rows->region, rows->count * diff->trace_count + 1, sizeof(double));
    if (distances == NULL || calls == NULL)
        return;
    size_t distance_count = 0, call_count = 0;
    for (uint32_t run = 0; run < diff->trace_count; run++) {
        struct columns pair = {.a = &rows->traces[run],
                               .b = &rows->traces[run + 1],
                               .stride = diff->trace_count,
                               .count = rows->count};
        if (!has_next(diff, run))
            continue;
        size_t count = list_changes(noise, &pair, &distances[distance_count]);
        if (!centre(&distances[distance_count], count, &noise->trace_shifts[run]))
            count = 0;
        for (size_t i = 0; i < count; i++)
            distances[distance_count++] /= pace_of(noise->trace_shifts[run]);
        call_count += list_call_changes(&pair, &calls[call_count]);
    }
    double many = MANY_SPREADS * scale_of(diff) * ROOT_OF_HALF;
    size_t count = list_changes(noise, sides, numbers);
    if (centre(numbers, count, &noise->shift) && distance_count > 0)
        noise->spread = many * pace_of(noise->shift) * median(distances, distance_count);
    if (call_count > 0)
        noise->calls_spread = many * median(calls, call_count);
    ttp_region_give(rows->region, distances);
    ttp_region_give(rows->region, calls);
}

/* What this row's own runs differ by. A median for times, as a run may have been disturbed; calls
 * that are not always the same are left to chance, by as much as they were seen to vary. */
static void measure_own(const struct ttape_diff *diff, const struct ttp_diff_rows *rows, size_t row,
                        double *spread, double *calls_spread)
{
    double numbers[TTAPE_DIFF_TRACES_MAX];
    const ttape_diff_side *traces = &rows->traces[row * diff->trace_count];
    const ttape_diff_noise *noise = &rows->noise;
    size_t count = 0;
    double most = 0;
    for (uint32_t run = 0; run < diff->trace_count; run++) {
        if (!has_next(diff, run))
            continue;
        const ttape_diff_side *a = &traces[run], *b = &traces[run + 1];
        numbers[count++] =
            distance(ratio_of(ttp_diff_time(a, noise->sort), ttp_diff_time(b, noise->sort)),
                     noise->trace_shifts[run]) /
            pace_of(noise->trace_shifts[run]);
        double calls = distance(ratio_of((double)a->calls, (double)b->calls), 0);
        most = calls > most ? calls : most;
    }
    qsort(numbers, count, sizeof(*numbers), ttp_diff_compare_numbers);
    double many = MANY_SPREADS * scale_of(diff) * ROOT_OF_HALF;
    *spread = many * pace_of(noise->shift) * numbers[count / 2];
    *calls_spread = many * most;
}

/* ---- both ---- */

void ttp_diff_measure_noise(const struct ttape_diff *diff, struct ttp_diff_rows *rows,
                            ttape_diff_sort sort)
{
    double *numbers = ttp_region_take(rows->region, rows->count + 1, sizeof(double));
    if (numbers == NULL)
        return;
    struct columns sides = {.a = rows->sides, .stride = 2, .count = rows->count};
    sides.b = rows->count > 0 ? rows->sides + 1 : NULL;
    rows->noise = (ttape_diff_noise){.is_measured = true, .sort = sort};
    rows->noise.all_ns = sum_of_self(rows);
    rows->noise.spread = USUAL_SPREAD;
    rows->noise.share = TTAPE_DIFF_SHARE * scale_of(diff) * ROOT_OF_HALF;
    if (diff->trace_count == 2)
        measure_pair(&rows->noise, &sides, numbers);
    else
        measure_traces(diff, rows, &sides, numbers);
    rows->rank_bound = -1;
    if (diff->trace_count > 2)
        ttp_diff_measure_ranks(diff, rows, numbers);
    ttp_region_give(rows->region, numbers);
}

bool ttp_diff_is_other_count(const ttape_diff_noise *noise, uint64_t a, uint64_t b)
{
    return a == 0 || b == 0 || distance(ratio_of((double)a, (double)b), 0) > noise->calls_spread;
}

bool ttp_diff_is_noise(const struct ttape_diff *diff, const struct ttp_diff_rows *rows, size_t row)
{
    const ttape_diff_noise *noise = &rows->noise;
    const ttape_diff_side *a = ttp_diff_sides(rows, row), *b = a + 1;
    double spread = noise->spread, calls_spread = noise->calls_spread;
    if (diff->trace_count > 2) {
        double own, own_calls;
        measure_own(diff, rows, row, &own, &own_calls);
        spread = own > spread ? own : spread;
        calls_spread = own_calls > calls_spread ? own_calls : calls_spread;
    }
    bool is_counted = !a->is_partial && !b->is_partial; /* else calls are chance */
    if (is_counted && a->calls != b->calls &&
        distance(ratio_of((double)a->calls, (double)b->calls), 0) > calls_spread)
        return false;
    if (rows->rank_bound >= 0)
        return !ttp_diff_ranks_differ(diff, rows, row);
    double before = ttp_diff_time(a, noise->sort), now = ttp_diff_time(b, noise->sort);
    return distance(now, before) < noise->share * noise->all_ns ||
           distance(ratio_of(before, now), noise->shift) <= spread;
}

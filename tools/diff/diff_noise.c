/* What two runs of the same program differ by anyhow, worked out from the traces themselves: most
 * functions did not change, so that what most of them differ by is the noise. Medians, because the
 * few functions that did change must not count. See spec/decisions/0067-noise.md. */
#include <stdlib.h>

#include "tools/command/tool.h"
#include "tools/diff/diff_view.h"

#define COUNTS_SHARE 0.001 /* of all time: smaller functions say nothing about the noise */
#define COUNTS_LEAST 5u    /* fewer functions have no median that means anything */
#define USUAL_SPREAD 0.05
#define MANY_SPREADS 4.45 /* three standard deviations, by the median deviation */

/* How much slower (+) or faster (-) as a part of the smaller one, so that twice and half as much
 * are alike: +1 and -1. */
static double ratio_of(double a, double b)
{
    a = a > 1 ? a : 1;
    b = b > 1 ? b : 1;
    return b >= a ? b / a - 1 : 1 - a / b;
}

double tool_diff_part_of(double ratio) { return ratio >= 0 ? ratio : 1 / (1 - ratio) - 1; }

static double distance(double a, double b) { return a > b ? a - b : b - a; }

static double time_of(const struct tool_diff_side *side, enum tool_diff_sort sort)
{
    return (double)(sort == TOOL_DIFF_BY_TOTAL ? side->total_ns : side->self_ns);
}

static int compare_numbers(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return left < right ? -1 : left > right;
}

/* The lower one of two in the middle: one of two functions that changed is no noise. */
static double median(double *numbers, size_t count)
{
    qsort(numbers, count, sizeof(*numbers), compare_numbers);
    return numbers[(count - 1) / 2];
}

static double sum_of_self(const struct tool_diff_rows *rows)
{
    double sums[2] = {0, 0};
    for (size_t i = 0; i < rows->count; i++)
        for (int side = 0; side < 2; side++)
            sums[side] += (double)rows->rows[i].sides[side].self_ns;
    return sums[0] > sums[1] ? sums[0] : sums[1];
}

/* The middle of what times changed by, and how far from it is usual. */
static void measure_times(struct tool_diff_noise *noise, const struct tool_diff_rows *rows,
                          double *numbers)
{
    size_t count = 0;
    noise->spread = USUAL_SPREAD;
    for (size_t i = 0; i < rows->count; i++) {
        const struct tool_diff_side *sides = rows->rows[i].sides;
        double a = time_of(&sides[0], noise->sort), b = time_of(&sides[1], noise->sort);
        if (sides[0].is_there && sides[1].is_there && (a > b ? a : b) > 0 &&
            (a > b ? a : b) >= COUNTS_SHARE * noise->all_ns)
            numbers[count++] = ratio_of(a, b);
    }
    if (count < COUNTS_LEAST)
        return;
    noise->shift = median(numbers, count);
    for (size_t i = 0; i < count; i++)
        numbers[i] = distance(numbers[i], noise->shift);
    noise->spread = MANY_SPREADS * median(numbers, count);
}

/* Calls of most programs are the same each time: then any other number is a change. */
static void measure_calls(struct tool_diff_noise *noise, const struct tool_diff_rows *rows,
                          double *numbers)
{
    size_t count = 0;
    for (size_t i = 0; i < rows->count; i++) {
        const struct tool_diff_side *sides = rows->rows[i].sides;
        if (sides[0].is_there && sides[1].is_there)
            numbers[count++] =
                distance(ratio_of((double)sides[0].calls, (double)sides[1].calls), 0);
    }
    if (count >= COUNTS_LEAST)
        noise->calls_spread = MANY_SPREADS * median(numbers, count);
}

void tool_diff_measure_noise(struct tool_diff_noise *noise, const struct tool_diff_rows *rows,
                             enum tool_diff_sort sort)
{
    double *numbers = tool_allocate(rows->count + 1, sizeof(double));
    *noise =
        (struct tool_diff_noise){.is_measured = true, .sort = sort, .all_ns = sum_of_self(rows)};
    measure_times(noise, rows, numbers);
    measure_calls(noise, rows, numbers);
    free(numbers);
}

bool tool_diff_is_noise(const struct tool_diff_noise *noise, const struct tool_diff_side *a,
                        const struct tool_diff_side *b)
{
    if (a->calls != b->calls &&
        distance(ratio_of((double)a->calls, (double)b->calls), 0) > noise->calls_spread)
        return false;
    double before = time_of(a, noise->sort), now = time_of(b, noise->sort);
    return distance(now, before) < TOOL_DIFF_SHARE * noise->all_ns ||
           distance(ratio_of(before, now), noise->shift) <= noise->spread;
}

/* A side of several runs: its time and calls are the medians of theirs, so that one run that was
 * disturbed does not count. Each side of two runs is that run. */
#include <stdlib.h>

#include "answers/diff/diff_internal.h"

struct measures {
    uint64_t calls[TTAPE_DIFF_TRACES_MAX];
    int64_t self_ns[TTAPE_DIFF_TRACES_MAX], total_ns[TTAPE_DIFF_TRACES_MAX];
    int64_t preempted_ns[TTAPE_DIFF_TRACES_MAX], shortest_ns[TTAPE_DIFF_TRACES_MAX];
};

static int compare_counts(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return left < right ? -1 : left > right;
}

static int compare_times(const void *a, const void *b)
{
    int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
    return left < right ? -1 : left > right;
}

/* The middle, or what is between the two that are there: neither can overflow. */
static uint64_t median_count(uint64_t *numbers, uint32_t count)
{
    qsort(numbers, count, sizeof(*numbers), compare_counts);
    uint64_t low = numbers[(count - 1) / 2], high = numbers[count / 2];
    return low + (high - low) / 2;
}

static int64_t median_time(int64_t *numbers, uint32_t count)
{
    qsort(numbers, count, sizeof(*numbers), compare_times);
    int64_t low = numbers[(count - 1) / 2], high = numbers[count / 2];
    return low + (int64_t)(((uint64_t)high - (uint64_t)low) / 2);
}

static ttape_diff_side side_of(const ttape_diff_side *traces, uint32_t from, uint32_t to,
                               struct measures *scratch)
{
    ttape_diff_side side = {0};
    for (uint32_t run = from; run < to; run++) {
        scratch->calls[run - from] = traces[run].calls;
        scratch->self_ns[run - from] = traces[run].self_ns;
        scratch->total_ns[run - from] = traces[run].total_ns;
        scratch->preempted_ns[run - from] = traces[run].preempted_ns;
        scratch->shortest_ns[run - from] = traces[run].shortest_ns;
        side.is_there |= traces[run].is_there;
        side.is_partial |= !traces[run].is_there;
    }
    side.is_partial &= side.is_there;
    side.calls = median_count(scratch->calls, to - from);
    side.self_ns = median_time(scratch->self_ns, to - from);
    side.total_ns = median_time(scratch->total_ns, to - from);
    side.preempted_ns = median_time(scratch->preempted_ns, to - from);
    side.shortest_ns = median_time(scratch->shortest_ns, to - from);
    return side;
}

void ttp_diff_make_sides(const struct ttape_diff *diff, struct ttp_diff_rows *rows)
{
    struct measures scratch;
    rows->sides = rows->traces;
    if (diff->trace_count == 2 || rows->traces == NULL)
        return;
    rows->sides = ttp_region_take(rows->region, 2 * rows->count, sizeof(*rows->sides));
    if (rows->sides == NULL)
        return;
    for (size_t i = 0; i < rows->count; i++) {
        for (int side = 0; side < 2; side++) {
            uint32_t from, to;
            ttp_diff_traces_of(diff, side, &from, &to);
            rows->sides[2 * i + (size_t)side] =
                side_of(&rows->traces[i * diff->trace_count], from, to, &scratch);
        }
    }
}

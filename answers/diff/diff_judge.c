/* What changed, and by how much: the state of each row, and those that count in order. */
#include "answers/diff/diff_internal.h"
#include "base/ranks.h"
#include "base/time_sum.h"

static uint64_t size_of(int64_t value) { return value < 0 ? 0 - (uint64_t)value : (uint64_t)value; }

static bool is_change(const ttape_diff_options *limits, int64_t a_ns, int64_t b_ns)
{
    uint64_t change = size_of(ttp_change_ns(a_ns, b_ns));
    return change > 0 && change >= limits->min_ns &&
           (double)change >= limits->min_change * (double)size_of(a_ns);
}

/* What only some runs of a side have is there by chance. */
static ttape_diff_state state_of(const struct ttape_diff *diff, const ttape_diff_options *limits,
                                 const struct ttp_diff_rows *rows, size_t row)
{
    const ttape_diff_side *a = ttp_diff_sides(rows, row), *b = a + 1;
    bool is_judged = rows->noise.is_measured;
    ttape_diff_state found = !a->is_there   ? TTAPE_DIFF_NEW
                             : !b->is_there ? TTAPE_DIFF_GONE
                                            : TTAPE_DIFF_CHANGED;
    if (found != TTAPE_DIFF_CHANGED && !(is_judged && (a->is_partial || b->is_partial)))
        return found;
    bool times = diff->has_times && (is_change(limits, a->self_ns, b->self_ns) ||
                                     is_change(limits, a->total_ns, b->total_ns));
    if (!times && a->calls == b->calls)
        return TTAPE_DIFF_SAME;
    return is_judged && ttp_diff_is_noise(diff, rows, row) ? TTAPE_DIFF_NOISE : found;
}

static struct ttp_rank weigh(const struct ttp_diff_rows *rows, uint32_t number,
                             ttape_diff_sort sort)
{
    const ttape_diff_side *a = ttp_diff_sides(rows, number), *b = a + 1;
    uint64_t self = size_of(ttp_change_ns(a->self_ns, b->self_ns)),
             total = size_of(ttp_change_ns(a->total_ns, b->total_ns));
    uint64_t calls = a->calls < b->calls ? b->calls - a->calls : a->calls - b->calls;
    uint64_t size = sort == TTAPE_DIFF_BY_SELF ? self : sort == TTAPE_DIFF_BY_TOTAL ? total : calls;
    return (struct ttp_rank){
        .index = number, .weight = size, .calls = sort == TTAPE_DIFF_BY_CALLS ? self : calls};
}

void ttp_diff_judge(const struct ttape_diff *diff, struct ttp_diff_rows *rows)
{
    struct ttp_rank *weights = ttp_region_take(rows->region, rows->count, sizeof(*weights));
    rows->order = ttp_region_take(rows->region, rows->count, sizeof(uint32_t));
    if (!diff->options.keeps_noise && diff->has_times)
        ttp_diff_measure_noise(diff, rows, diff->options.sort);
    if (rows->region->is_short)
        return;
    for (uint32_t i = 0; i < rows->count; i++) {
        ttape_diff_row *row = &rows->rows[i];
        row->state = state_of(diff, &diff->options, rows, i);
        rows->state_counts[row->state]++;
        if (row->state != TTAPE_DIFF_SAME && row->state != TTAPE_DIFF_NOISE)
            weights[rows->order_count++] = weigh(rows, i, diff->options.sort);
    }
    ttp_sort_ranks(weights, rows->order_count);
    for (size_t i = 0; i < rows->order_count; i++)
        rows->order[i] = weights[i].index;
    ttp_region_give(rows->region, weights);
}

/* Durations by size, and the longest calls, of a row. */
#include <stdlib.h>

#include "answers/report/durations.h"
#include "answers/rollup/rollup_internal.h"
#include "base/ordered.h"

static size_t index_of(const struct ttp_rollup_row *row, uint32_t key)
{
    struct ttp_bisect s = {.end = row->count_count};
    while (ttp_bisect_next(&s))
        ttp_bisect_turn(&s, row->counts[s.middle].key < key);
    return s.first;
}

ttape_status ttp_rollup_add_count(ttape_rollup *r, struct ttp_rollup_row *row, uint32_t key,
                                  uint64_t count, ttape_error *err)
{
    size_t at = index_of(row, key);
    if (at < row->count_count && row->counts[at].key == key)
        return __builtin_add_overflow(row->counts[at].count, count, &row->counts[at].count)
                   ? ttp_rollup_fail_sum(r, err)
                   : TTAPE_OK;
    if (!ttp_region_grow(&r->region, &row->counts, &row->count_capacity, row->count_count + 1,
                         sizeof *row->counts))
        return ttp_rollup_fail_short(r, err);
    memmove(&row->counts[at + 1], &row->counts[at], (row->count_count - at) * sizeof *row->counts);
    row->counts[at] = (struct ttp_rollup_count){key, count};
    row->count_count++;
    return TTAPE_OK;
}

/* ---- percentiles ---- */

/* The durations of a class; of counts by size they stand at its least one. */
static struct ttp_duration_range range_of(const ttape_rollup *r, uint32_t key, int64_t min_ns)
{
    uint64_t unit = r->units[key >> 16];
    uint32_t class = key & 0xffff;
    if (unit == 0) {
        int64_t least = ttp_duration_class_least(class);
        return (struct ttp_duration_range){least, least};
    }
    struct ttp_duration_range range = {0, 0};
    if (class == 0)
        range.least_ns = min_ns < 0 ? min_ns : 0;
    else if (__builtin_mul_overflow(1ull << (class - 1), unit, &range.least_ns))
        range.least_ns = INT64_MAX;
    if (class + 1 >= TTP_ROLLUP_BUCKETS ||
        __builtin_mul_overflow((1ull << class) - 1, unit, &range.most_ns))
        range.most_ns = INT64_MAX;
    return range;
}

struct sizes {
    struct ttp_duration_range range;
    uint64_t count;
};

static int compare_sizes(const void *a, const void *b)
{
    const struct ttp_duration_range *one = a, *two = b; /* they come first */
    if (one->least_ns != two->least_ns)
        return one->least_ns < two->least_ns ? -1 : 1;
    return one->most_ns < two->most_ns ? -1 : one->most_ns > two->most_ns;
}

ttape_status ttape_rollup_get_percentile(const ttape_rollup *r, uint32_t row, double share,
                                         int64_t *duration_ns)
{
    *duration_ns = 0;
    if (r == NULL || !r->is_settled || row >= r->row_count)
        return TTAPE_E_NOT_FOUND;
    const struct ttp_rollup_row *of = &r->rows[r->row_order[row]];
    if (of->count_count == 0 || ttp_rollup_get_count(&of->sums, TTP_ROLLUP_EXITS) == 0)
        return TTAPE_E_NOT_FOUND;
    struct sizes *sizes = malloc(of->count_count * sizeof *sizes);
    if (sizes == NULL)
        return TTAPE_E_MEMORY;
    const struct ttp_duration_range extremes = {
        (int64_t)ttp_rollup_get(&of->sums, TTP_ROLLUP_MIN).words[0],
        (int64_t)ttp_rollup_get(&of->sums, TTP_ROLLUP_MAX).words[0]};
    uint64_t all = 0, before = 0;
    for (size_t i = 0; i < of->count_count; i++) {
        sizes[i].range = range_of(r, of->counts[i].key, extremes.least_ns);
        sizes[i].count = of->counts[i].count;
        all += sizes[i].count;
    }
    qsort(sizes, of->count_count, sizeof *sizes, compare_sizes);
    uint64_t rank = ttp_durations_rank(all, share);
    size_t at = 0;
    while (at + 1 < of->count_count && before + sizes[at].count <= rank)
        before += sizes[at++].count;
    int64_t found = ttp_durations_spread(sizes[at].range, extremes, sizes[at].count, rank - before);
    found = found < extremes.least_ns ? extremes.least_ns : found;
    *duration_ns = found > extremes.most_ns ? extremes.most_ns : found;
    free(sizes);
    return TTAPE_OK;
}

/* ---- longest calls ---- */

/* Whether a call comes before another one: by duration, then by trace, stream and number. */
static bool is_before(const ttape_rollup *r, const ttape_rollup_call *a, const ttape_rollup_call *b)
{
    if (a->duration_ns != b->duration_ns)
        return a->duration_ns > b->duration_ns;
    int order = memcmp(r->traces[a->trace].id, r->traces[b->trace].id, TTP_ROLLUP_ID_BYTES);
    if (order != 0)
        return order < 0;
    return a->stream != b->stream ? a->stream < b->stream : a->enter_number < b->enter_number;
}

bool ttp_rollup_add_call(ttape_rollup *r, struct ttp_rollup_row *row, const ttape_rollup_call *call)
{
    if (row->longest == NULL)
        row->longest = ttp_region_take(&r->region, TTP_ROLLUP_LONGEST_MAX, sizeof *row->longest);
    if (row->longest == NULL)
        return false;
    uint32_t at = row->longest_count;
    while (at > 0 && is_before(r, call, &row->longest[at - 1]))
        at--;
    if (at >= r->options.longest)
        return true;
    uint32_t kept =
        row->longest_count < r->options.longest ? row->longest_count : r->options.longest - 1;
    memmove(&row->longest[at + 1], &row->longest[at], (kept - at) * sizeof *row->longest);
    row->longest[at] = *call;
    row->longest_count = kept + 1;
    return true;
}

const ttape_rollup_call *ttape_rollup_get_longest(const ttape_rollup *r, uint32_t row,
                                                  uint32_t *count)
{
    *count = 0;
    if (r == NULL || !r->is_settled || row >= r->row_count)
        return NULL;
    *count = r->rows[r->row_order[row]].longest_count;
    return r->rows[r->row_order[row]].longest;
}

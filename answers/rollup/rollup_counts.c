/* Durations by size, and the longest calls, of a row. */
#include <stdlib.h>

#include "answers/report/durations.h"
#include "answers/rollup/rollup_internal.h"
#include "base/ordered.h"
#include "format/base/fail.h"

static size_t index_of(const struct ttp_rollup_row *row, uint32_t key)
{
    struct ttp_bisect s = {.end = row->count_count};
    while (ttp_bisect_next(&s))
        ttp_bisect_turn(&s, row->counts[s.middle].key < key);
    return s.first;
}

bool ttp_rollup_add_count(ttape_rollup *r, struct ttp_rollup_row *row, uint32_t key, uint64_t count)
{
    size_t at = index_of(row, key);
    if (at < row->count_count && row->counts[at].key == key)
        return !__builtin_add_overflow(row->counts[at].count, count, &row->counts[at].count);
    if (!ttp_region_grow(&r->region, &row->counts, &row->count_capacity, row->count_count + 1,
                         sizeof *row->counts))
        return false;
    memmove(&row->counts[at + 1], &row->counts[at], (row->count_count - at) * sizeof *row->counts);
    row->counts[at] = (struct ttp_rollup_count){key, count};
    row->count_count++;
    return true;
}

bool ttp_rollup_merge_counts(ttape_rollup *r, struct ttp_rollup_row *row,
                             const struct ttp_rollup_count *counts, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!ttp_rollup_add_count(r, row, counts[i].key, counts[i].count))
            return false;
    return true;
}

/* ---- percentiles ---- */

/* The numbers of `unit`'s classes, in [least, most]. */
static void bounds_of(const ttape_rollup *r, uint32_t key, int64_t *least, int64_t *most)
{
    uint64_t unit = r->units[key >> 16];
    uint32_t class = key & 0xffff;
    if (unit == 0) {
        *least = *most = ttp_duration_class_least(class);
        return;
    }
    *least = 0;
    *most = 0;
    if (class == 0)
        return;
    if (__builtin_mul_overflow(1ull << (class - 1), unit, least))
        *least = INT64_MAX;
    if (class + 1 >= TTP_ROLLUP_BUCKETS || __builtin_mul_overflow((1ull << class) - 1, unit, most))
        *most = INT64_MAX;
}

struct sizes {
    int64_t least, most;
    uint64_t count;
};

static int compare_sizes(const void *a, const void *b)
{
    const struct sizes *one = a, *two = b;
    if (one->least != two->least)
        return one->least < two->least ? -1 : 1;
    return one->most < two->most ? -1 : one->most > two->most;
}

/* As if the durations of a bucket were spread evenly over what of it lies between the least and the
 * largest of all; those of a class are its least. */
static int64_t duration_at(const struct sizes *size, uint64_t rank, int64_t min, int64_t max)
{
    int64_t least = size->least > min ? size->least : min;
    int64_t most = size->most < max ? size->most : max;
    if (size->least == size->most)
        return size->least;
    if (least > most)
        return most;
    uint64_t width = (uint64_t)most - (uint64_t)least, share = rank + 1, count = size->count;
    for (; count > UINT32_MAX; count >>= 1)
        share >>= 1;
    return (int64_t)((uint64_t)least + width / count * share + width % count * share / count);
}

ttape_status ttape_rollup_get_percentile(const ttape_rollup *r, uint32_t row, double share,
                                         int64_t *duration_ns)
{
    *duration_ns = 0;
    if (r == NULL || !r->is_settled || row >= r->row_count ||
        r->rows[r->row_order[row]].count_count == 0)
        return TTAPE_E_NOT_FOUND;
    const struct ttp_rollup_row *of = &r->rows[r->row_order[row]];
    struct sizes *sizes = malloc(of->count_count * sizeof *sizes);
    if (sizes == NULL)
        return TTAPE_E_MEMORY;
    uint64_t all = 0, before = 0;
    for (size_t i = 0; i < of->count_count; i++) {
        bounds_of(r, of->counts[i].key, &sizes[i].least, &sizes[i].most);
        sizes[i].count = of->counts[i].count;
        all += sizes[i].count;
    }
    qsort(sizes, of->count_count, sizeof *sizes, compare_sizes);
    share = share > 0 ? share < 1 ? share : 1 : 0;
    double wanted = share * (double)all;
    uint64_t rank = wanted >= 0x1p63 ? all : (uint64_t)wanted;
    rank -= rank > 0 && (double)rank == wanted; /* the smallest that `share` do not exceed */
    rank = rank < all ? rank : all - 1;
    size_t at = 0;
    while (at + 1 < of->count_count && before + sizes[at].count <= rank)
        before += sizes[at++].count;
    *duration_ns = duration_at(&sizes[at], rank - before,
                               (int64_t)ttp_rollup_get(&of->sums, TTP_ROLLUP_MIN).words[0],
                               (int64_t)ttp_rollup_get(&of->sums, TTP_ROLLUP_MAX).words[0]);
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

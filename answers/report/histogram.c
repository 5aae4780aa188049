/* What a histogram by powers of two says of a row's durations. */
#include <tracetape/report.h>

#include "answers/report/report_work.h"
#include "format/base/fail.h"

/* In nanoseconds, at most as many as 64 bits hold. */
static int64_t scaled(uint64_t ticks, uint64_t unit_ns)
{
    int64_t ns;
    return __builtin_mul_overflow(ticks, unit_ns, &ns) ? INT64_MAX : ns;
}

static ttape_report_bucket bucket_of(const ttape_report *report, const struct ttp_account_row *row,
                                     uint32_t number)
{
    uint64_t unit = report->unit_ns;
    ttape_report_bucket bucket = {.count = row->durations.counts[number]};
    if (number == 0) {
        bucket.least_ns = row->min_ns < 0 ? row->min_ns : 0;
        return bucket;
    }
    bucket.least_ns = scaled(1ull << (number - 1), unit);
    bucket.most_ns =
        number + 1 < TTP_OVERVIEW_BUCKETS ? scaled((1ull << number) - 1, unit) : row->max_ns;
    return bucket;
}

ttape_status ttp_report_estimate(const ttape_report *report, const struct ttp_account_row *row,
                                 uint64_t rank, int64_t *duration_ns)
{
    uint64_t before;
    if (row->durations.counts == NULL)
        return TTAPE_E_NOT_FOUND;
    uint32_t number = ttp_durations_bucket(&row->durations, rank, &before);
    ttape_report_bucket b = bucket_of(report, row, number);
    *duration_ns = ttp_durations_spread((struct ttp_duration_range){b.least_ns, b.most_ns},
                                        (struct ttp_duration_range){row->min_ns, row->max_ns},
                                        b.count, rank - before);
    return TTAPE_OK;
}

ttape_status ttape_report_get_histogram(const ttape_report *report, uint32_t row,
                                        ttape_report_bucket *buckets, uint32_t capacity,
                                        uint32_t *bucket_count)
{
    *bucket_count = 0;
    if (row >= report->shown_count || !report->is_estimate)
        return TTAPE_E_NOT_FOUND;
    const struct ttp_account_row *r = &report->rows.rows[report->order[row]];
    const uint64_t *counts = r->durations.counts;
    if (r->exit_count == 0 || counts == NULL)
        return TTAPE_E_NOT_FOUND;
    uint32_t first = 0, end = TTP_OVERVIEW_BUCKETS;
    while (end > 1 && counts[end - 1] == 0)
        end--;
    while (first + 1 < end && counts[first] == 0)
        first++;
    for (uint32_t i = first; i < end && i - first < capacity; i++)
        buckets[i - first] = bucket_of(report, r, i);
    *bucket_count = end - first;
    return TTAPE_OK;
}

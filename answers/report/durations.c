/* A size class is a duration's leading 8 bits: below 256 each is its own class, above there are 128
 * to an octave. Negative durations (clocks that step back) are one class below all. */
#include "answers/report/durations.h"

#include <string.h>

#include "format/base/fail.h"

#define SUB_BITS    7u
#define CLASS_COUNT (1u + ((63u - SUB_BITS + 1u) << SUB_BITS) + (1u << SUB_BITS))

static uint32_t class_of(int64_t duration_ns)
{
    if (duration_ns < 0)
        return 0;
    uint64_t v = (uint64_t)duration_ns;
    if (v < 2u << SUB_BITS)
        return 1 + (uint32_t)v;
    uint32_t shift = 63u - (uint32_t)__builtin_clzll(v) - SUB_BITS;
    return 1 + (shift << SUB_BITS) + (uint32_t)(v >> shift);
}

uint32_t ttp_duration_classes(void) { return CLASS_COUNT; }

int64_t ttp_duration_class_least(uint32_t size_class)
{
    if (size_class == 0)
        return INT64_MIN;
    uint32_t v = size_class - 1;
    if (v < 2u << SUB_BITS)
        return (int64_t)v;
    uint32_t shift = (v >> SUB_BITS) - 1;
    return (int64_t)((uint64_t)((v & ((1u << SUB_BITS) - 1)) | 1u << SUB_BITS) << shift);
}

/* ---- lists become counts ---- */

static uint32_t count_classes(const struct ttp_durations_store *store)
{
    return store->unit_ns != 0 ? TTP_OVERVIEW_BUCKETS : CLASS_COUNT;
}

static void drop_lists(struct ttp_durations *d, struct ttp_durations_store *store)
{
    store->list_bytes -= d->small_capacity * sizeof *d->small + d->wide_capacity * sizeof *d->wide;
    ttp_memory_give(store->memory, d->small, d->small_capacity, sizeof *d->small);
    ttp_memory_give(store->memory, d->wide, d->wide_capacity, sizeof *d->wide);
    d->small = NULL;
    d->wide = NULL;
    d->small_count = d->small_capacity = d->wide_count = d->wide_capacity = 0;
}

static void add_lists(const struct ttp_durations *d, uint64_t *counts)
{
    for (uint32_t i = 0; i < d->small_count; i++)
        counts[class_of((int64_t)d->small[i])]++;
    for (uint32_t i = 0; i < d->wide_count; i++)
        counts[class_of(d->wide[i])]++;
}

static ttape_status make_counts(struct ttp_durations *d, struct ttp_durations_store *store,
                                ttape_error *err)
{
    if (d->counts != NULL)
        return TTAPE_OK;
    d->counts = ttp_memory_take(store->memory, count_classes(store), sizeof *d->counts, err);
    if (d->counts == NULL)
        return store->memory->status;
    memset(d->counts, 0, count_classes(store) * sizeof *d->counts);
    add_lists(d, d->counts);
    drop_lists(d, store);
    return TTAPE_OK;
}

void ttp_durations_count(const struct ttp_durations *d, uint64_t *counts)
{
    memset(counts, 0, CLASS_COUNT * sizeof *counts);
    if (d->counts != NULL)
        memcpy(counts, d->counts, CLASS_COUNT * sizeof *counts);
    else
        add_lists(d, counts);
}

static bool over_budget(const struct ttp_durations *d, const struct ttp_durations_store *store,
                        uint64_t more)
{
    return d->small_count + more + d->wide_count > TTP_DURATIONS_LEAST &&
           store->list_bytes + more * sizeof *d->small > store->budget_bytes;
}

/* ---- adding ---- */

static ttape_status grow_small(struct ttp_durations *d, struct ttp_durations_store *store,
                               uint64_t wanted, ttape_error *err)
{
    uint32_t before = d->small_capacity;
    TTP_TRY(ttp_memory_reserve(store->memory, &d->small, &d->small_capacity, wanted,
                               sizeof *d->small, err));
    store->list_bytes += (uint64_t)(d->small_capacity - before) * sizeof *d->small;
    return TTAPE_OK;
}

static ttape_status grow_wide(struct ttp_durations *d, struct ttp_durations_store *store,
                              uint64_t wanted, ttape_error *err)
{
    uint32_t before = d->wide_capacity;
    TTP_TRY(ttp_memory_reserve(store->memory, &d->wide, &d->wide_capacity, wanted, sizeof *d->wide,
                               err));
    store->list_bytes += (uint64_t)(d->wide_capacity - before) * sizeof *d->wide;
    return TTAPE_OK;
}

ttape_status ttp_durations_add_slow(struct ttp_durations *d, struct ttp_durations_store *store,
                                    int64_t duration_ns, ttape_error *err)
{
    if (store->unit_ns != 0) {
        TTP_TRY(make_counts(d, store, err));
        d->counts[ttp_overview_bucket(duration_ns / (int64_t)store->unit_ns)]++;
        return TTAPE_OK;
    }
    bool is_small = (uint64_t)duration_ns <= UINT32_MAX;
    bool is_full =
        is_small ? d->small_count == d->small_capacity : d->wide_count == d->wide_capacity;
    if (d->counts == NULL && is_full && over_budget(d, store, d->small_capacity))
        TTP_TRY(make_counts(d, store, err));
    if (d->counts != NULL) {
        d->counts[class_of(duration_ns)]++;
        return TTAPE_OK;
    }
    TTP_TRY(is_small ? grow_small(d, store, d->small_count + 1ull, err)
                     : grow_wide(d, store, d->wide_count + 1ull, err));
    if (is_small)
        d->small[d->small_count++] = (uint32_t)duration_ns;
    else
        d->wide[d->wide_count++] = duration_ns;
    return TTAPE_OK;
}

ttape_status ttp_durations_add_counts(struct ttp_durations *d, struct ttp_durations_store *store,
                                      const uint32_t *counts, ttape_error *err)
{
    TTP_TRY(make_counts(d, store, err));
    for (uint32_t i = 0; i < TTP_OVERVIEW_BUCKETS; i++)
        d->counts[i] += counts[i];
    return TTAPE_OK;
}

static ttape_status append_lists(struct ttp_durations *to, struct ttp_durations_store *store,
                                 const struct ttp_durations *from, ttape_error *err)
{
    if (from->small_count != 0) {
        TTP_TRY(grow_small(to, store, (uint64_t)to->small_count + from->small_count, err));
        memcpy(to->small + to->small_count, from->small, from->small_count * sizeof *to->small);
        to->small_count += from->small_count;
    }
    if (from->wide_count != 0) {
        TTP_TRY(grow_wide(to, store, (uint64_t)to->wide_count + from->wide_count, err));
        memcpy(to->wide + to->wide_count, from->wide, from->wide_count * sizeof *to->wide);
        to->wide_count += from->wide_count;
    }
    return TTAPE_OK;
}

ttape_status ttp_durations_merge(struct ttp_durations *to, struct ttp_durations_store *to_store,
                                 struct ttp_durations *from, struct ttp_durations_store *from_store,
                                 ttape_error *err)
{
    ttape_status status = TTAPE_OK;
    if (to_store->unit_ns != 0 && from->counts == NULL)
        return TTAPE_OK;
    if (to_store->unit_ns == 0 && to->counts == NULL && from->counts == NULL &&
        !over_budget(to, to_store, (uint64_t)from->small_count + from->wide_count)) {
        status = append_lists(to, to_store, from, err);
    } else {
        status = make_counts(to, to_store, err);
        if (status == TTAPE_OK)
            status = make_counts(from, from_store, err);
        for (uint32_t i = 0; status == TTAPE_OK && i < count_classes(to_store); i++)
            to->counts[i] += from->counts[i];
    }
    if (status == TTAPE_OK)
        ttp_durations_close(from, from_store);
    return status;
}

/* ---- order ---- */

/* Least significant digits first, 11 bits each, as many as the largest number has. */
static void sort_small(uint32_t *numbers, uint32_t count, uint32_t *scratch)
{
    uint32_t starts[2048], all = 0;
    uint32_t *from = numbers, *to = scratch;
    for (uint32_t i = 0; i < count; i++)
        all |= numbers[i];
    for (unsigned shift = 0; shift < 32 && all >> shift != 0; shift += 11) {
        uint32_t at = 0;
        memset(starts, 0, sizeof starts);
        for (uint32_t i = 0; i < count; i++)
            starts[from[i] >> shift & 2047]++;
        for (unsigned digit = 0; digit < 2048; digit++) {
            uint32_t here = starts[digit];
            starts[digit] = at;
            at += here;
        }
        for (uint32_t i = 0; i < count; i++)
            to[starts[from[i] >> shift & 2047]++] = from[i];
        uint32_t *swap = from;
        from = to;
        to = swap;
    }
    if (from != numbers)
        memcpy(numbers, from, count * sizeof *numbers);
}

static void sift(int64_t *numbers, uint32_t at, uint32_t count)
{
    int64_t number = numbers[at];
    for (uint32_t child; (child = 2 * at + 1) < count; at = child) {
        child += child + 1 < count && numbers[child + 1] > numbers[child];
        if (numbers[child] <= number)
            break;
        numbers[at] = numbers[child];
    }
    numbers[at] = number;
}

static void sort_wide(int64_t *numbers, uint32_t count)
{
    for (uint32_t i = count / 2; i-- > 0;)
        sift(numbers, i, count);
    for (uint32_t end = count; end > 1; end--) {
        int64_t largest = numbers[0];
        numbers[0] = numbers[end - 1];
        numbers[end - 1] = largest;
        sift(numbers, 0, end - 1);
    }
}

void ttp_durations_sort(struct ttp_durations *d, uint32_t *scratch)
{
    if (d->small_count > 1)
        sort_small(d->small, d->small_count, scratch);
    if (d->wide_count > 1)
        sort_wide(d->wide, d->wide_count);
}

int64_t ttp_durations_at(const struct ttp_durations *d, uint64_t rank)
{
    if (d->counts != NULL) {
        uint32_t at = 0;
        for (uint64_t before = d->counts[0]; before <= rank && at + 1 < CLASS_COUNT;)
            before += d->counts[++at];
        return ttp_duration_class_least(at);
    }
    uint32_t negative = 0;
    while (negative < d->wide_count && d->wide[negative] < 0)
        negative++;
    if (rank < negative)
        return d->wide[rank];
    if (rank - negative < d->small_count)
        return (int64_t)d->small[rank - negative];
    return d->wide[rank - d->small_count];
}

uint64_t ttp_durations_rank(uint64_t count, double share)
{
    double wanted = share > 0 ? share < 1 ? share * (double)count : (double)count : 0;
    uint64_t rank = wanted >= 0x1p64 ? count : (uint64_t)wanted;
    rank -= rank > 0 && (double)rank >= wanted; /* it is rounded up, and counts from one */
    return rank < count ? rank : count - 1;
}

int64_t ttp_durations_spread(struct ttp_duration_range range, struct ttp_duration_range extremes,
                             uint64_t count, uint64_t rank)
{
    int64_t least = range.least_ns > extremes.least_ns ? range.least_ns : extremes.least_ns;
    int64_t most = range.most_ns < extremes.most_ns ? range.most_ns : extremes.most_ns;
    if (least > most || count == 0)
        return most; /* of a clock that steps back, or hostile */
    uint64_t width = (uint64_t)most - (uint64_t)least, share = rank + 1;
    for (; count > UINT32_MAX; count >>= 1) /* products fit 64 bits */
        share >>= 1;
    return (int64_t)((uint64_t)least + width / count * share + width % count * share / count);
}

uint32_t ttp_durations_bucket(const struct ttp_durations *d, uint64_t rank, uint64_t *before)
{
    uint32_t at = 0;
    *before = 0;
    while (at + 1 < TTP_OVERVIEW_BUCKETS && *before + d->counts[at] <= rank)
        *before += d->counts[at++];
    return at;
}

void ttp_durations_close(struct ttp_durations *d, struct ttp_durations_store *store)
{
    drop_lists(d, store);
    ttp_memory_give(store->memory, d->counts, count_classes(store), sizeof *d->counts);
    *d = (struct ttp_durations){0};
}

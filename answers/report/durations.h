/* All durations of a row, for percentiles: a list while they are few, counts by size after that; or
 * no more than a histogram by powers of two, as overviews have it. */
#ifndef TTP_READER_DURATIONS_H
#define TTP_READER_DURATIONS_H

#include "base/memory.h"
#include "format/container/measures/overview.h"

/* Lists that would grow past this while all lists together are past their budget become counts. */
#define TTP_DURATIONS_LEAST 16384u

struct ttp_durations {
    uint32_t *small;  /* 0 .. 2^32 - 1 */
    int64_t *wide;    /* others */
    uint64_t *counts; /* by size class (durations.c); then the lists are empty */
    uint32_t small_count, small_capacity, wide_count, wide_capacity;
};

/* Where lists of several rows come from. */
struct ttp_durations_store {
    struct ttp_memory *memory;
    uint64_t list_bytes, budget_bytes;
    uint64_t unit_ns; /* not 0: counts are a histogram of durations in this unit */
};

/* Largest part by which a duration is above its size class. */
#define TTP_DURATIONS_ERROR (1.0 / 128)

ttape_status ttp_durations_add_slow(struct ttp_durations *d, struct ttp_durations_store *store,
                                    int64_t duration_ns, ttape_error *err);

static inline ttape_status ttp_durations_add(struct ttp_durations *d,
                                             struct ttp_durations_store *store, int64_t duration_ns,
                                             ttape_error *err)
{
    if (__builtin_expect((uint64_t)duration_ns > UINT32_MAX || d->small_count == d->small_capacity,
                         0))
        return ttp_durations_add_slow(d, store, duration_ns, err);
    d->small[d->small_count++] = (uint32_t)duration_ns;
    return TTAPE_OK;
}

/* Adds an overview's histogram of durations to one. */
ttape_status ttp_durations_add_counts(struct ttp_durations *d, struct ttp_durations_store *store,
                                      const uint32_t *counts, ttape_error *err);

/* Moves what `from` has to `to`; `from` is empty then. Both stores count. */
ttape_status ttp_durations_merge(struct ttp_durations *to, struct ttp_durations_store *to_store,
                                 struct ttp_durations *from, struct ttp_durations_store *from_store,
                                 ttape_error *err);

/* Size classes of durations: how many there are, the least duration of one (INT64_MIN: all that are
 * below 0), and how many of a row's durations are of each: counts[] of ttp_duration_classes. */
uint32_t ttp_duration_classes(void);
int64_t ttp_duration_class_least(uint32_t size_class);
void ttp_durations_count(const struct ttp_durations *d, uint64_t *counts);

/* The rank from 0 on, of so many durations (not 0), of the least one that `share` of them do not
 * exceed. */
uint64_t ttp_durations_rank(uint64_t count, double share);

struct ttp_duration_range {
    int64_t least_ns, most_ns;
};

/* The duration at a rank of `count` ones that lie in `range`, as if they were spread evenly over
 * what of it lies between the extremes of all. */
int64_t ttp_durations_spread(struct ttp_duration_range range, struct ttp_duration_range extremes,
                             uint64_t count, uint64_t rank);

/* Puts the lists in order: afterwards ttp_durations_at may be asked. `scratch` has room for
 * small_count numbers. */
void ttp_durations_sort(struct ttp_durations *d, uint32_t *scratch);
/* The duration of a rank (0: the shortest), or the least one of its size class. */
int64_t ttp_durations_at(const struct ttp_durations *d, uint64_t rank);

/* Of a histogram: the bucket of a rank, and how many durations are in those before it. */
uint32_t ttp_durations_bucket(const struct ttp_durations *d, uint64_t rank, uint64_t *before);

void ttp_durations_close(struct ttp_durations *d, struct ttp_durations_store *store);

#endif

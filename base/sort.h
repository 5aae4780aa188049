/* Sorting an array of numbers by what they stand for: in place, never worse than n log n, whatever
 * the bytes say; and searching in what is sorted. */
#ifndef TTP_BASE_SORT_H
#define TTP_BASE_SORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/ordered.h"

typedef bool (*ttp_sort_less)(const void *context, uint32_t a, uint32_t b);

void ttp_sort(uint32_t *items, uint32_t count, ttp_sort_less less, const void *context);

/* How many of `count` ascending numbers, every `step`-th from `first` on, are below `value`. */
static inline uint32_t ttp_count_below(const uint32_t *first, size_t step, uint32_t count,
                                       uint64_t value)
{
    struct ttp_bisect s = {.end = count};
    while (ttp_bisect_next(&s))
        ttp_bisect_turn(&s, first[s.middle * step] < value);
    return (uint32_t)s.first;
}

#endif

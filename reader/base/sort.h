/* Sorting an array of numbers by what they stand for: in place, never worse than n log n, whatever
 * the bytes say. */
#ifndef TTP_READER_SORT_H
#define TTP_READER_SORT_H

#include <stdbool.h>
#include <stdint.h>

typedef bool (*ttp_sort_less)(const void *context, uint32_t a, uint32_t b);

void ttp_sort(uint32_t *items, uint32_t count, ttp_sort_less less, const void *context);

#endif

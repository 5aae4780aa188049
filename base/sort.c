/* Heap sort: qsort may allocate, and has bad cases that a file could pick. */
#include "base/sort.h"

static void sift(uint32_t *items, uint32_t root, uint32_t count, ttp_sort_less less,
                 const void *context)
{
    uint32_t item = items[root];
    for (;;) {
        uint64_t child = 2 * (uint64_t)root + 1;
        if (child >= count)
            break;
        if (child + 1 < count && less(context, items[child], items[child + 1]))
            child++;
        if (!less(context, item, items[child]))
            break;
        items[root] = items[child];
        root = (uint32_t)child;
    }
    items[root] = item;
}

static bool sorted(const uint32_t *items, uint32_t count, ttp_sort_less less, const void *context)
{
    for (uint32_t i = 1; i < count; i++)
        if (less(context, items[i], items[i - 1]))
            return false;
    return true;
}

void ttp_sort(uint32_t *items, uint32_t count, ttp_sort_less less, const void *context)
{
    if (sorted(items, count, less, context))
        return;
    for (uint32_t i = count / 2; i-- > 0;)
        sift(items, i, count, less, context);
    for (uint32_t end = count; end-- > 1;) {
        uint32_t last = items[end];
        items[end] = items[0];
        items[0] = last;
        sift(items, 0, end, less, context);
    }
}

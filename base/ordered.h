/* Arrays in order: one binary search, and one heap. */
#ifndef TTP_BASE_ORDERED_H
#define TTP_BASE_ORDERED_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* A search for the first element that does not come before what is sought; `first` is its place in
 * the end:
 *     struct ttp_bisect s = {.end = count};
 *     while (ttp_bisect_next(&s))
 *         ttp_bisect_turn(&s, list[s.middle] < sought); */
struct ttp_bisect {
    size_t first, end, middle;
};

static inline bool ttp_bisect_next(struct ttp_bisect *s)
{
    s->middle = s->first + (s->end - s->first) / 2;
    return s->first < s->end;
}

static inline void ttp_bisect_turn(struct ttp_bisect *s, bool comes_before)
{
    if (comes_before)
        s->first = s->middle + 1;
    else
        s->end = s->middle;
}

/* A heap is an array whose first element comes before all others. */
#define TTP_HEAP_ELEMENT_BYTES 64

struct ttp_heap {
    void *elements;
    size_t count, size_bytes; /* of an element, TTP_HEAP_ELEMENT_BYTES at most */
    bool (*is_before)(const void *context, const void *a, const void *b);
    const void *context;
};

static inline char *ttp_heap_at(const struct ttp_heap *heap, size_t at)
{
    return (char *)heap->elements + at * heap->size_bytes;
}

static inline bool ttp_heap_swap_if_before(const struct ttp_heap *heap, size_t a, size_t b)
{
    char kept[TTP_HEAP_ELEMENT_BYTES], *one = ttp_heap_at(heap, a), *two = ttp_heap_at(heap, b);
    if (!heap->is_before(heap->context, one, two))
        return false;
    memcpy(kept, one, heap->size_bytes);
    memcpy(one, two, heap->size_bytes);
    memcpy(two, kept, heap->size_bytes);
    return true;
}

/* The element at `at` may come too late now: it goes down to its place. */
static inline void ttp_heap_sink(const struct ttp_heap *heap, size_t at)
{
    for (size_t child; (child = 2 * at + 1) < heap->count; at = child) {
        child +=
            child + 1 < heap->count &&
            heap->is_before(heap->context, ttp_heap_at(heap, child + 1), ttp_heap_at(heap, child));
        if (!ttp_heap_swap_if_before(heap, child, at))
            return;
    }
}

/* The elements come in any order. */
static inline void ttp_heap_make(const struct ttp_heap *heap)
{
    for (size_t i = heap->count / 2; i-- > 0;)
        ttp_heap_sink(heap, i);
}

/* There is room for one more. */
static inline void ttp_heap_add(struct ttp_heap *heap, const void *element)
{
    size_t at = heap->count++;
    memcpy(ttp_heap_at(heap, at), element, heap->size_bytes);
    for (; at > 0 && ttp_heap_swap_if_before(heap, at, (at - 1) / 2); at = (at - 1) / 2)
        continue;
}

/* The last element takes the first one's place; the caller has what it needs of that. */
static inline void ttp_heap_drop(struct ttp_heap *heap)
{
    memmove(heap->elements, ttp_heap_at(heap, --heap->count), heap->size_bytes);
    ttp_heap_sink(heap, 0);
}

#endif

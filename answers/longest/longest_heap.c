/* A binary heap whose root is the first to go. */
#include "answers/longest/longest_internal.h"

bool ttp_long_before(const struct ttp_long_call *a, const struct ttp_long_call *b)
{
    if (a->rank_ns != b->rank_ns)
        return a->rank_ns > b->rank_ns;
    if (a->partition != b->partition)
        return a->partition < b->partition;
    if (a->segment != b->segment)
        return a->segment < b->segment;
    if (a->end_event != b->end_event)
        return a->end_event < b->end_event;
    if (a->stack != b->stack)
        return a->stack < b->stack;
    return a->height > b->height; /* calls that one event left, innermost first */
}

static void swap(struct ttp_long_call *a, struct ttp_long_call *b)
{
    struct ttp_long_call kept = *a;
    *a = *b;
    *b = kept;
}

static void sink(struct ttp_long_heap *heap, uint32_t at)
{
    for (;;) {
        uint32_t last = at, left = 2 * at + 1;
        for (uint32_t child = left; child < left + 2 && child < heap->count; child++)
            if (ttp_long_before(&heap->calls[last], &heap->calls[child]))
                last = child;
        if (last == at)
            return;
        swap(&heap->calls[at], &heap->calls[last]);
        at = last;
    }
}

void ttp_long_heap_add(struct ttp_long_heap *heap, const struct ttp_long_call *call)
{
    if (heap->count == heap->capacity) {
        if (!ttp_long_before(call, &heap->calls[0]))
            return;
        heap->calls[0] = *call;
        sink(heap, 0);
        return;
    }
    uint32_t at = heap->count++;
    heap->calls[at] = *call;
    for (; at > 0 && ttp_long_before(&heap->calls[(at - 1) / 2], &heap->calls[at]);
         at = (at - 1) / 2)
        swap(&heap->calls[at], &heap->calls[(at - 1) / 2]);
}

void ttp_long_heap_sort(struct ttp_long_heap *heap)
{
    uint32_t all = heap->count;
    while (heap->count > 1) {
        swap(&heap->calls[0], &heap->calls[--heap->count]);
        sink(heap, 0);
    }
    heap->count = all;
}

void ttp_long_heap_unlist(struct ttp_long_heap *heap, const uint8_t *listed)
{
    uint32_t all = heap->count;
    heap->count = 0;
    for (uint32_t i = 0; i < all; i++) {
        const struct ttp_long_call call = heap->calls[i]; /* places up to here are free */
        if (!call.is_listed || listed[call.partition] != TTP_LONG_DECODED)
            ttp_long_heap_add(heap, &call);
    }
}

bool ttp_long_heap_wants(const struct ttp_long_heap *heap, int64_t rank_ns, uint32_t partition)
{
    if (heap->count < heap->capacity)
        return true;
    const struct ttp_long_call *last = &heap->calls[0];
    return rank_ns > last->rank_ns || (rank_ns == last->rank_ns && partition <= last->partition);
}

/* A call of which one callee has nine tenths says less than that callee: it is left out where the
 * callee may come in. Where events are gone through, callers know their longest callee; here are
 * those that overviews list, and those of which a part lies in partitions before. */
#include "answers/longest/longest_internal.h"

#include <string.h>

/* ---- listed calls ---- */

/* Known calls are in the order of where they are, then of when they began. */
static bool is_before(const void *context, uint32_t a, uint32_t b)
{
    const struct ttp_listed_call *calls = ((const struct ttp_listed *)context)->calls;
    const struct ttp_listed_call *x = &calls[a], *y = &calls[b];
    if (x->partition != y->partition)
        return x->partition < y->partition;
    if (x->segment != y->segment)
        return x->segment < y->segment;
    if (x->stack != y->stack)
        return x->stack < y->stack;
    return x->enter_event != y->enter_event ? x->enter_event < y->enter_event : a < b;
}

static uint32_t height_of(const struct ttp_listed *listed, const struct ttp_listed_call *call)
{
    return call->path != 0 ? listed->nodes[call->path - 1].depth : 0;
}

static bool is_in(const struct ttp_listed_call *callee, const struct ttp_listed_call *call)
{
    return callee->partition == call->partition && callee->segment == call->segment &&
           callee->stack == call->stack && callee->enter_event > call->enter_event &&
           callee->end_event <= call->end_event;
}

/* Calls of a stack in their order stand in one another: `open` are those around the one at hand. */
static void mark_omitted(const struct ttp_listed *listed, const uint32_t *order, uint32_t count,
                         uint32_t *open, uint8_t *omitted)
{
    uint32_t open_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct ttp_listed_call *call = &listed->calls[order[i]];
        while (open_count > 0 && !is_in(call, &listed->calls[open[open_count - 1]]))
            open_count--;
        const struct ttp_listed_call *caller =
            open_count > 0 ? &listed->calls[open[open_count - 1]] : NULL;
        if (caller != NULL && height_of(listed, call) == height_of(listed, caller) + 1 &&
            ttp_long_is_most(call->duration_ticks, caller->duration_ticks))
            omitted[open[open_count - 1]] = TTP_LONG_OMITTED;
        open[open_count++] = order[i];
    }
}

/* Callees have no more than what the call has not for itself. */
static enum ttp_long_omitted by_self(const struct ttp_listed_call *call)
{
    int64_t others = (int64_t)((uint64_t)call->duration_ticks - (uint64_t)call->self_ticks);
    return others >= call->duration_ticks - call->duration_ticks / 10 ? TTP_LONG_UNCERTAIN
                                                                      : TTP_LONG_ALONE;
}

bool ttp_longest_omit(struct ttape_longest *l, const struct ttp_listed *listed, uint8_t *omitted)
{
    uint32_t all = listed->call_count, count = 0;
    uint32_t *order = ttp_memory_take(&l->memory, 2ull * all, sizeof *order, NULL);
    if (order == NULL)
        return false;
    for (uint32_t i = 0; i < all; i++)
        if (listed->calls[i].is_known && omitted[i] == TTP_LONG_ALONE) {
            omitted[i] = (uint8_t)by_self(&listed->calls[i]);
            order[count++] = i;
        }
    ttp_sort(order, count, is_before, listed);
    mark_omitted(listed, order, count, order + all, omitted);
    ttp_memory_give(&l->memory, order, 2ull * all, sizeof *order);
    return true;
}

/* ---- the answer ---- */

/* Calls that are known, of the answer and left out before: numbers up to heap->count are of the
 * heap. In the order of their streams, stacks, heights and enters: calls of one height do not
 * overlap, so that all callees that begin soon enough are looked at once. */
struct known {
    const struct ttape_longest *l;
    uint32_t *order;
    uint32_t count;
};

static const struct ttp_long_call *call_at(const struct known *k, uint32_t number)
{
    const struct ttp_long_heap *heap = &k->l->heap;
    return number < heap->count ? &heap->calls[number] : &k->l->omitted.calls[number - heap->count];
}

static uint32_t stream_of(const struct known *k, const struct ttp_long_call *call)
{
    const ttape_reader *r = k->l->decoder->reader;
    return r->segments[r->partitions[call->partition].first_segment + call->segment].stream;
}

static int compare_stacks(const struct known *k, const struct ttp_long_call *a,
                          const struct ttp_long_call *b, uint32_t b_height)
{
    uint32_t x = stream_of(k, a), y = stream_of(k, b);
    if (x != y)
        return x < y ? -1 : 1;
    if (a->stack != b->stack)
        return a->stack < b->stack ? -1 : 1;
    if (a->height != b_height)
        return a->height < b_height ? -1 : 1;
    return 0;
}

static bool is_earlier(const void *context, uint32_t a, uint32_t b)
{
    const struct known *k = context;
    const struct ttp_long_call *x = call_at(k, a), *y = call_at(k, b);
    int order = compare_stacks(k, x, y, y->height);
    if (order != 0)
        return order < 0;
    return x->enter_ns != y->enter_ns ? x->enter_ns < y->enter_ns : a < b;
}

/* The first that stands on the call, or on one in its place, and began no earlier. */
static uint32_t first_above(const struct known *k, const struct ttp_long_call *call)
{
    uint32_t low = 0, high = k->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        const struct ttp_long_call *other = call_at(k, k->order[middle]);
        int order = compare_stacks(k, other, call, call->height + 1);
        if (order < 0 || (order == 0 && other->enter_ns < call->enter_ns))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool has_callee(const struct known *k, const struct ttp_long_call *call)
{
    int64_t duration = (int64_t)(call->end_ns - call->enter_ns);
    for (uint32_t i = first_above(k, call); i < k->count; i++) {
        const struct ttp_long_call *other = call_at(k, k->order[i]);
        if (compare_stacks(k, other, call, call->height + 1) != 0 ||
            (int64_t)(other->enter_ns - call->enter_ns) > duration / 10)
            return false;
        if (other->end_ns <= call->end_ns &&
            ttp_long_is_most((int64_t)(other->end_ns - other->enter_ns), duration))
            return true;
    }
    return false;
}

ttape_status ttp_longest_leave_out(struct ttape_longest *l, ttape_error *err)
{
    struct ttp_long_heap *heap = &l->heap;
    struct known k = {.l = l, .count = heap->count + l->omitted.count};
    uint32_t kept = 0, all = k.count;
    k.order = ttp_memory_take(&l->memory, all, sizeof *k.order, err);
    if (k.order == NULL)
        return l->memory.status;
    for (uint32_t i = 0; i < all; i++)
        k.order[i] = i;
    ttp_sort(k.order, all, is_earlier, &k);
    for (uint32_t i = 0; i < heap->count; i++) /* paths are kept: path_at is free for marks */
        heap->calls[i].path_at = has_callee(&k, &heap->calls[i]);
    ttp_memory_give(&l->memory, k.order, all, sizeof *k.order);
    for (uint32_t i = 0; i < heap->count && kept < l->options.count; i++)
        if (heap->calls[i].path_at == 0)
            heap->calls[kept++] = heap->calls[i];
    heap->count = kept;
    return TTAPE_OK;
}

/* The stacks of a stream: which there are, by number. */
#include <string.h>

#include "format/base/fail.h"
#include "format/base/limits.h"
#include "writer/writer_internal.h"

/* Room for one stack more. */
static ttape_status grow_stacks(ttape_writer *w, struct ttp_stream_state *s, ttape_error *err)
{
    struct ttp_growing list = {s->stacks, s->stack_count, s->stack_capacity * sizeof *s->stacks};
    struct ttp_growing order = {s->stack_order, s->stack_count,
                                s->order_capacity * sizeof *s->stack_order};
    TTP_TRY(ttp_grow(&w->allocator, &list, sizeof *s->stacks, s->stack_count + 1ull, err));
    s->stacks = list.data;
    s->stack_capacity = (uint32_t)(list.capacity_bytes / sizeof *s->stacks);
    TTP_TRY(ttp_grow(&w->allocator, &order, sizeof *s->stack_order, s->stack_count + 1ull, err));
    s->stack_order = order.data;
    s->order_capacity = (uint32_t)(order.capacity_bytes / sizeof *s->stack_order);
    return TTAPE_OK;
}

/* Programs have few stacks, files may name a million in any order: only a number moves for each
 * that is new. */
ttape_status ttp_stream_stack(ttape_writer *w, struct ttp_stream_state *s, uint32_t id,
                              uint32_t *index, ttape_error *err)
{
    uint32_t at = 0, end = s->stack_count;
    while (at < end) {
        uint32_t middle = at + (end - at) / 2;
        if (s->stacks[s->stack_order[middle]].id < id)
            at = middle + 1;
        else
            end = middle;
    }
    if (at == s->stack_count || s->stacks[s->stack_order[at]].id != id) {
        if (id >= TTP_MAX_STACKS)
            return ttp_fail(err, TTAPE_E_ARGUMENT, "F-EVT-03", TTAPE_ERROR_NO_OFFSET,
                            "stack number %u is too large", id);
        TTP_TRY(grow_stacks(w, s, err));
        memmove(s->stack_order + at + 1, s->stack_order + at,
                (s->stack_count - at) * sizeof *s->stack_order);
        s->stack_order[at] = s->stack_count;
        s->stacks[s->stack_count++] = (struct ttp_stack){.id = id};
    }
    *index = s->stack_order[at];
    return TTAPE_OK;
}

void ttp_stream_free(ttape_writer *w, struct ttp_stream_state *s)
{
    for (uint32_t i = 0; i < s->stack_count; i++) {
        struct ttp_growing frames = {s->stacks[i].frames, 0,
                                     s->stacks[i].capacity * sizeof(struct ttp_open)};
        ttp_grown_free(&w->allocator, &frames);
        ttp_grown_free(&w->allocator, &s->stacks[i].offs);
    }
    struct ttp_growing list = {s->stacks, 0, s->stack_capacity * sizeof *s->stacks};
    struct ttp_growing order = {s->stack_order, 0, s->order_capacity * sizeof *s->stack_order};
    ttp_grown_free(&w->allocator, &list);
    ttp_grown_free(&w->allocator, &order);
    ttp_grown_free(&w->allocator, &s->spans);
}

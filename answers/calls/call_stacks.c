/* The seldom parts: memory, values, and what edges say. */
#include "answers/calls/call_stacks.h"

#include <string.h>

#include "base/sort.h"
#include "format/base/fail.h"

#define SLOT_BITS_FIRST 2u

/* ---- memory ---- */

static ttape_status grow_slots(struct ttp_call_stream *s, ttape_error *err)
{
    struct ttp_call_stack **old = s->slots;
    uint32_t old_bits = s->slot_bits, bits = old == NULL ? SLOT_BITS_FIRST : old_bits + 1;
    struct ttp_call_stack **slots = ttp_memory_take(s->memory, 1ull << bits, sizeof *slots, err);
    if (slots == NULL)
        return s->memory->status;
    memset(slots, 0, sizeof *slots << bits);
    s->slots = slots;
    s->slot_bits = bits;
    for (uint64_t i = 0; old != NULL && i < 1ull << old_bits; i++)
        if (old[i] != NULL)
            *ttp_call_stack_slot(s, old[i]->number) = old[i];
    ttp_memory_give(s->memory, old, 1ull << old_bits, sizeof *old);
    return TTAPE_OK;
}

static ttape_status new_stack(struct ttp_call_stream *s, uint32_t number, ttape_error *err)
{
    struct ttp_memory *memory = s->memory;
    if (s->slots == NULL || s->stack_count >= 1u << (s->slot_bits - 1))
        TTP_TRY(grow_slots(s, err));
    TTP_TRY(ttp_memory_reserve(memory, &s->numbers, &s->number_capacity, s->stack_count + 1ull,
                               sizeof *s->numbers, err));
    struct ttp_call_stack *stack = ttp_memory_take(memory, 1, sizeof *stack, err);
    if (stack == NULL)
        return memory->status;
    *stack = (struct ttp_call_stack){.number = number};
    *ttp_call_stack_slot(s, number) = stack;
    s->numbers[s->stack_count++] = number;
    return TTAPE_OK;
}

ttape_status ttp_call_stack_get(struct ttp_call_stream *s, uint32_t number,
                                struct ttp_call_stack **out, ttape_error *err)
{
    if (s->slots == NULL || *ttp_call_stack_slot(s, number) == NULL)
        TTP_TRY(new_stack(s, number, err));
    *out = *ttp_call_stack_slot(s, number);
    return TTAPE_OK;
}

static bool number_less(const void *context, uint32_t a, uint32_t b)
{
    (void)context;
    return a < b;
}

void ttp_call_stream_order(struct ttp_call_stream *s)
{
    ttp_sort(s->numbers, s->stack_count, number_less, NULL);
}

ttape_status ttp_call_stack_grow(struct ttp_call_stream *s, struct ttp_call_stack *stack,
                                 ttape_error *err)
{
    ttape_call *calls = ttp_memory_grow(s->memory, stack->calls, &stack->capacity,
                                        stack->count + 1ull, sizeof *calls, err);
    if (calls == NULL)
        return s->memory->status;
    stack->calls = calls;
    return TTAPE_OK;
}

ttape_status ttp_call_stream_open(struct ttp_call_stream *s, ttape_error *err)
{
    return ttp_call_stack_get(s, 0, &s->current, err);
}

void ttp_call_stream_close(struct ttp_call_stream *s)
{
    for (uint64_t i = 0; s->slots != NULL && i < 1ull << s->slot_bits; i++) {
        struct ttp_call_stack *stack = s->slots[i];
        if (stack == NULL)
            continue;
        ttp_call_drop_values(s, stack->calls, stack->count);
        ttp_memory_give(s->memory, stack->calls, stack->capacity, sizeof *stack->calls);
        ttp_memory_give(s->memory, stack, 1, sizeof *stack);
    }
    ttp_memory_give(s->memory, s->slots, 1ull << s->slot_bits, sizeof *s->slots);
    ttp_memory_give(s->memory, s->numbers, s->number_capacity, sizeof *s->numbers);
    ttp_memory_give(s->memory, s->off.spans, s->off.capacity, sizeof *s->off.spans);
}

/* ---- values ---- */

static size_t bytes_of(const ttape_value *values, uint32_t count)
{
    size_t bytes = count * sizeof *values;
    for (uint32_t i = 0; i < count; i++)
        bytes += values[i].bytes.size_bytes;
    return bytes;
}

ttape_status ttp_call_keep_values(struct ttp_call_stream *s, struct ttp_call_stack *stack,
                                  const ttape_call_step *step, ttape_error *err)
{
    ttape_call *call = &stack->calls[stack->count - 1];
    uint32_t count = step->value_count;
    ttape_value *values = ttp_memory_take(s->memory, bytes_of(step->values, count), 1, err);
    if (values == NULL)
        return s->memory->status;
    char *at = (char *)&values[count];
    memcpy(values, step->values, count * sizeof *values);
    for (uint32_t i = 0; i < count; i++) {
        ttape_string *bytes = &values[i].bytes;
        if (bytes->size_bytes == 0)
            continue;
        memcpy(at, bytes->data, bytes->size_bytes);
        bytes->data = at;
        at += bytes->size_bytes;
    }
    call->arguments = values;
    call->argument_count = count;
    return TTAPE_OK;
}

void ttp_call_drop_values(struct ttp_call_stream *s, ttape_call *calls, uint32_t count)
{
    for (uint32_t i = 0; s->keeps_values && i < count; i++) {
        ttape_call *call = &calls[i];
        if (call->argument_count > 0)
            ttp_memory_give(s->memory, (void *)call->arguments,
                            bytes_of(call->arguments, call->argument_count), 1);
        call->argument_count = 0;
    }
}

/* ---- edges ---- */

uint32_t ttp_call_stack_common(const struct ttp_call_stack *stack, const ttape_edge *edge)
{
    uint32_t low = 0, high = edge->frame_count, common = 0;
    while (low < high) { /* frames stand by ascending stack */
        uint32_t middle = low + (high - low) / 2;
        if (edge->frames[middle].stack < stack->number)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low + common < edge->frame_count && common < stack->count; common++) {
        const ttape_open_frame *open = &edge->frames[low + common];
        const ttape_call *call = &stack->calls[common];
        if (open->stack != stack->number || call->kind != open->kind || call->site != open->site ||
            call->argument != open->argument || call->enter_ns != open->enter_time_ns)
            break;
    }
    return common;
}

ttape_status ttp_call_stack_find(struct ttp_call_stream *s, const ttape_edge *edge, uint32_t first,
                                 struct ttp_call_stack **out, uint32_t *frame_count,
                                 ttape_error *err)
{
    int64_t depth = (int64_t)edge->unknown_depth + edge->depth_offset;
    uint32_t number = edge->frames[first].stack, count = 0;
    TTP_TRY(ttp_call_stack_get(s, number, out, err));
    for (uint32_t i = first; i < edge->frame_count && edge->frames[i].stack == number; i++) {
        const ttape_open_frame *open = &edge->frames[i];
        if (count++ < (*out)->count)
            continue;
        if ((*out)->count == (*out)->capacity)
            TTP_TRY(ttp_call_stack_grow(s, *out, err));
        ttape_call *call = ttp_call_push(s, *out);
        call->kind = open->kind;
        call->site = open->site;
        call->argument = open->argument;
        call->depth = (uint32_t)(depth + call->height > 0 ? depth + call->height : 0);
        call->is_found = true;
        call->enter_number = TTAPE_CALL_NO_NUMBER;
        call->enter_ns = open->enter_time_ns;
        call->self_ns = open->self_ns; /* 0 but in a stretch, which has whole calls */
    }
    *frame_count = count;
    return TTAPE_OK;
}

/* A stream's stacks of open calls, and what events do to them. Calls that ended stay where they
 * were, behind those that are open, until the stack grows again: a step points to them there. */
#ifndef TTP_READER_CALL_STACKS_H
#define TTP_READER_CALL_STACKS_H

#include <tracetape/calls.h>

#include "base/memory.h"
#include "format/base/secret_hash.h"
#include "format/container/switches.h"

struct ttp_call_stack {
    ttape_call *calls; /* outermost first */
    uint32_t count, capacity;
    uint32_t number;
    uint64_t clock; /* runs while the stack is the current one */
    uint64_t off_clock,
        unknown_clock; /* the parts of it that its thread did not run, or may have */
};

/* What is known of a stream's switches, in the segment of events [first_number, end_number). */
struct ttp_call_off {
    struct ttp_off_span *spans; /* their events are numbered in the segment */
    uint32_t capacity;
    struct ttp_switch_walk walk;
    uint64_t first_number, end_number;
    uint64_t start_ns;                             /* of the interval of the event that is next */
    uint64_t preempted_ns, blocked_ns, unknown_ns; /* of the step */
};

struct ttp_call_stream {
    struct ttp_memory *memory;
    struct ttp_call_stack **slots; /* a hash table by number, at most half full; NULL: empty */
    uint32_t *numbers;             /* of its stacks */
    uint32_t stack_count, number_capacity, slot_bits;
    struct ttp_call_stack *current;
    uint32_t stream;
    bool keeps_values;
    bool is_finished;
    uint64_t now_ns, number; /* of the event before; of the next one */
    uint64_t end_number;     /* behind the stream's last event */
    struct ttp_call_off off; /* with the option `switches` */
};

/* Stack 0 becomes the current one. */
ttape_status ttp_call_stream_open(struct ttp_call_stream *s, ttape_error *err);
void ttp_call_stream_close(struct ttp_call_stream *s);
ttape_status ttp_call_stack_get(struct ttp_call_stream *s, uint32_t number,
                                struct ttp_call_stack **out, ttape_error *err);
/* Orders the numbers of stacks, for those that go through them. */
void ttp_call_stream_order(struct ttp_call_stream *s);
ttape_status ttp_call_stack_grow(struct ttp_call_stream *s, struct ttp_call_stack *stack,
                                 ttape_error *err);

/* The slot of a stack's number, or the empty one where it belongs. */
static inline struct ttp_call_stack **ttp_call_stack_slot(const struct ttp_call_stream *s,
                                                          uint32_t number)
{
    uint64_t at = ttp_secret_hash(number, s->memory->hash_key) >> (64 - s->slot_bits);
    while (s->slots[at] != NULL && s->slots[at]->number != number)
        at = (at + 1) & ((1u << s->slot_bits) - 1);
    return &s->slots[at];
}

/* How many calls of a stack are still those that the edge has there. */
uint32_t ttp_call_stack_common(const struct ttp_call_stack *stack, const ttape_edge *edge);
/* Adds what the edge has on the stack of its frame `first` and the stack lacks. *out: the stack;
 * *frame_count: how many frames the edge has there. */
ttape_status ttp_call_stack_find(struct ttp_call_stream *s, const ttape_edge *edge, uint32_t first,
                                 struct ttp_call_stack **out, uint32_t *frame_count,
                                 ttape_error *err);

/* Gives the stack's top call copies of its arguments. */
ttape_status ttp_call_keep_values(struct ttp_call_stream *s, struct ttp_call_stack *stack,
                                  const ttape_call_step *step, ttape_error *err);
/* Gives back the values of calls that ended. */
void ttp_call_drop_values(struct ttp_call_stream *s, ttape_call *calls, uint32_t count);

/* Time goes on to time_ns on the current stack; the step. */
static inline int64_t ttp_call_pass_time(struct ttp_call_stream *s, uint64_t time_ns)
{
    struct ttp_call_stack *stack = s->current;
    uint64_t step = time_ns - s->now_ns;
    s->now_ns = time_ns;
    stack->clock += step;
    if (stack->count > 0) {
        ttape_call *top = &stack->calls[stack->count - 1];
        top->self_ns = (int64_t)((uint64_t)top->self_ns + step);
    }
    return (int64_t)step;
}

/* A new call on top, where there is room; its caller completes it. While it is open, total_ns is
 * minus the clock that it began at. */
static inline ttape_call *ttp_call_push(const struct ttp_call_stream *s,
                                        struct ttp_call_stack *stack)
{
    ttape_call *top = &stack->calls[stack->count];
    uint32_t caller = TTAPE_NONE;
    if (stack->count > 0)
        caller = top[-1].kind == TTAPE_EVENT_SIGNAL_BEGIN ? TTAPE_CALL_SIGNAL : top[-1].site;
    /* Field by field, and not those that only ended calls have: this is every other event. */
    top->stream = s->stream;
    top->caller = caller;
    top->stack = stack->number;
    top->height = stack->count;
    top->end = TTAPE_CALL_RUNNING;
    top->is_found = false;
    top->total_ns = (int64_t)(0 - stack->clock);
    top->self_ns = 0;
    top->argument_count = top->result_count = 0;
    top->user[0] = top->user[1] = top->user[2] = top->user[3] = 0;
    top->off_ns = top->unknown_ns = 0;
    stack->count++;
    return top;
}

/* Ends the top call, which there is; it stays at stack->calls[stack->count]. */
static inline ttape_call *ttp_call_pop(const struct ttp_call_stream *s,
                                       struct ttp_call_stack *stack, uint64_t number,
                                       ttape_call_end end)
{
    ttape_call *call = &stack->calls[--stack->count];
    call->end = end;
    call->end_number = number;
    call->end_ns = s->now_ns;
    call->duration_ns = (int64_t)(s->now_ns - call->enter_ns);
    call->total_ns = (int64_t)((uint64_t)call->total_ns + stack->clock);
    return call;
}

#endif

/* The stacks of a segment while its events are gone through: any number of stacks, any depth, one
 * pool of frames.
 * Starting a segment costs nothing however many stacks the one before had. */
#ifndef TTP_READER_FRAME_STACKS_H
#define TTP_READER_FRAME_STACKS_H

#include "base/memory.h"
#include "base/sort.h"

#define TTP_NO_FRAME UINT32_MAX

/* The numbers of the stacks that a partition uses, 0 among them, ascending: tables of stacks have a
 * slot for each of these, for files choose the numbers. */
struct ttp_stack_numbers {
    uint32_t *numbers;
    uint32_t count;
};

struct ttp_stack_frame {
    uint32_t symbol, below;
    uint32_t start; /* which start frame of the segment it is, or TTP_NO_FRAME */
    uint32_t flags; /* the user's */
    int64_t enter_tick, self_ticks;
    int64_t clock; /* the user's */
};

struct ttp_frame_stack {
    uint32_t top, height, epoch;
    int64_t clock; /* the user's: 0 at the segment's start */
};

struct ttp_frame_stacks {
    struct ttp_memory *memory;
    struct ttp_stack_frame *frames;
    uint32_t frame_count, frame_capacity, free_frame;
    struct ttp_stack_numbers numbers; /* of the caller of open */
    struct ttp_frame_stack *stacks;   /* a slot for each number */
    uint32_t stack_count;
    uint32_t epoch;
    struct ttp_frame_stack *current;
    uint32_t current_number;
};

/* The slot of a number, which is one of them. Mostly all numbers from 0 on are there. */
static inline uint32_t ttp_stack_slot(const struct ttp_stack_numbers *n, uint32_t number)
{
    if (number < n->count && n->numbers[number] == number)
        return number;
    return ttp_count_below(n->numbers, 1, n->count, number);
}

/* `numbers`: all that can come. They belong to the caller and stay until the stacks are closed. */
ttape_status ttp_stacks_open(struct ttp_frame_stacks *s, struct ttp_memory *memory,
                             const struct ttp_stack_numbers *numbers, ttape_error *err);
void ttp_stacks_close(struct ttp_frame_stacks *s);
/* All stacks are empty again. */
void ttp_stacks_start(struct ttp_frame_stacks *s);

ttape_status ttp_stacks_grow(struct ttp_frame_stacks *s, ttape_error *err);

static inline void ttp_stacks_switch(struct ttp_frame_stacks *s, uint32_t number)
{
    struct ttp_frame_stack *stack = &s->stacks[ttp_stack_slot(&s->numbers, number)];
    if (stack->epoch != s->epoch)
        *stack = (struct ttp_frame_stack){TTP_NO_FRAME, 0, s->epoch, 0};
    s->current = stack;
    s->current_number = number;
}

/* Pushes onto the current stack; the new frame is s->frames[s->current->top]. */
static inline ttape_status ttp_stacks_push(struct ttp_frame_stacks *s, uint32_t symbol,
                                           ttape_error *err)
{
    uint32_t frame = s->free_frame;
    if (frame != TTP_NO_FRAME) {
        s->free_frame = s->frames[frame].below;
    } else {
        if (s->frame_count == s->frame_capacity) {
            ttape_status status = ttp_stacks_grow(s, err);
            if (status != TTAPE_OK)
                return status;
        }
        frame = s->frame_count++;
    }
    s->frames[frame].symbol = symbol;
    s->frames[frame].below = s->current->top;
    s->current->top = frame;
    s->current->height++;
    return TTAPE_OK;
}

/* The current stack must not be empty. */
static inline void ttp_stacks_pop(struct ttp_frame_stacks *s)
{
    uint32_t frame = s->current->top;
    s->current->top = s->frames[frame].below;
    s->current->height--;
    s->frames[frame].below = s->free_frame;
    s->free_frame = frame;
}

#endif

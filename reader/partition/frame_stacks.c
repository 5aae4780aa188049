/* What is seldom called. */
#include "reader/partition/frame_stacks.h"

#include <string.h>

ttape_status ttp_stacks_open(struct ttp_frame_stacks *s, struct ttp_memory *memory,
                             const struct ttp_stack_numbers *numbers, ttape_error *err)
{
    *s = (struct ttp_frame_stacks){
        .memory = memory, .free_frame = TTP_NO_FRAME, .numbers = *numbers};
    s->stacks = ttp_memory_take(memory, numbers->count, sizeof *s->stacks, err);
    if (s->stacks == NULL)
        return memory->status;
    memset(s->stacks, 0, numbers->count * sizeof *s->stacks);
    s->stack_count = numbers->count;
    return TTAPE_OK;
}

void ttp_stacks_close(struct ttp_frame_stacks *s)
{
    ttp_memory_give(s->memory, s->stacks, s->stack_count, sizeof *s->stacks);
    ttp_memory_give(s->memory, s->frames, s->frame_capacity, sizeof *s->frames);
    s->stacks = NULL;
    s->frames = NULL;
}

void ttp_stacks_start(struct ttp_frame_stacks *s)
{
    s->epoch++;
    s->frame_count = 0;
    s->free_frame = TTP_NO_FRAME;
    s->current = NULL;
}

ttape_status ttp_stacks_grow(struct ttp_frame_stacks *s, ttape_error *err)
{
    return ttp_memory_reserve(s->memory, &s->frames, &s->frame_capacity, s->frame_count + 1ull,
                              sizeof *s->frames, err);
}

/* Of which system calls of a thread the stack is taken: of one in each group of `every`, which is
 * anywhere in its group, so that a program that does things in turn is not always seen at the same
 * one. Where a rate is wanted, groups get larger or smaller by what the last one took: a clock that
 * said when it is time would choose the first call after each pause. */
#ifndef TTP_WRITER_STACK_SAMPLE_H
#define TTP_WRITER_STACK_SAMPLE_H

#include <stdbool.h>
#include <stdint.h>

#include "recorder/arena/arena.h"

#define TTP_SAMPLE_MOST (1u << 20) /* calls of a group, where a rate decides */

/* Of a thread; zeros are one that has not begun. */
struct ttp_stack_sample {
    uint64_t random, taken; /* taken: by the arena's clock, when the last one was */
    uint32_t every;         /* calls in this group; 0: not begun */
    uint32_t before;        /* calls that come before the next that is taken */
    uint32_t behind;        /* calls of its group behind that one */
    uint32_t passed;        /* calls from the last one that was taken to the next */
};

static inline bool ttp_stack_sample_is_asked(const struct ttp_arena_head *head)
{
    return head->stack_every > 1 || head->stack_rate != 0;
}

static inline uint32_t ttp_stack_sample_random(struct ttp_stack_sample *sample)
{
    sample->random ^= sample->random << 13;
    sample->random ^= sample->random >> 7;
    sample->random ^= sample->random << 17;
    return (uint32_t)(sample->random >> 32);
}

/* Where in its group the next one is. */
static inline void ttp_stack_sample_place(struct ttp_stack_sample *sample)
{
    uint32_t place = ttp_stack_sample_random(sample) % sample->every;
    sample->before = sample->behind + place;
    sample->passed = sample->before + 1;
    sample->behind = sample->every - 1 - place;
}

/* True: this call's, and ttp_stack_sample_next is to be told. `seed` is the thread's own. */
static inline bool ttp_stack_sample_is_due(struct ttp_stack_sample *sample,
                                           const struct ttp_arena_head *head, uint64_t seed)
{
    if (sample->every == 0) {
        sample->random = (seed + 1) * 0x9E3779B97F4A7C15ull | 1;
        sample->every = head->stack_rate != 0 ? 1 : head->stack_every;
        ttp_stack_sample_place(sample);
    }
    if (sample->before == 0)
        return true;
    sample->before--;
    return false;
}

/* As many calls as would have taken the wanted time at the pace of the last ones, but at most twice
 * as many as before, and at least half. */
static inline uint32_t ttp_stack_sample_size(const struct ttp_stack_sample *sample, uint64_t ticks,
                                             uint64_t wanted_ticks)
{
    uint64_t less = (sample->every + 1) / 2, more = UINT64_C(2) * sample->every;
    uint64_t size = ticks != 0 ? sample->passed * wanted_ticks / ticks : more;
    if (more > TTP_SAMPLE_MOST)
        more = TTP_SAMPLE_MOST;
    return (uint32_t)(size < less ? less : size > more ? more : size);
}

/* A stack was taken, at this time of the arena's clock. */
static inline void ttp_stack_sample_next(struct ttp_stack_sample *sample,
                                         const struct ttp_arena_head *head, uint64_t now)
{
    if (head->stack_rate != 0)
        sample->every = ttp_stack_sample_size(sample, now - sample->taken,
                                              head->stall_ticks / head->stack_rate);
    sample->taken = now;
    ttp_stack_sample_place(sample);
}

#endif

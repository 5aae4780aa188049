/* How long programs may wait for blocks: all threads together for half of the time, and for two
 * stalls (TTP_ARENA_STALL_NS) at once, so that none nearly stands where more is recorded than is
 * encoded.
 *
 * One word of the arena's head has a time, by the arena's clock: until then, times without waiting
 * make up for those with it. It goes on by twice what somebody waited; threads that wait at the
 * same time set the same, so that the word needs no count of them, which a kill would spoil.
 *
 *   the word - now     0 .......... a stall ........ two
 *   nobody waits                      |<- until here - | from here on
 */
#ifndef TTP_WRITER_ARENA_WAIT_SHARE_H
#define TTP_WRITER_ARENA_WAIT_SHARE_H

#include <stdbool.h>
#include <stdint.h>

#include "recorder/arena/arena.h"

#define TTP_SHARE_SPENT  1ull /* in the word: nobody waits until half of it is made up for */
#define TTP_SHARE_FACTOR 2u   /* one in so many ticks is waited, */
#define TTP_SHARE_STALLS 2u   /* and so many stalls at once */

/* One thread's wait: when it began, and what the word was then. */
struct ttp_share_wait {
    uint64_t began, word;
};

static inline struct ttp_share_wait ttp_share_begin(const struct ttp_arena_head *head, uint64_t now)
{
    uint64_t word = __atomic_load_n(&head->wait_share, __ATOMIC_RELAXED) & ~TTP_SHARE_SPENT;
    return (struct ttp_share_wait){now, word > now ? word : now};
}

/* Notes what was waited until now. Where the thread was stopped meanwhile, no more than is needed
 * for nobody to wait. */
static inline void ttp_share_note(struct ttp_arena_head *head, const struct ttp_share_wait *wait,
                                  uint64_t now, uint64_t stall)
{
    if (now <= wait->began)
        return;
    uint64_t most = now + TTP_SHARE_STALLS * stall + TTP_SHARE_SPENT;
    uint64_t next = wait->word + TTP_SHARE_FACTOR * (now - wait->began);
    next = (next < most ? next : most) & ~TTP_SHARE_SPENT;
    uint64_t word = __atomic_load_n(&head->wait_share, __ATOMIC_RELAXED);
    while ((word & ~TTP_SHARE_SPENT) < next &&
           !__atomic_compare_exchange_n(&head->wait_share, &word, next | (word & TTP_SHARE_SPENT),
                                        false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
}

/* Whether anybody may wait now. */
static inline bool ttp_share_is_left(struct ttp_arena_head *head, uint64_t now, uint64_t stall)
{
    uint64_t word = __atomic_load_n(&head->wait_share, __ATOMIC_RELAXED);
    uint64_t mark = word & ~TTP_SHARE_SPENT, ahead = mark > now ? mark - now : 0;
    bool was_spent = (word & TTP_SHARE_SPENT) != 0;
    uint64_t most = TTP_SHARE_STALLS * stall;
    bool is_spent = was_spent ? ahead > most / 2 : ahead >= most;
    if (is_spent != was_spent)
        (void)__atomic_compare_exchange_n(&head->wait_share, &word, word ^ TTP_SHARE_SPENT, false,
                                          __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    return !is_spent;
}

/* The answer is as it was last found. */
static inline bool ttp_share_was_spent(const struct ttp_arena_head *head)
{
    return (__atomic_load_n(&head->wait_share, __ATOMIC_RELAXED) & TTP_SHARE_SPENT) != 0;
}

#endif

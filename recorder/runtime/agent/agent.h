/* The agent: the hooks of patched functions in a program that was attached to. It has no C library,
 * no thread-local storage and no relocations, and no hook of it makes a system call. The state of a
 * thread is found by its control block. */
#ifndef TTP_RUNTIME_AGENT_H
#define TTP_RUNTIME_AGENT_H

#include "recorder/arena/agent_layout.h"
#include "recorder/runtime/patch/patch.h"
#include "recorder/runtime/slow.h"

/* A thread by its control block. */
struct ttp_agent_slot {
    uint64_t key;       /* as taken_by, once the state is there; 0: it is not */
    uint32_t thread_id; /* as the C library keeps it there */
    uint32_t number;    /* of the thread's memory; 0: it has none yet */
    uint64_t taken_by;  /* 1 + the block's address; 0: nobody's */
    uint64_t reserved;  /* so that a slot lies in one line of the cache */
};

/* Its state, in the same place of another table: so a hook knows where both are before it has read
 * anything of them. What it asks of the state is in one line of the cache, which has no low bits of
 * an address in common with what it asks of the thread's page. */
extern struct ttp_agent_own {
    uint8_t fill[64];
    struct ttp_thread_state state;
    uint8_t rest[TTP_AGENT_PAGE - 64 - sizeof(struct ttp_thread_state)];
} ttp_agent_states[TTP_AGENT_SLOTS];

/* Zero in forked children: so they find no state, and record nothing. */
extern struct ttp_agent_wiped {
    struct ttp_process_page process;
    uint32_t is_counted; /* it is such a child, and has said so */
    uint8_t fill[TTP_AGENT_PAGE - sizeof(struct ttp_process_page) - sizeof(uint32_t)];
    struct ttp_agent_slot slots[TTP_AGENT_SLOTS];
} ttp_agent_wiped;

extern struct ttp_agent_shared ttp_agent_shared;

/* What a thread has for its values, where any are recorded. */
struct ttp_agent_memory {
    struct ttp_agent_range stack; /* its own, where all of that is known to be there */
    struct ttp_call_texts texts;
};

/* agent_memory.c: of a thread that begins; `stack` may be none. */
void ttp_agent_memory_begin(uint64_t at, const struct ttp_agent_range *stack);

/* agent_threads.c: all is mapped. */
void ttp_agent_ready(void);

/* Where a thread is looked for first. */
static inline struct ttp_agent_own *ttp_agent_own_of(uint64_t block)
{
    return &ttp_agent_states[ttp_agent_place(block) / TTP_AGENT_PAGE];
}

/* The state of the thread where it is the one that the slot is of; else NULL. */
static inline __attribute__((always_inline)) struct ttp_thread_state *
ttp_agent_state_in(struct ttp_agent_own *own, uint64_t block)
{
    const struct ttp_agent_slot *slot = &ttp_agent_wiped.slots[own - ttp_agent_states];
    bool is_it =
        TTP_LIKELY(slot->key == block + 1) &&
        TTP_LIKELY(slot->thread_id == *(const uint32_t *)(block + ttp_agent_shared.thread_id_at));
    return is_it ? &own->state : NULL;
}

/* The thread's state where it is found at once, else NULL. The first word of a control block is its
 * address. */
static inline __attribute__((always_inline)) struct ttp_thread_state *ttp_agent_find(void)
{
    uint64_t block = ttp_thread_block();
    return ttp_agent_state_in(ttp_agent_own_of(block), block);
}

/* hooks.c: of patched functions, while recording is on, by entries that have begun to look for the
 * thread before they put registers aside. */
void ttp_agent_enter(uintptr_t function, uintptr_t call_site, uintptr_t sp, uint64_t block,
                     struct ttp_agent_own *own);
void ttp_agent_exit(uintptr_t function, uintptr_t call_site, uintptr_t sp, uint64_t block,
                    struct ttp_agent_own *own);

#endif

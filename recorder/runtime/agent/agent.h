/* The agent: the hooks of patched functions in a program that was attached to. It has no C library,
 * no thread-local storage and no relocations, and no hook of it makes a system call. The state of a
 * thread is found by its control block. */
#ifndef TTP_RUNTIME_AGENT_H
#define TTP_RUNTIME_AGENT_H

#include "recorder/arena/agent_layout.h"
#include "recorder/runtime/patch/patch.h"
#include "recorder/runtime/slow.h"

#define TTP_AGENT_SLOTS 4096u /* 12 bits of the hash */

/* A thread by its control block. */
struct ttp_agent_slot {
    uint64_t key;                   /* 1 + the block's address; 0: nobody's */
    struct ttp_thread_state *state; /* NULL: it has none */
    uint32_t thread_id;             /* as the C library keeps it there */
    uint32_t number;                /* of the state */
    uint64_t reserved;              /* so that a slot lies in one line of the cache */
};

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
static inline struct ttp_agent_slot *ttp_agent_slot_of(uint64_t block)
{
    return &ttp_agent_wiped.slots[block * UINT64_C(0x9e3779b97f4a7c15) >> 52];
}

/* The thread's state where it is found at once, else NULL; each load of it waits for the one before
 * but for the id's. The first word of a control block is its address. */
static inline __attribute__((always_inline)) struct ttp_thread_state *ttp_agent_find(void)
{
    uint64_t block = ttp_thread_block();
    const struct ttp_agent_slot *slot = ttp_agent_slot_of(block);
    bool is_it =
        TTP_LIKELY(slot->key == block + 1) &&
        TTP_LIKELY(slot->thread_id == *(const uint32_t *)(block + ttp_agent_shared.thread_id_at));
    return is_it ? slot->state : NULL;
}

#endif

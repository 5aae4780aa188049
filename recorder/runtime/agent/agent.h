/* The agent: the hooks of patched functions in a program that was attached to. It has no C library,
 * no thread-local storage and no relocations, and no hook of it makes a system call. The state of a
 * thread is found by its control block. */
#ifndef TTP_RUNTIME_AGENT_H
#define TTP_RUNTIME_AGENT_H

#include "recorder/arena/agent_layout.h"
#include "recorder/runtime/patch/patch.h"
#include "recorder/runtime/slow.h"

#define TTP_AGENT_SLOTS 4096u

/* A thread by its control block. */
struct ttp_agent_slot {
    uint64_t key;       /* 1 + the block's address; 0: nobody's */
    uint32_t thread_id; /* as the C library keeps it there */
    uint32_t state;     /* its number; 0: it has none */
};

/* Zero in forked children: so they find no state, and record nothing. */
extern struct ttp_agent_wiped {
    struct ttp_process_page process;
    uint8_t fill[TTP_AGENT_PAGE - sizeof(struct ttp_process_page)];
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

#endif

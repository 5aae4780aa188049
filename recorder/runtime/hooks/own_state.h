/* The thread's own state, where it is found at once; else NULL. In programs that were attached to,
 * it has to be looked for: hot hooks do that once, in themselves, as a call would cost as much. */
#ifndef TTP_RUNTIME_OWN_STATE_H
#define TTP_RUNTIME_OWN_STATE_H

#ifdef TTP_AGENT
#include "recorder/runtime/agent/agent.h"

static inline struct ttp_thread_state *ttp_own_state(void) { return ttp_agent_find(); }
#else
#include "recorder/runtime/state.h"

static inline struct ttp_thread_state *ttp_own_state(void) { return &ttp_thread; }
#endif

#endif

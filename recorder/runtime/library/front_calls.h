/* Library calls of what the runtime stands in front of and calls itself: the C library's function
 * returns to us then, so that its probes do not know who called. */
#ifndef TTP_RUNTIME_FRONT_CALLS_H
#define TTP_RUNTIME_FRONT_CALLS_H

#include "recorder/runtime/state.h"

/* A call that is open; function 0: it is not recorded. */
struct ttp_front {
    uintptr_t function, call_site, sp;
};

/* `real`: what is called; it is recorded under this address. `caller_sp`: TTP_CALLER_SP() of what
 * stands in front. */
struct ttp_front ttp_front_enter(const void *real, uintptr_t call_site, uintptr_t caller_sp);
void ttp_front_exit(const struct ttp_front *front);
/* Of what makes its system call itself; where what was entered is not at hand. */
void ttp_front_begin_call(const void *real, uintptr_t call_site, uintptr_t caller_sp);
void ttp_front_end_call(const void *real, uintptr_t call_site, uintptr_t caller_sp);
/* The same by the place of the return address, wherever `shown` lies; false: it is not recorded. */
bool ttp_front_open(uintptr_t shown, uintptr_t call_site, uintptr_t sp);
void ttp_front_close(uintptr_t shown, uintptr_t call_site, uintptr_t sp);
/* Of what does not return here: it is over at once. */
void ttp_front_point(const void *real, uintptr_t call_site, uintptr_t caller_sp);
/* Where recorded library calls lead into that module. */
void ttp_front_is_in(uintptr_t start, uintptr_t end);

#define TTP_FRONT_HERE(real)                                                                       \
    ttp_front_enter((const void *)(real), (uintptr_t)__builtin_return_address(0), TTP_CALLER_SP())

#endif

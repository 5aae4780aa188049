/* Functions that are left by a jump (tail calls).
 *
 *     p: call f   f: jmp g   g: ret                p { f { g { } } }
 *
 * One machine frame, one return address: f has gone when g runs. In the program's source f called g,
 * and ends when g does. So f's frame stays where it is and awaits what comes next:
 *
 *     g is entered at the same place      its frame lies on f's (chained); with g's exit both end
 *     what is not recorded returns there  the exit is f's
 *     anything else                       what f jumped to is not seen: f has ended with its jump
 *
 * A signal's handler in between is neither. A chain has each function once: where one is jumped to
 * that is in it, it has ended, and those above it: so loops of such jumps stay flat. */
#ifndef TTP_RUNTIME_TAILS_H
#define TTP_RUNTIME_TAILS_H

#include "writer/runtime/operation.h"
#include "writer/runtime/state.h"

/* The function is about to jump; target: to where, 0: not known. */
void ttp_tail_leave(uintptr_t function, uintptr_t call_site, uintptr_t sp, uintptr_t target);

/* Whether this is what the innermost frame has jumped to: by the place, the return address and the
 * target. Where the target is not known, a call that comes from a call site with several callees
 * may be taken for it. */
bool ttp_tail_goes_on(const struct ttp_runtime_frame *top, uintptr_t function, uintptr_t call_site,
                      uintptr_t sp);
/* It is, and not recorded itself; its exit will be seen. */
void ttp_tail_join(struct ttp_runtime_frame *top);

/* Beside the hot path, for what has nothing to do with anything but jumps; false: it does. */
bool ttp_tail_enter(uintptr_t function, uintptr_t call_site, uintptr_t sp);
bool ttp_tail_exit(uintptr_t function, uintptr_t call_site, uintptr_t sp);

/* -- for slow.c -- */

void ttp_tail_mark(struct ttp_runtime_frame *top, uintptr_t target);
/* Makes room in the chain for a function that is entered on the frame that awaits it; the bits of
 * its frame. */
uintptr_t ttp_tail_chain(struct operation *op, uintptr_t function);
/* What the innermost frames jumped to is not seen: they have ended. */
void ttp_tail_settle(struct operation *op);

#endif

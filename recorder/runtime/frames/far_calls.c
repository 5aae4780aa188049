/* Calls that lie 1,024 bytes and more below the innermost frame: those of a function with a large
 * buffer, and of what a function that is not recorded calls back (the comparator of qsort).
 *
 *     frame of F      far_top, far_top_sp
 *       its buffer
 *     far_high        ----+
 *       calls of F's      |  where the slow side has seen calls of F's, on F's stack
 *     far_low         ----+
 *
 * A call in between is on the same stack, and F's frame is still there: as the slow side would
 * find, nothing has to be looked at. That is known of one frame, and no more once memory is
 * announced as a stack, the thread goes on with another stack, or an alternate signal stack comes
 * to be known. A range in which another stack is known to lie is not made. */
#include "recorder/runtime/hot.h"
#include "recorder/runtime/slow.h"

void ttp_far_forget(void)
{
    if (ttp_has_state())
        ttp_thread.page->far_top = NULL;
}

void ttp_far_know(const struct ttp_runtime_frame *caller, uintptr_t sp, uintptr_t call_site)
{
    struct ttp_thread_page *page = ttp_thread.page;
    uintptr_t low = sp, high = sp;
    uint64_t stacks = __atomic_load_n(&ttp_process.stack_changes, __ATOMIC_ACQUIRE);
    if (!ttp_has_state() || ttp_is_base(caller) || ttp_is_mark(caller) || sp >= caller->sp)
        return;
    if (page->far_top == caller && page->far_top_sp == caller->sp && page->far_stacks == stacks) {
        low = page->far_low < sp ? page->far_low : sp;
        high = page->far_high > sp ? page->far_high : sp;
    }
    page->far_top = NULL;
    TTP_SIGNAL_FENCE();
    if (ttp_stack_is_other_within(low, high))
        low = high = sp;
    page->far_stacks = stacks;
    page->far_low = low;
    page->far_high = high;
    page->far_top_sp = caller->sp;
    page->far_call_site = call_site;
    TTP_SIGNAL_FENCE();
    page->far_top = caller;
}

/* Called from another place than the last one: that is a handler's, or is known from now on. */
bool ttp_far_learn(const struct ttp_runtime_frame *top, struct ttp_thread_page *page, uintptr_t sp,
                   uintptr_t call_site)
{
    if (!ttp_fits_far(top, page, sp, page->far_call_site) || ttp_is_signal_return(call_site))
        return false;
    page->far_call_site = call_site;
    return true;
}

/* The hooks of libtracetape-context, which knows open calls and records nothing: a frame is pushed
 * or popped, as in a recording, and that is all. */
#include "recorder/runtime/branch/branch_state.h"
#include "recorder/runtime/hot.h"

TTP_EXPORT void __cyg_profile_func_enter(void *function, void *call_site);
TTP_EXPORT void __cyg_profile_func_exit(void *function, void *call_site);

/* Where branch values are kept, the new frame's begins. */
static __attribute__((noinline)) void enter_beside(uintptr_t function, uintptr_t call_site,
                                                   uintptr_t sp)
{
    struct ttp_runtime_frame *top = ttp_thread.top;
    if (!ttp_fits_enter(top, ttp_thread.page, sp, call_site)) {
        ttp_enter_slow(function, call_site, sp);
        return;
    }
    ttp_push(top, function, call_site, sp);
    ttp_branch_entered(top + 1);
}

void __cyg_profile_func_enter(void *function_pointer, void *call_site_pointer)
{
    uintptr_t function = (uintptr_t)function_pointer, call_site = (uintptr_t)call_site_pointer;
    uintptr_t sp = TTP_CALLER_SP();
    struct ttp_runtime_frame *top = ttp_thread.top;
    if (TTP_UNLIKELY(!ttp_fits_below(top, ttp_thread.page->hot_end, sp, call_site))) {
        enter_beside(function, call_site, sp);
        return;
    }
    ttp_push(top, function, call_site, sp);
}

void __cyg_profile_func_exit(void *function_pointer, void *call_site_pointer)
{
    uintptr_t function = (uintptr_t)function_pointer, call_site = (uintptr_t)call_site_pointer;
    uintptr_t sp = TTP_CALLER_SP();
    struct ttp_runtime_frame *top = ttp_thread.top;
    if (TTP_UNLIKELY(!ttp_fits_exit(top, function, call_site, sp))) {
        ttp_exit_slow(function, call_site, sp, NULL);
        return;
    }
    ttp_pop(top);
}

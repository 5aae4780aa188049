/* As library_enter and library_exit of hooks.c, for what no probe stands at. */
#include "recorder/runtime/library/front_calls.h"

#include "recorder/runtime/library/library_values.h"
#include "recorder/runtime/patch/probe.h"
#include "recorder/runtime/slow.h"

static bool is_called(uintptr_t caller)
{
    if (caller - ttp_process.caller_low < ttp_process.caller_bytes ||
        (ttp_process.caller_count != 0 && ttp_library_is_by_callers(caller)))
        return true;
    return ttp_process.calls_nested && caller - ttp_process.own_low >= ttp_process.own_bytes &&
           caller - ttp_process.fronted_low >= ttp_process.fronted_bytes;
}

static bool is_within(const struct ttp_runtime_frame *top, uintptr_t call_site, uintptr_t sp)
{
    return top != NULL && (top->sp & ~TTP_FRAME_DOUBTED) == sp && top->call_site == call_site;
}

bool ttp_front_open(uintptr_t shown, uintptr_t call_site, uintptr_t sp)
{
    if (ttp_is_aside || ttp_arena.head.mode != TTP_MODE_ON) /* it may be nobody's thread */
        return false;
    struct ttp_runtime_frame *top = ttp_thread.top;
    bool is_jumped_to =
        top != NULL && ttp_awaits(top) && ttp_tail_goes_on(top, shown, call_site, sp);
    if (!is_called(is_jumped_to ? ttp_function_of(top) : call_site)) {
        if (is_jumped_to)
            ttp_tail_join(top);
        return false;
    }
    if (is_within(top, call_site, sp) && ttp_function_of(top) != shown &&
        ((top->function & TTP_FRAME_JUMPED) != 0 || !ttp_tail_calls_any(call_site)))
        return false;
    ttp_probe_enter(shown, call_site, sp);
    return true;
}

void ttp_front_close(uintptr_t shown, uintptr_t call_site, uintptr_t sp)
{
    if (ttp_is_aside)
        return;
    const struct ttp_runtime_frame *top = ttp_thread.top;
    bool is_open = is_within(top, call_site, sp);
    if (is_open || is_called(call_site))
        ttp_probe_exit(is_open ? ttp_function_of(top) : shown, call_site, sp);
}

struct ttp_front ttp_front_enter(const void *real, uintptr_t call_site, uintptr_t caller_sp)
{
    struct ttp_front front = {(uintptr_t)real, call_site, caller_sp - sizeof(uintptr_t)};
    if (front.function - ttp_process.fronted_low >= ttp_process.fronted_bytes ||
        !ttp_front_open(front.function, call_site, front.sp))
        front.function = 0;
    return front;
}

void ttp_front_exit(const struct ttp_front *front)
{
    if (front->function != 0)
        ttp_front_close(front->function, front->call_site, front->sp);
}

void ttp_front_begin_call(const void *real, uintptr_t call_site, uintptr_t caller_sp)
{
    (void)ttp_front_enter(real, call_site, caller_sp);
}

void ttp_front_end_call(const void *real, uintptr_t call_site, uintptr_t caller_sp)
{
    if (ttp_is_aside)
        return;
    const struct ttp_runtime_frame *top = ttp_thread.top;
    uintptr_t sp = caller_sp - sizeof(uintptr_t);
    if (is_within(top, call_site, sp) && ttp_function_of(top) == (uintptr_t)real)
        ttp_probe_exit((uintptr_t)real, call_site, sp);
}

void ttp_front_point(const void *real, uintptr_t call_site, uintptr_t caller_sp)
{
    struct ttp_front front = ttp_front_enter(real, call_site, caller_sp);
    ttp_front_exit(&front);
}

void ttp_front_is_in(uintptr_t start, uintptr_t end)
{
    ttp_process.fronted_low = start;
    ttp_process.fronted_bytes = end - start;
}

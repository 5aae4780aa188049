/* The hooks that compilers call around each function, and those of functions whose code was patched
 * (patch/): one leaf each, see hot.h. */
#include "recorder/runtime/branch/branch_state.h"
#include "recorder/runtime/hooks/own_state.h"
#include "recorder/runtime/hot.h"
#include "recorder/runtime/library/library_values.h"
#include "recorder/runtime/patch/probe.h"
#include "recorder/runtime/slow.h"

TTP_EXPORT void __cyg_profile_func_enter(void *function, void *call_site);
TTP_EXPORT void __cyg_profile_func_exit(void *function, void *call_site);

/* All that a program pays while tracing is off: one comparison with the arena's own page. */
static inline bool is_off(void) { return TTP_LIKELY(ttp_arena.head.mode != TTP_MODE_ON); }

/* -- beside the hot path: other clocks, and where calls may be left out -- */

/* Whether it is below the innermost frame, and not far. None is inlined there: what has the same
 * stack pointer is over, or has jumped to this one. */
static inline bool fits_probe(const struct ttp_runtime_frame *top,
                              const struct ttp_thread_page *page, uintptr_t sp)
{
    return TTP_LIKELY(top->sp - sp - 1 < TTP_LARGE_FRAME - 1) && top < page->frames_end;
}

/* Where many calls around it are left out, the innermost frame is far. */
static inline bool fits_far_enter(const struct ttp_runtime_frame *top,
                                  const struct ttp_thread_page *page, uintptr_t sp,
                                  uintptr_t call_site)
{
    return top < page->frames_end && ttp_is_known_below(top, page, sp) &&
           !ttp_is_signal_return(call_site);
}

static __attribute__((noinline)) void enter_other(uintptr_t function, uintptr_t call_site,
                                                  uintptr_t sp, const struct ttp_thread_page *page)
{
    struct ttp_runtime_frame *top = ttp_thread.top;
    uint64_t place;
    if (!ttp_is_other_gate(page) ||
        !(ttp_fits_enter(top, page, sp, call_site) || fits_far_enter(top, page, sp, call_site))) {
        ttp_enter_slow(function, call_site, sp);
        return;
    }
    ttp_push(top, function, call_site, sp);
    if (ttp_branch_settings.is_on)
        ttp_branch_entered(top + 1);
    if (!ttp_record_other(page, TTP_TAG_ENTER, function, &place))
        ttp_enter_put(function, place, page);
}

static __attribute__((noinline)) void enter_left_out(uintptr_t function, uintptr_t call_site,
                                                     uintptr_t sp,
                                                     const struct ttp_thread_page *page)
{
    if (!fits_far_enter(ttp_thread.top, page, sp, call_site) && !ttp_left_out_enter(call_site, sp))
        enter_other(function, call_site, sp, ttp_thread.page);
}

/* Passes a function that is left out. What is inlined in the innermost frame has its stack pointer,
 * and is counted there, so that it is known which of the two ends. */
static inline __attribute__((always_inline)) void pass_enter(uintptr_t function,
                                                             uintptr_t call_site, uintptr_t sp,
                                                             const struct ttp_thread_page *page)
{
    struct ttp_runtime_frame *top = ttp_thread.top;
    if (TTP_UNLIKELY(ttp_is_own_frame(top, function)))
        enter_other(function, call_site, sp, page);
    else if (fits_probe(top, page, sp))
        return; /* most are */
    else if (ttp_is_inlined_in(top, sp, call_site) && ttp_inlined_in(top) < TTP_INLINED_MAX)
        top->function += TTP_FRAME_INLINED;
    else
        enter_left_out(function, call_site, sp, page);
}

/* Makes a function that passes what is left out, and jumps to another one with the rest: so each
 * needs no stack. */
#define TTP_HOOK_LOOKING(name, is_left_out, verdicts, pass, other)                                 \
    static __attribute__((noinline)) void name(uintptr_t function, uintptr_t call_site,            \
                                               uintptr_t sp, const struct ttp_thread_page *page)   \
    {                                                                                              \
        if (is_left_out(ttp_process.verdicts, page, function))                                     \
            pass(function, call_site, sp, page);                                                   \
        else                                                                                       \
            other(function, call_site, sp, page);                                                  \
    }

TTP_HOOK_LOOKING(enter_looking, ttp_is_left_out, enter_verdicts, pass_enter, enter_other)
TTP_HOOK_LOOKING(enter_beside, ttp_is_left_out_first, enter_verdicts, pass_enter, enter_looking)

static __attribute__((noinline)) void exit_other(uintptr_t function, uintptr_t call_site,
                                                 uintptr_t sp, const struct ttp_thread_page *page)
{
    struct ttp_runtime_frame *top = ttp_thread.top;
    uint64_t place;
    if (!ttp_is_other_gate(page) || !ttp_fits_exit(top, function, call_site, sp)) {
        if (ttp_is_left_out(ttp_process.verdicts, page, function) &&
            !ttp_is_own_frame(top, function))
            ttp_left_out_exit(function, call_site, sp);
        else
            ttp_exit_slow(function, call_site, sp, NULL);
        return;
    }
    if (ttp_branch_settings.is_on) {
        ttp_exit_slow(function, call_site, sp, NULL); /* with its value */
        return;
    }
    ttp_pop(top);
    if (!ttp_record_other(page, TTP_TAG_EXIT, function, &place))
        ttp_exit_put(function, place, page);
}

/* The call of a hook that is a function's last jump has its caller's stack pointer. */
static inline bool fits_left_out_exit(const struct ttp_runtime_frame *top,
                                      const struct ttp_thread_page *page, uintptr_t sp,
                                      uintptr_t call_site)
{
    return top < page->frames_end &&
           ((top->sp - sp < TTP_LARGE_FRAME && (top->sp != sp || top->call_site != call_site)) ||
            ttp_is_known_below(top, page, sp));
}

static inline __attribute__((always_inline)) void
pass_exit(uintptr_t function, uintptr_t call_site, uintptr_t sp, const struct ttp_thread_page *page)
{
    struct ttp_runtime_frame *top = ttp_thread.top;
    if (TTP_UNLIKELY(ttp_is_own_frame(top, function)))
        exit_other(function, call_site, sp, page);
    else if (fits_probe(top, page, sp))
        return; /* most are */
    else if (ttp_is_inlined_in(top, sp, call_site) && ttp_inlined_in(top) != 0)
        top->function -= TTP_FRAME_INLINED;
    else if (TTP_UNLIKELY(!fits_left_out_exit(top, page, sp, call_site)))
        exit_other(function, call_site, sp, page);
}

TTP_HOOK_LOOKING(exit_looking, ttp_is_left_out, verdicts, pass_exit, exit_other)
TTP_HOOK_LOOKING(exit_beside, ttp_is_left_out_first, verdicts, pass_exit, exit_looking)

static inline __attribute__((always_inline)) void
leave_on(struct ttp_thread_state *own, uintptr_t function, uintptr_t call_site, uintptr_t sp)
{
    const struct ttp_thread_page *page = own->page;
    if (TTP_UNLIKELY(page->gate != TTP_GATE_TSC)) {
        exit_beside(function, call_site, sp, page);
        return;
    }
    struct ttp_runtime_frame *top = own->top;
    uint64_t place;
    if (TTP_UNLIKELY(!ttp_fits_exit(top, function, call_site, sp))) {
        ttp_exit_slow(function, call_site, sp, NULL);
        return;
    }
    ttp_pop_on(own, top);
    if (TTP_UNLIKELY(!ttp_record_tsc_on(own, page, TTP_TAG_EXIT, function, &place)))
        ttp_exit_put(function, place, page);
}

static __attribute__((noinline)) void leave_unfound(uintptr_t function, uintptr_t call_site,
                                                    uintptr_t sp)
{
    leave_on(&ttp_thread, function, call_site, sp);
}

/* Functions are left the same way, whoever called the hook. */
static inline __attribute__((always_inline)) void leave(uintptr_t function, uintptr_t call_site,
                                                        uintptr_t sp)
{
    struct ttp_thread_state *own = ttp_own_state();
    if (TTP_UNLIKELY(own == NULL))
        leave_unfound(function, call_site, sp);
    else
        leave_on(own, function, call_site, sp);
}

/* Far below the innermost frame, where that is known to be its stack: as on the hot path. */
static inline __attribute__((always_inline)) bool enter_known(uintptr_t function,
                                                              uintptr_t call_site, uintptr_t sp)
{
    const struct ttp_thread_page *page = ttp_thread.page;
    struct ttp_runtime_frame *top = ttp_thread.top;
    uint64_t place;
    if (TTP_UNLIKELY(!ttp_fits_far(top, page, sp, call_site)))
        return false;
    ttp_push(top, function, call_site, sp);
    if (TTP_UNLIKELY(!ttp_record_tsc(page, TTP_TAG_ENTER, function, &place)))
        ttp_enter_put(function, place, page);
    return true;
}

static __attribute__((noinline)) void enter_farther(uintptr_t function, uintptr_t call_site,
                                                    uintptr_t sp)
{
    if (!ttp_far_learn(ttp_thread.top, ttp_thread.page, sp, call_site) ||
        !enter_known(function, call_site, sp))
        ttp_enter_slow(function, call_site, sp);
}

static __attribute__((noinline)) void enter_far(uintptr_t function, uintptr_t call_site,
                                                uintptr_t sp)
{
    if (!enter_known(function, call_site, sp))
        enter_farther(function, call_site, sp);
}

static __attribute__((noinline)) void probe_enter_farther(uintptr_t function, uintptr_t call_site,
                                                          uintptr_t sp)
{
    if (!ttp_far_learn(ttp_thread.top, ttp_thread.page, sp, call_site) ||
        !enter_known(function, call_site, sp))
        ttp_probe_enter_slow(function, call_site, sp, NULL);
}

static __attribute__((noinline)) void probe_enter_far(uintptr_t function, uintptr_t call_site,
                                                      uintptr_t sp)
{
    if (!enter_known(function, call_site, sp))
        probe_enter_farther(function, call_site, sp);
}

void __cyg_profile_func_enter(void *function_pointer, void *call_site_pointer)
{
    uintptr_t function = (uintptr_t)function_pointer, call_site = (uintptr_t)call_site_pointer;
    if (is_off())
        return;
    uintptr_t sp = TTP_CALLER_SP();
    const struct ttp_thread_page *page = ttp_thread.page;
    if (TTP_UNLIKELY(page->gate != TTP_GATE_TSC)) {
        enter_beside(function, call_site, sp, page);
        return;
    }
    struct ttp_runtime_frame *top = ttp_thread.top;
    uint64_t place;
    if (TTP_UNLIKELY(!ttp_fits_enter(top, page, sp, call_site))) {
        enter_far(function, call_site, sp);
        return;
    }
    ttp_push(top, function, call_site, sp);
    if (TTP_UNLIKELY(!ttp_record_tsc(page, TTP_TAG_ENTER, function, &place)))
        ttp_enter_put(function, place, page);
}

void __cyg_profile_func_exit(void *function_pointer, void *call_site_pointer)
{
    if (is_off())
        return;
    leave((uintptr_t)function_pointer, (uintptr_t)call_site_pointer, TTP_CALLER_SP());
}

/* -- patched functions: sp is where the return address lies -- */

static inline __attribute__((always_inline)) bool
probe_enter_known(uintptr_t function, uintptr_t call_site, uintptr_t sp,
                  const struct ttp_thread_page *page)
{
    struct ttp_runtime_frame *top = ttp_thread.top;
    uint64_t place;
    if (!ttp_is_other_gate(page) ||
        !(fits_probe(top, page, sp) || ttp_fits_far(top, page, sp, call_site)))
        return false;
    ttp_push(top, function, call_site, sp);
    if (!ttp_record_other(page, TTP_TAG_ENTER, function, &place))
        ttp_enter_put(function, place, page);
    return true;
}

static __attribute__((noinline)) void probe_enter_other_far(uintptr_t function, uintptr_t call_site,
                                                            uintptr_t sp)
{
    struct ttp_thread_page *page = ttp_thread.page;
    if (!ttp_far_learn(ttp_thread.top, page, sp, call_site) ||
        !probe_enter_known(function, call_site, sp, page))
        ttp_probe_enter_slow(function, call_site, sp, NULL);
}

static __attribute__((noinline)) void probe_enter_other(uintptr_t function, uintptr_t call_site,
                                                        uintptr_t sp,
                                                        const struct ttp_thread_page *page)
{
    if (!probe_enter_known(function, call_site, sp, page))
        probe_enter_other_far(function, call_site, sp);
}

static inline __attribute__((always_inline)) void
probe_enter_on(struct ttp_thread_state *own, uintptr_t function, uintptr_t call_site, uintptr_t sp)
{
    const struct ttp_thread_page *page = own->page;
    if (TTP_UNLIKELY(page->gate != TTP_GATE_TSC)) {
        probe_enter_other(function, call_site, sp, page);
        return;
    }
    struct ttp_runtime_frame *top = own->top;
    uint64_t place;
    if (TTP_UNLIKELY(!fits_probe(top, page, sp))) {
        probe_enter_far(function, call_site, sp);
        return;
    }
    ttp_push_on(own, top, function, call_site, sp);
    if (TTP_UNLIKELY(!ttp_record_tsc_on(own, page, TTP_TAG_ENTER, function, &place)))
        ttp_enter_put(function, place, page);
}

static __attribute__((noinline)) void probe_enter_unfound(uintptr_t function, uintptr_t call_site,
                                                          uintptr_t sp)
{
    probe_enter_on(&ttp_thread, function, call_site, sp);
}

static inline __attribute__((always_inline)) void probe_enter(uintptr_t function,
                                                              uintptr_t call_site, uintptr_t sp)
{
    if (is_off())
        return;
    struct ttp_thread_state *own = ttp_own_state();
    if (TTP_UNLIKELY(own == NULL))
        probe_enter_unfound(function, call_site, sp);
    else
        probe_enter_on(own, function, call_site, sp);
}

void ttp_probe_enter(uintptr_t function, uintptr_t call_site, uintptr_t sp)
{
    probe_enter(function, call_site, sp);
}

void ttp_probe_exit(uintptr_t function, uintptr_t call_site, uintptr_t sp)
{
    if (!is_off())
        leave(function, call_site, sp);
}

#ifdef TTP_AGENT
void ttp_agent_enter(uintptr_t function, uintptr_t call_site, uintptr_t sp, uint64_t block,
                     struct ttp_agent_own *place)
{
    struct ttp_thread_state *own = ttp_agent_state_in(place, block);
    if (TTP_UNLIKELY(own == NULL))
        probe_enter_unfound(function, call_site, sp);
    else
        probe_enter_on(own, function, call_site, sp);
}

void ttp_agent_exit(uintptr_t function, uintptr_t call_site, uintptr_t sp, uint64_t block,
                    struct ttp_agent_own *place)
{
    struct ttp_thread_state *own = ttp_agent_state_in(place, block);
    if (TTP_UNLIKELY(own == NULL))
        leave_unfound(function, call_site, sp);
    else
        leave_on(own, function, call_site, sp);
}
#endif

/* One that was jumped to returns for the one that jumped. */
static inline bool is_within(const struct ttp_runtime_frame *top, uintptr_t call_site, uintptr_t sp)
{
    return top != NULL && (top->sp & ~TTP_FRAME_DOUBTED) == sp && top->call_site == call_site;
}

/* Exit code that several functions share. The exit counts for the function whose frame is open; if
 * none is open, nothing is recorded. */
void ttp_probe_joined(uintptr_t function, uintptr_t call_site, uintptr_t sp)
{
    if (is_off())
        return;
    const struct ttp_runtime_frame *top = ttp_thread.top;
    if (!is_within(top, call_site, sp))
        return;
    function = ttp_function_of(top);
    if (TTP_UNLIKELY(ttp_process.library.count != 0))
        ttp_library_exit_valued(function, call_site, sp);
    else
        leave(function, call_site, sp);
}

/* -- jumps to other functions (frames/tails.c) -- */

void ttp_probe_tail(uintptr_t function, uintptr_t call_site, uintptr_t sp)
{
    if (!is_off())
        ttp_tail_leave(function, call_site, sp, ttp_probe_target(sp));
}

/* Of whose frame is open here: by a jump of several functions, or of a library within a call. */
void ttp_probe_joined_tail(uintptr_t function, uintptr_t call_site, uintptr_t sp)
{
    (void)function;
    if (!is_off() && is_within(ttp_thread.top, call_site, sp))
        ttp_tail_leave(ttp_function_of(ttp_thread.top), call_site, sp, ttp_probe_target(sp));
}

/* -- with values: the slow side puts those that are texts where they are written from -- */

static inline bool is_this_period(const struct ttp_thread_page *page)
{
    return *(volatile const uint32_t *)&ttp_arena.head.periods == page->period;
}

void ttp_probe_enter_with(uintptr_t function, uintptr_t call_site, uintptr_t sp,
                          const struct ttp_call_values *values)
{
    if (is_off())
        return;
    const struct ttp_thread_page *page = ttp_thread.page;
    struct ttp_runtime_frame *top = ttp_thread.top;
    if (values->count == 0) {
        probe_enter(function, call_site, sp);
        return;
    }
    if (page->gate != TTP_GATE_TSC || !fits_probe(top, page, sp) || !is_this_period(page)) {
        ttp_probe_enter_slow(function, call_site, sp, values);
        return;
    }
    uint32_t process = ttp_process_now();
    ttp_push(top, function, call_site, sp);
    if (!ttp_call_write(process, TTP_TAG_ENTER, function, values))
        ttp_call_enter_put(function, page, values);
}

void ttp_probe_exit_with(uintptr_t function, uintptr_t call_site, uintptr_t sp,
                         const struct ttp_call_values *values)
{
    if (is_off())
        return;
    const struct ttp_thread_page *page = ttp_thread.page;
    struct ttp_runtime_frame *top = ttp_thread.top;
    if (values->count == 0) {
        leave(function, call_site, sp);
        return;
    }
    if (page->gate != TTP_GATE_TSC || !ttp_fits_exit(top, function, call_site, sp) ||
        !is_this_period(page)) {
        ttp_exit_slow(function, call_site, sp, values);
        return;
    }
    uint32_t process = ttp_process_now();
    ttp_pop(top);
    if (!ttp_call_write(process, TTP_TAG_EXIT, function, values))
        ttp_call_exit_put(function, page, values);
}

/* Of a copy of an inlined function: a call from here, that is over at once. What is open at the
 * stack pointer is the function that it is in. */
void ttp_probe_inlined(uintptr_t function, uintptr_t unused, uintptr_t sp)
{
    (void)unused;
    ttp_probe_enter(function, function, sp - sizeof(uintptr_t));
    ttp_probe_exit(function, function, sp - sizeof(uintptr_t));
}

/* -- functions of libraries: only where the program's own code calls them, or another module, by
 * the return address, which is there at both ends -- */

static inline bool is_called(uintptr_t call_site, uintptr_t sp)
{
    return call_site - ttp_process.caller_low < ttp_process.caller_bytes ||
           (ttp_process.caller_count != 0 && ttp_library_is_by_callers(call_site)) ||
           (ttp_process.calls_nested && ttp_library_is_other(call_site, sp));
}

/* Where a function has jumped here, that is what calls. A library that jumps within itself returns
 * for the call that is open; but where a pointer was called through, that may have ended unseen. */
void ttp_library_enter(uintptr_t function, uintptr_t call_site, uintptr_t sp)
{
    if (is_off())
        return;
    struct ttp_runtime_frame *top = ttp_thread.top;
    bool is_jumped_to = TTP_UNLIKELY(top != NULL && ttp_awaits(top)) &&
                        ttp_tail_goes_on(top, function, call_site, sp);
    if (!is_called(is_jumped_to ? ttp_function_of(top) : call_site, sp)) {
        if (is_jumped_to)
            ttp_tail_join(top);
        return;
    }
    if (is_within(top, call_site, sp) && ttp_function_of(top) != function &&
        ((top->function & TTP_FRAME_JUMPED) != 0 || !ttp_tail_calls_any(call_site)))
        return;
    if (TTP_UNLIKELY(ttp_process.library.count != 0))
        ttp_library_enter_valued(function, call_site, sp);
    else
        probe_enter(function, call_site, sp);
}

void ttp_library_exit(uintptr_t function, uintptr_t call_site, uintptr_t sp)
{
    if (is_off())
        return;
    const struct ttp_runtime_frame *top = ttp_thread.top;
    bool is_open = is_within(top, call_site, sp);
    if (!is_open && !is_called(call_site, sp))
        return;
    if (is_open)
        function = ttp_function_of(top);
    if (TTP_UNLIKELY(ttp_process.library.count != 0))
        ttp_library_exit_valued(function, call_site, sp);
    else
        leave(function, call_site, sp);
}

extern __typeof__(__cyg_profile_func_enter) ttp_own_enter
    __attribute__((alias("__cyg_profile_func_enter"), visibility("hidden")));

/* What a program forbids itself: system calls (a filter, seccomp's first mode, dispatch to a
 * handler) and its clock (the time stamp counter).
 *
 *   begin: what is needed behind it is mapped; from here on no call but the program's own
 *   the call
 *   end:   refused: all is as it was; else it stays so, and a GAP says from when on
 *
 * In between, a handler may run that is forbidden already. So both hold from before the call on,
 * and are taken back where the kernel refused it: what it was asked for says nothing. */
#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>

#include "recorder/arena/record.h"
#include "recorder/runtime/patch/patch.h"
#include "recorder/runtime/slow.h"

#define NAME_BYTES     32u
#define PAUSE_NS       1000000
#define PATCHING_WAITS 5000u /* some seconds */
#define ROOM_WAITS     200u

/* -- the clock -- */

/* By which the kernel's clocks are read without a system call. */
static bool is_quick_source(const char *name, long size)
{
    static const char *const known[] = {"tsc\n", "kvm-clock\n", "hyperv_clocksource_tsc_page\n"};
    for (uint32_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
        long at = 0;
        while (at < size && known[i][at] == name[at])
            at++;
        if (known[i][at] == '\0')
            return true;
    }
    return false;
}

static bool has_quick_source(void)
{
    char name[NAME_BYTES];
    long fd = ttp_syscall(SYS_openat, AT_FDCWD,
                          (long)"/sys/devices/system/clocksource/clocksource0/current_clocksource",
                          O_RDONLY | O_CLOEXEC, 0, 0, 0);
    if (ttp_failed(fd))
        return true; /* as nearly everywhere */
    long size = ttp_syscall(SYS_read, fd, (long)name, sizeof(name) - 1, 0, 0, 0);
    ttp_syscall(SYS_close, fd, 0, 0, 0, 0, 0);
    name[size > 0 ? size : 0] = '\0';
    return is_quick_source(name, size);
}

static bool clock_is_call(void)
{
    uint32_t clock = ttp_arena.head.clock;
    bool is_kernels = clock == TTP_CLOCK_MONOTONIC || clock == TTP_CLOCK_COARSE;
    return is_kernels &&
           (!ttp_vdso_has_clock() || (clock == TTP_CLOCK_MONOTONIC && !has_quick_source()));
}

/* The coarse clock is what the kernel has written down. */
static bool clock_is_counter(void)
{
    uint32_t clock = ttp_arena.head.clock;
    return clock != TTP_CLOCK_NONE && clock != TTP_CLOCK_COARSE;
}

/* -- from when on events are lost -- */

/* Such calls are few: where there is no room, it is worth a moment. */
static void end_drop_period(void)
{
    const struct timespec pause = {0, PAUSE_NS};
    ttp_drop_try_last();
    for (uint32_t i = 0; i < ROOM_WAITS && ttp_is_dropping() && !ttp_avoids_calls(); i++) {
        ttp_syscall(SYS_nanosleep, (long)&pause, 0, 0, 0, 0, 0);
        ttp_drop_try_last();
    }
}

void ttp_gap_reserve(struct ttp_gap_place *gap)
{
    *gap = (struct ttp_gap_place){0};
    if (!ttp_has_state())
        return;
    end_drop_period();
    gap->process = ttp_process_now();
    gap->place = ttp_is_dropping() ? NULL : ttp_reserve_timed(1, &gap->now);
}

/* In a child that was forked meanwhile the place is its parent's. */
bool ttp_gap_settle(struct ttp_gap_place *gap, bool is_told)
{
    uint64_t *place = gap->place;
    gap->place = NULL;
    if (place == NULL || ttp_is_child_of(gap->process))
        return false;
    if (is_told)
        ttp_store(place, ttp_record_extension(TTP_EXT_GAP, gap->now, TTAPE_GAP_REASON_SANDBOX));
    else
        ttp_store(place, ttp_record_extension(TTP_EXT_NOTHING, 0, 0));
    return is_told;
}

/* -- a thread that may not read its clock any more -- */

void ttp_silence_lost(void)
{
    ttp_thread.silent_lost++;
    ttp_event_lost();
    if (ttp_thread.is_silence_told)
        __atomic_add_fetch(&ttp_arena.head.lost_sandboxed, 1, __ATOMIC_RELAXED);
}

static void begin_silence(struct ttp_restriction *r)
{
    uint32_t gate = ttp_thread.page->gate;
    if (!ttp_has_state() && gate != TTP_GATE_NO_STATE)
        return;
    ttp_thread.silent_page = ttp_thread.page;
    ttp_thread.silent_lost = 0;
    ttp_thread.is_silence_told = false;
    ttp_thread.silent_for_good = (r->what & TTP_RESTRICTS_CALLS) != 0;
    r->is_silent = true;
    TTP_SIGNAL_FENCE();
    ttp_thread.page = &ttp_page_silent;
}

/* What was lost so far is in the arena's count; from here on, the thread's GAP has it. Its frames
 * were not followed. */
static void end_silence(void)
{
    struct ttp_thread_page *page = ttp_thread.silent_page;
    uint64_t lost = ttp_thread.silent_lost;
    bool was_told = ttp_thread.is_silence_told;
    ttp_thread.silent_page = NULL;
    ttp_thread.is_silence_told = false;
    TTP_SIGNAL_FENCE();
    ttp_thread.page = page;
    if (lost == 0 || !ttp_has_state())
        return;
    if (was_told)
        __atomic_sub_fetch(&ttp_arena.head.lost_sandboxed, lost, __ATOMIC_RELAXED);
    ttp_drop_begin(TTP_GATE_DROP, TTAPE_GAP_REASON_SANDBOX);
    page->dropped += lost;
    page->published += lost;
    page->freed_seen--; /* there may be a block: try */
}

static void keep_silence(struct ttp_restriction *r)
{
    if (!ttp_gap_settle(&r->gap, true))
        return;
    __atomic_add_fetch(&ttp_arena.head.lost_sandboxed, ttp_thread.silent_lost, __ATOMIC_RELAXED);
    ttp_thread.is_silence_told = true;
}

void ttp_clock_is_back(void)
{
    if (ttp_thread.page == &ttp_page_silent && !ttp_thread.silent_for_good)
        end_silence();
}

/* -- code that is being changed -- */

/* False: no signal can be held back, or calls are about to be refused: nothing is changed. */
bool ttp_patching_begin(uint64_t *signals_before)
{
    uint64_t all = UINT64_MAX;
    uint32_t *patching = &ttp_process.page->patching;
    __atomic_add_fetch(patching, 1, __ATOMIC_SEQ_CST);
    if (!ttp_avoids_calls() && ttp_syscall(SYS_rt_sigprocmask, SIG_BLOCK, (long)&all,
                                           (long)signals_before, sizeof(all), 0, 0) == 0)
        return true;
    __atomic_sub_fetch(patching, 1, __ATOMIC_SEQ_CST);
    return false;
}

void ttp_patching_end(const uint64_t *signals_before)
{
    ttp_syscall(SYS_rt_sigprocmask, SIG_SETMASK, (long)signals_before, 0, sizeof(*signals_before),
                0, 0);
    __atomic_sub_fetch(&ttp_process.page->patching, 1, __ATOMIC_SEQ_CST);
}

/* Code that another thread is about to change must be whole again before its calls are refused. */
static void wait_for_patching(void)
{
    const struct timespec pause = {0, PAUSE_NS};
    struct ttp_process_page *page = ttp_process.page;
    for (uint32_t i = 0; i < PATCHING_WAITS && page != NULL &&
                         __atomic_load_n(&page->patching, __ATOMIC_ACQUIRE) != 0;
         i++)
        ttp_syscall(SYS_nanosleep, (long)&pause, 0, 0, 0, 0, 0);
}

/* -- both -- */

static void prepare_filter(void)
{
    ttp_arena_map_ahead();
    ttp_states_map_ahead();
    if (!ttp_has_state())
        return;
    ttp_stack_exact();
    if ((ttp_arena.head.call_flags & TTP_CALLS_STACKS) != 0)
        ttp_path_prepare();
}

/* A process beside its parent, in the same memory: what it forbids itself, its parent may. */
static bool is_beside(void)
{
    return ttp_thread.page->gate == TTP_GATE_VFORK_CHILD &&
           (ttp_thread.shared_page == NULL || ttp_thread.child_avoids ||
            ttp_process.avoids_system_calls != 0 || ttp_process_number() != ttp_thread.process_id);
}

void ttp_restriction_begin(struct ttp_restriction *r, uint32_t what)
{
    *r = (struct ttp_restriction){0};
    if (is_beside()) {
        ttp_thread.child_avoids = true;
        return;
    }
    bool is_on = __atomic_load_n(&ttp_process.state, __ATOMIC_ACQUIRE) == TTP_PROCESS_ON;
    bool is_first = (what & TTP_RESTRICTS_CALLS) != 0 && ttp_process.avoids_system_calls == 0;
    r->what = what;
    if (is_on && is_first) {
        prepare_filter();
        r->clock_is_call = clock_is_call();
    }
    bool is_silent =
        is_on && (r->clock_is_call || ((what & TTP_RESTRICTS_CLOCK) != 0 && clock_is_counter()));
    if (is_silent) /* while there is a clock, and room can be made */
        ttp_gap_reserve(&r->gap);
    if ((what & TTP_RESTRICTS_CALLS) != 0)
        __atomic_add_fetch(&ttp_process.avoids_system_calls, 1, __ATOMIC_SEQ_CST);
    if (is_on && is_first)
        wait_for_patching();
    if (is_silent)
        begin_silence(r);
}

void ttp_restriction_end(struct ttp_restriction *r, bool is_done)
{
    if (is_done) {
        if (r->is_silent) {
            ttp_process.has_no_tsc = true;
            keep_silence(r);
        }
        return;
    }
    if (r->is_silent) {
        (void)ttp_gap_settle(&r->gap, false);
        end_silence();
    }
    if ((r->what & TTP_RESTRICTS_CALLS) != 0)
        __atomic_sub_fetch(&ttp_process.avoids_system_calls, 1, __ATOMIC_SEQ_CST);
}

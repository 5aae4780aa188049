/* What a system call costs of a counter of its thread: as the thread itself asks the kernel, before
 * the call is recorded and behind it. Where it may not ask (a filter), nothing is known. */
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>

#include "recorder/runtime/patch/patch.h"

static uint64_t count_of(const struct rusage *used)
{
    return ttp_arena.head.call_counter == TTP_COUNTER_PAGE_FAULTS
               ? (uint64_t)(used->ru_minflt + used->ru_majflt)
               : (uint64_t)(used->ru_nvcsw + used->ru_nivcsw);
}

static bool count_now(uint64_t *count)
{
    struct timespec used;
    struct rusage usage;
    if (ttp_process.avoids_system_calls)
        return false;
    if (ttp_arena.head.call_counter != TTP_COUNTER_CPU_TIME) {
        bool is_there =
            !ttp_failed(ttp_syscall(SYS_getrusage, RUSAGE_THREAD, (long)&usage, 0, 0, 0, 0));
        *count = is_there ? count_of(&usage) : 0;
        return is_there;
    }
    if (ttp_failed(
            ttp_syscall(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, (long)&used, 0, 0, 0, 0)))
        return false;
    *count = (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec;
    return true;
}

/* One that is free, or is this call's from before; else one of a call that was left. */
static struct ttp_counted_call *place_for(struct ttp_thread_page *page, uintptr_t sp)
{
    struct ttp_counted_call *free = NULL;
    for (uint32_t i = 0; i < TTP_COUNTED_CALLS; i++) {
        struct ttp_counted_call *call = &page->counted[i];
        if (call->sp == sp)
            return call;
        if (call->sp == 0 && free == NULL)
            free = call;
    }
    return free != NULL ? free : &page->counted[page->counted_turn++ % TTP_COUNTED_CALLS];
}

/* A handler that comes in between ends what it begins, or does not come back. */
void ttp_call_count_begins(uintptr_t sp)
{
    uint64_t count;
    if (!ttp_has_state() && !ttp_thread_ready(sp))
        return;
    if (!ttp_has_state() || !count_now(&count))
        return;
    struct ttp_counted_call *call = place_for(ttp_thread.page, sp);
    call->sp = 0;
    TTP_SIGNAL_FENCE();
    call->count = count;
    TTP_SIGNAL_FENCE();
    call->sp = sp;
}

void ttp_call_count_ends(struct ttp_call_values *values, uintptr_t sp)
{
    uint64_t count;
    if (!ttp_has_state() || values->count >= TTP_CALL_VALUES_MAX || !count_now(&count))
        return;
    for (uint32_t i = 0; i < TTP_COUNTED_CALLS; i++) {
        struct ttp_counted_call *call = &ttp_thread.page->counted[i];
        if (call->sp != sp)
            continue;
        for (uint32_t k = 0; k < values->count && !values->has_types; k++)
            values->types[k] = (uint8_t)values->type;
        values->has_types = true;
        values->types[values->count] = TTAPE_VALUE_UNSIGNED;
        values->numbers[values->count++] = count - call->count;
        call->sp = 0;
        return;
    }
}

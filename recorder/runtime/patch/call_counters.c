/* Counters of a thread, as it asks the kernel itself: what they stand at where a function is
 * entered and left, and what a system call costs, asked before it is recorded and behind it. Where
 * it may not ask (a filter), nothing is known. */
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>

#include "recorder/runtime/patch/patch.h"

static bool ask_usage(long whose, struct rusage *used)
{
    return !ttp_failed(ttp_syscall(SYS_getrusage, whose, (long)used, 0, 0, 0, 0));
}

static bool ask_time(uint64_t *count)
{
    struct timespec used;
    if (ttp_failed(
            ttp_syscall(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, (long)&used, 0, 0, 0, 0)))
        return false;
    *count = (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec;
    return true;
}

static bool ask_processor(uint64_t *count)
{
    uint32_t number = 0;
    bool is_there = !ttp_failed(ttp_syscall(SYS_getcpu, (long)&number, 0, 0, 0, 0, 0));
    *count = number;
    return is_there;
}

bool ttp_value_count(uint32_t counter, uint64_t *count)
{
    struct rusage used;
    if (ttp_process.avoids_system_calls)
        return false;
    if (counter == TTP_VALUE_CPU_TIME)
        return ask_time(count);
    if (counter == TTP_VALUE_CPU)
        return ask_processor(count);
    if (!ask_usage(counter == TTP_VALUE_MAX_RSS ? RUSAGE_SELF : RUSAGE_THREAD, &used))
        return false;
    *count = counter == TTP_VALUE_MAX_RSS       ? (uint64_t)used.ru_maxrss * 1024u
             : counter == TTP_VALUE_PAGE_FAULTS ? (uint64_t)(used.ru_minflt + used.ru_majflt)
                                                : (uint64_t)(used.ru_nvcsw + used.ru_nivcsw);
    return true;
}

/* The arena's counters are the first ones, from 1 on. */
_Static_assert(TTP_COUNTER_CPU_TIME == TTP_VALUE_CPU_TIME + 1 &&
                   TTP_COUNTER_PAGE_FAULTS == TTP_VALUE_PAGE_FAULTS + 1 &&
                   TTP_COUNTER_CONTEXT_SWITCHES == TTP_VALUE_CONTEXT_SWITCHES + 1,
               "as it says");
static bool count_now(uint64_t *count)
{
    return ttp_value_count(ttp_arena.head.call_counter - 1, count);
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

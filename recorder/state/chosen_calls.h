/* Whether a recording has system calls at all, and what of them is counted. */
#ifndef TTP_CHOSEN_CALLS_H
#define TTP_CHOSEN_CALLS_H

#include <string.h>

#include <tracetape/recording.h>

#include "recorder/arena/arena.h"

static inline bool ttp_calls_are_chosen(const ttape_syscall_options *calls)
{
    uint64_t any = 0;
    for (size_t i = 0; i < sizeof calls->chosen / sizeof *calls->chosen; i++)
        any |= calls->chosen[i];
    return any != 0;
}

/* Which counter a thread is to ask for; 0: it can ask for none of that name. */
static inline uint32_t ttp_counter_of(const char *name)
{
    static const char *const names[] = {[TTP_COUNTER_CPU_TIME] = "cpu-time",
                                        [TTP_COUNTER_PAGE_FAULTS] = "page-faults",
                                        [TTP_COUNTER_CONTEXT_SWITCHES] = "context-switches"};
    for (uint32_t i = 1; name != NULL && i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], name) == 0)
            return i;
    return 0;
}

#endif

/* Whether a recording has system calls at all. */
#ifndef TTP_CHOSEN_CALLS_H
#define TTP_CHOSEN_CALLS_H

#include <tracetape/recording.h>

static inline bool ttp_calls_are_chosen(const ttape_syscall_options *calls)
{
    uint64_t any = 0;
    for (size_t i = 0; i < sizeof calls->chosen / sizeof *calls->chosen; i++)
        any |= calls->chosen[i];
    return any != 0;
}

#endif

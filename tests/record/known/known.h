/* What the programs of this folder share. Each has calls that are known: built with LOGGED it
 * writes them down itself (own.h), without optimisation and without tracetape; as it is tried, it
 * is the same program without a word of that. The line "Known:" in each head says how often each
 * function is called in all processes and threads, so that the log is checked, too.
 *
 * Time is known in kind: only `burn` uses the processor, only `naps` sleeps. */
#ifndef TTEST_KNOWN_H
#define TTEST_KNOWN_H

#include <time.h>
#include <unistd.h>

#ifdef LOGGED
#include "own.h"
#define TAIL(call)                                                                                 \
    do {                                                                                           \
        own_put('N', "tail");                                                                      \
        __typeof__(call) result_ = (call);                                                         \
        OUT;                                                                                       \
        return result_;                                                                            \
    } while (0)
#else
#define IN                  ((void)0)
#define OUT                 ((void)0)
#define TAIL(call)          return (call)
#define own_put(kind, text) ((void)0)
#define own_number(kind, n) ((void)0)
#define own_back(name)      ((void)0)
#define own_forking()       0L
#define own_forked(number)  ((void)(number))
#define PLAIN               __attribute__((no_instrument_function))
#if defined(__clang__)
#define ALONE __attribute__((noinline))
#else
#define ALONE __attribute__((noipa))
#endif
#endif

static volatile long sink; /* what is added after a call keeps it from being a jump, or a loop */

/* Takes so many milliseconds of its thread's processor time. */
ALONE static void burn(long ms)
{
    IN;
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    long until = now.tv_sec * 1000000000 + now.tv_nsec + ms * 1000000;
    do {
        for (volatile int turn = 0; turn < 20000; turn++)
            ;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    } while (now.tv_sec * 1000000000 + now.tv_nsec < until);
    sink += ms;
    OUT;
}

/* Sleeps for so many milliseconds. */
ALONE static void naps(long ms)
{
    IN;
    struct timespec rest = {ms / 1000, ms % 1000 * 1000000};
    while (nanosleep(&rest, &rest) != 0)
        ;
    sink += ms;
    OUT;
}

#endif

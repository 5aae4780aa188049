/* Functions three deep whose calls are measured, and what one of these takes. None begins with what
 * others cannot move, as an address relative to the instruction. */
#ifndef THREE_DEEP_H
#define THREE_DEEP_H

#include <time.h>

#define ROUNDS   40
#define CALLS    4 /* of one of `outer` */
#define OURS     __attribute__((noinline, noclone))
#define NO_HOOKS __attribute__((noinline, no_instrument_function))

OURS long leaf(volatile long *place, long x)
{
    *place = x;
    return x * 3 + *place;
}
OURS long inner(volatile long *place, long x)
{
    long first = leaf(place, x);
    *place = first;
    return first + leaf(place, x + 1);
}
OURS long outer(volatile long *place, long x)
{
    long found = inner(place, x);
    *place = found;
    return found ^ x;
}

NO_HOOKS static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* The nanoseconds of a call, its enter and its exit: the best of the rounds of `count` turns. */
NO_HOOKS static double measure_call(long count)
{
    volatile long place = 0;
    double best = 1e18;
    for (int i = 0; i < ROUNDS; i++) {
        double begin = now();
        for (long k = 0; k < count; k++)
            (void)outer(&place, k);
        double took = (now() - begin) / (double)(count * CALLS);
        best = took < best ? took : best;
    }
    return best;
}

#endif

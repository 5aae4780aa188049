/* patch_measured COUNT: nanoseconds of a call, its enter and its exit, at least: the best of forty
 * rounds of COUNT calls, three functions deep. Writes the number to the file BENCH_RESULT. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define ROUNDS   40
#define CALLS    4 /* of one of `outer` */
#define OURS     __attribute__((noinline))
#define NO_HOOKS __attribute__((noinline, no_instrument_function))

/* None begins with what others cannot move, as an address relative to the instruction. */
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

NO_HOOKS int main(int argc, char **argv)
{
    const char *path = getenv("BENCH_RESULT");
    FILE *result = argc == 2 && path != NULL ? fopen(path, "w") : NULL;
    long count = argc == 2 ? atol(argv[1]) : 0;
    double best = 1e18;
    volatile long place = 0;
    if (result == NULL)
        return 2;
    for (int i = 0; i < ROUNDS; i++) {
        double begin = now();
        for (long k = 0; k < count; k++)
            (void)outer(&place, k);
        double took = (now() - begin) / (double)(count * CALLS);
        best = took < best ? took : best;
    }
    fprintf(result, "%.3f\n", best);
    return fclose(result) == 0 ? 0 : 1;
}

/* library_measured COUNT: nanoseconds of a call of a small function of the C library, at least: the
 * best of forty rounds of COUNT calls. Writes the number to the file BENCH_RESULT. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ROUNDS 40

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

int main(int argc, char **argv)
{
    const char *path = getenv("BENCH_RESULT");
    FILE *result = argc == 2 && path != NULL ? fopen(path, "w") : NULL;
    long count = argc == 2 ? atol(argv[1]) : 0;
    double best = 1e18;
    volatile int sum = 0;
    if (result == NULL)
        return 2;
    for (int i = 0; i < ROUNDS; i++) {
        double begin = now();
        for (long k = 0; k < count; k++)
            sum += ffs((int)k) + abs((int)k);
        double took = (now() - begin) / (double)(2 * count);
        best = took < best ? took : best;
    }
    fprintf(result, "%.3f\n", best);
    return fclose(result) == 0 ? 0 : 1;
}

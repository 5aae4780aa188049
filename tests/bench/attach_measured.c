/* attach_measured THREADS COUNT: serves lines of standard input until they end, each with the
 * nanoseconds of a call: the best of forty rounds of COUNT turns. THREADS wait meanwhile, three
 * calls deep. It is attached to and left while it waits for a line. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS 40
#define CALLS  4 /* of one of `outer` */
#define OURS   __attribute__((noinline, noclone))

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
/* Nobody calls it: who records it alone has nothing to record. */
OURS __attribute__((used)) long never(volatile long *place)
{
    *place += 1;
    return *place * 5;
}

OURS int wait_long(volatile long *place)
{
    *place = pause();
    return (int)*place + 1;
}
OURS int wait_deep(volatile long *place)
{
    *place = wait_long(place);
    return (int)*place + 2;
}
OURS void *wait_here(void *unused)
{
    volatile long place = 0;
    (void)unused;
    while (wait_deep(&place) != 0)
        place++;
    return NULL;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double measure(long count)
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

int main(int argc, char **argv)
{
    char line[64];
    pthread_t thread;
    if (argc != 3)
        return 2;
    for (int i = 0; i < atoi(argv[1]); i++)
        if (pthread_create(&thread, NULL, wait_here, NULL) != 0)
            return 1;
    puts("ready");
    (void)fflush(stdout);
    while (fgets(line, sizeof line, stdin) != NULL) {
        printf("%.3f\n", measure(atol(argv[2])));
        (void)fflush(stdout);
    }
    return 0;
}

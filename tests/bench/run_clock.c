/* Linked into the programs that the bench records: when they end they say what they took
 * themselves, as one line of JSON in the file that BENCH_RESULT names: wall, user and system
 * seconds from the first constructor to the last destructor, peak resident KiB. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

static double started;

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static double seconds(struct timeval time)
{
    return (double)time.tv_sec + (double)time.tv_usec * 1e-6;
}

__attribute__((constructor(101))) static void begin(void) { started = now(); }

__attribute__((destructor(101))) static void end(void)
{
    struct rusage usage;
    const char *path = getenv("BENCH_RESULT");
    FILE *file = path != NULL ? fopen(path, "w") : NULL;
    if (file == NULL)
        return;
    getrusage(RUSAGE_SELF, &usage);
    fprintf(file, "{\"wall\": %.6f, \"user\": %.6f, \"sys\": %.6f, \"max_rss_kib\": %ld}\n",
            now() - started, seconds(usage.ru_utime), seconds(usage.ru_stime), usage.ru_maxrss);
    fclose(file);
}

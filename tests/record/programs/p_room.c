/* Lives in limited memory. `p_room threads` begins threads until one more cannot be had; `p_room
 * locks LIMIT_KIB` limits what it may lock, locks all its memory, now and what comes, and goes on;
 * `p_room size` says how much it has. What depends on who looks goes to standard error. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#define STACK_KIB   4096
#define THREADS_MAX 64

static volatile long sink;
static pthread_barrier_t barrier;
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;

__attribute__((noinline)) static void leaf(long n) { sink += n; }

__attribute__((noinline)) static void calls(long count)
{
    for (long i = 0; i < count; i++)
        leaf(i);
}

__attribute__((no_instrument_function)) static long status_of(const char *name)
{
    char line[256];
    long value = -1;
    FILE *status = fopen("/proc/self/status", "r");
    while (status != NULL && fgets(line, sizeof line, status) != NULL)
        if (strncmp(line, name, strlen(name)) == 0)
            value = strtol(line + strlen(name), NULL, 10);
    if (status != NULL)
        fclose(status);
    return value;
}

__attribute__((no_instrument_function)) static void *other_thread(void *unused)
{
    calls(100);
    pthread_barrier_wait(&barrier);
    pthread_mutex_lock(&gate);
    pthread_mutex_unlock(&gate);
    return unused;
}

__attribute__((no_instrument_function)) static int begin_threads(pthread_t *threads, int most)
{
    int count = 0;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_KIB * 1024L);
    pthread_mutex_lock(&gate);
    pthread_barrier_init(&barrier, NULL, 2);
    while (count < most && pthread_create(&threads[count], &attributes, other_thread, NULL) == 0) {
        pthread_barrier_wait(&barrier); /* it has called */
        count++;
    }
    pthread_mutex_unlock(&gate);
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    return count;
}

__attribute__((no_instrument_function)) static void limit(int which, long kib)
{
    struct rlimit limit = {(rlim_t)kib * 1024, (rlim_t)kib * 1024};
    setrlimit(which, &limit);
}

int main(int argc, char **argv)
{
    static pthread_t threads[THREADS_MAX];
    const char *way = argc > 1 ? argv[1] : "size";
    long kib = argc > 2 ? atol(argv[2]) : 0;
    calls(100);
    if (strcmp(way, "threads") == 0) {
        printf("threads %d\n", begin_threads(threads, THREADS_MAX));
    } else if (strcmp(way, "locks") == 0) {
        limit(RLIMIT_MEMLOCK, kib);
        printf("locks %d\n", mlockall(MCL_CURRENT | MCL_FUTURE));
        char *more = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        printf("more %d\n", more != MAP_FAILED);
        printf("threads %d\n", begin_threads(threads, 1));
        fprintf(stderr, "locked %ld\n", status_of("VmLck:"));
        fprintf(stderr, "resident %ld\n", status_of("VmRSS:"));
    } else {
        fprintf(stderr, "size %ld\n", status_of("VmSize:"));
    }
    calls(1000000);
    return 0;
}

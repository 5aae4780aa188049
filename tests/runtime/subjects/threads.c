/* Threads that end in every way, and what is called while they do: keys' destructors in all rounds.
 * Arguments: how many threads one after another, how many at once. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

static pthread_key_t key;
static __thread int rounds;
static volatile int sink;

NOINLINE void leaf(void) { sink++; }
NOINLINE void destructor(void *value)
{
    leaf();
    if (++rounds < 6)
        pthread_setspecific(key, value);
}
NOINLINE void leaves(void)
{
    leaf();
    pthread_exit(NULL);
}
NOINLINE void waits(void)
{
    leaf();
    for (;;)
        pause();
}
NOINLINE void *returning(void *unused)
{
    leaf();
    return unused;
}
NOINLINE void *exiting(void *unused)
{
    pthread_setname_np(pthread_self(), "exiting");
    leaves();
    return unused;
}
NOINLINE void *cancelled(void *unused)
{
    waits();
    return unused;
}
NOINLINE void *destroying(void *unused)
{
    pthread_setspecific(key, &key);
    leaf();
    return unused;
}
NOINLINE void run(void *(*body)(void *), int cancel)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, body, NULL) != 0)
        abort();
    if (cancel) {
        usleep(20000);
        pthread_cancel(thread);
    }
    pthread_join(thread, NULL);
}

int main(int count, char **arguments)
{
    int many = count > 1 ? atoi(arguments[1]) : 0, at_once = count > 2 ? atoi(arguments[2]) : 1;
    pthread_key_create(&key, destructor);
    if (many == 0) {
        run(returning, 0);
        run(exiting, 0);
        run(cancelled, 1);
        run(destroying, 0);
    }
    pthread_t *threads = calloc((size_t)at_once, sizeof(*threads));
    for (int done = 0; done < many; done += at_once) {
        for (int i = 0; i < at_once; i++)
            if (pthread_create(&threads[i], NULL, returning, NULL) != 0)
                abort();
        for (int i = 0; i < at_once; i++)
            pthread_join(threads[i], NULL);
        if (done == 0 || done + at_once >= many) {
            /* Exact, unlike statm, which is off by some pages for each processor. */
            FILE *sums = fopen("/proc/self/smaps_rollup", "r");
            char line[256];
            long kib;
            while (sums != NULL && fgets(line, sizeof(line), sums) != NULL)
                if (sscanf(line, "Anonymous: %ld", &kib) == 1)
                    printf("%ld pages\n", kib / 4);
            if (sums != NULL)
                fclose(sums);
        }
    }
    free(threads);
    return 0;
}

/* Threads that call an empty function as fast as they can: p_tight THREADS CALLS, in all. */
#include <pthread.h>
#include <stdlib.h>

#define PLAIN __attribute__((no_instrument_function))

static long calls_each;

__attribute__((noinline)) void leaf(void) { __asm__ volatile(""); }

PLAIN static void *call(void *unused)
{
    for (long i = 0; i < calls_each; i++)
        leaf();
    return unused;
}

PLAIN int main(int count, char **words)
{
    pthread_t threads[64];
    int thread_count = count == 3 ? atoi(words[1]) : 0;
    if (thread_count < 1 || thread_count > 64)
        return 2;
    calls_each = atol(words[2]) / thread_count;
    for (int i = 0; i < thread_count; i++)
        if (pthread_create(&threads[i], NULL, call, NULL) != 0)
            return 3;
    for (int i = 0; i < thread_count; i++)
        if (pthread_join(threads[i], NULL) != 0)
            return 4;
    return 0;
}

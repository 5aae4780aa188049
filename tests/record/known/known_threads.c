/* Four threads with calls of their own, and one that is idle.
 * Known: main 1, start_all 1, worker 4, step 100, inner 200, waiter 1, naps 1, burn 4 */
#include <pthread.h>

#include "known.h"

ALONE static void inner(long n)
{
    IN;
    sink += n;
    OUT;
}

ALONE static void step(long n)
{
    IN;
    inner(n);
    inner(n + 1);
    sink += n;
    OUT;
}

static void *worker(void *which)
{
    IN;
    long count = 10 + 10 * (long)which;
    for (long i = 0; i < count; i++)
        step(i);
    burn(3);
    OUT;
    return NULL;
}

static void *waiter(void *unused)
{
    IN;
    naps(5);
    sink++;
    OUT;
    return unused;
}

ALONE static void start_all(pthread_t *threads)
{
    IN;
    for (long i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, worker, (void *)i);
    pthread_create(&threads[4], NULL, waiter, NULL);
    sink++;
    OUT;
}

int main(void)
{
    IN;
    pthread_t threads[5];
    start_all(threads);
    for (int i = 0; i < 5; i++)
        pthread_join(threads[i], NULL);
    sink++;
    OUT;
    return 0;
}

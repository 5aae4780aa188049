/* Threads that start threads, one after the other and at once.
 * Known: main 1, begins 7, chief 2, clerk 4, writes 44, last 1, ends_early 1, burn 1 */
#include <pthread.h>

#include "known.h"

ALONE static void writes(long n)
{
    IN;
    sink += n;
    OUT;
}

ALONE static void begins(pthread_t *thread, void *(*run)(void *), long n)
{
    IN;
    pthread_create(thread, NULL, run, (void *)n);
    sink++;
    OUT;
}

static void *clerk(void *n)
{
    IN;
    for (long i = 0; i < (long)n; i++)
        writes(i);
    sink++;
    OUT;
    return NULL;
}

static void *chief(void *n)
{
    IN;
    pthread_t threads[2];
    begins(&threads[0], clerk, 10 * (long)n);
    begins(&threads[1], clerk, 10 * (long)n);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    sink++;
    OUT;
    return NULL;
}

ALONE static void ends_early(void)
{
    IN;
    writes(1);
    own_put('R', "");
    pthread_exit(NULL);
}

static void *last(void *n)
{
    IN;
    writes((long)n);
    burn(4);
    writes((long)n);
    ends_early();
    return NULL;
}

int main(void)
{
    IN;
    pthread_t threads[3];
    begins(&threads[0], chief, 1);
    pthread_join(threads[0], NULL);
    begins(&threads[1], chief, 1);
    pthread_join(threads[1], NULL);
    begins(&threads[2], last, 1);
    pthread_join(threads[2], NULL);
    writes(2);
    OUT;
    return 0;
}

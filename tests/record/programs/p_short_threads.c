/* Many threads that live for three calls each: `p_short_threads [IN ALL] [AT ONCE]`. Some are
 * detached, some end by pthread_exit from an inner call. Reports the private pages before and
 * after, and how many threads it ran. Keeps no log of its calls: the counts say all. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "own.h"

static long done;

ALONE static void inner(long number)
{
    if (number % 7 == 3) {
        __atomic_add_fetch(&done, 1, __ATOMIC_RELAXED);
        pthread_exit(NULL);
    }
}

ALONE static void middle(long number) { inner(number); }

static void *thread_main(void *argument)
{
    middle((long)argument);
    __atomic_add_fetch(&done, 1, __ATOMIC_RELAXED);
    return NULL;
}

/* Without those that are shared with the recorder. */
PLAIN static long private_pages(void)
{
    long size = 0, resident = 0, shared = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file == NULL || fscanf(file, "%ld %ld %ld", &size, &resident, &shared) != 3)
        return -1;
    fclose(file);
    return resident - shared;
}

PLAIN static void start(pthread_t *thread, const pthread_attr_t *attributes, long number)
{
    while (pthread_create(thread, attributes, thread_main, (void *)number) == EAGAIN)
        usleep(1000);
}

PLAIN static void run(long count, long first)
{
    static pthread_t threads[1000];
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 65536);
    for (long i = 0; i < count; i++) {
        pthread_attr_setdetachstate(&attributes, (first + i) % 5 == 4 ? PTHREAD_CREATE_DETACHED
                                                                      : PTHREAD_CREATE_JOINABLE);
        start(&threads[i], &attributes, first + i);
    }
    for (long i = 0; i < count; i++)
        if ((first + i) % 5 != 4)
            pthread_join(threads[i], NULL);
    while (__atomic_load_n(&done, __ATOMIC_RELAXED) < first + count)
        usleep(200);
    pthread_attr_destroy(&attributes);
}

PLAIN int main(int argc, char **argv)
{
    long count = own_argument(argc, argv, 1, 2000), at_once = own_argument(argc, argv, 2, 1000);
    long first = 0;
    if (at_once > 1000)
        at_once = 1000;
    run(at_once, first);
    first += at_once;
    own_report("pages_before", private_pages());
    for (; first < count; first += at_once)
        run(at_once, first);
    usleep(20000); /* the last detached ones leave */
    own_report("pages_after", private_pages());
    own_report("threads", first);
    printf("threads %ld\n", first);
    return 0;
}

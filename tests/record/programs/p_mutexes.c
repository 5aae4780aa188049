/* Threads that fight for a few mutexes and wait on a condition: `p_mutexes [THREADS] [ROUNDS]`. */
#include <pthread.h>
#include <stdio.h>

#include "own.h"

static pthread_mutex_t locks[3] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER,
                                   PTHREAD_MUTEX_INITIALIZER};
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static long counters[3], rounds, turn, thread_count;

ALONE static void locked_add(int which, long by)
{
    pthread_mutex_lock(&locks[which]);
    counters[which] += by;
    pthread_mutex_unlock(&locks[which]);
}

ALONE static void take_turn(long number)
{
    pthread_mutex_lock(&locks[2]);
    while (turn % thread_count != number)
        pthread_cond_wait(&changed, &locks[2]);
    turn++;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&locks[2]);
}

static void *work(void *argument)
{
    for (long i = 0; i < rounds; i++) {
        locked_add((int)(i % 2), 1);
        if (i % 100 == 0)
            take_turn((long)argument);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[32];
    thread_count = own_argument(argc, argv, 1, 4);
    rounds = own_argument(argc, argv, 2, 20000);
    for (long i = 0; i < thread_count; i++)
        pthread_create(&threads[i], NULL, work, (void *)i);
    for (long i = 0; i < thread_count; i++)
        pthread_join(threads[i], NULL);
    printf("%ld %ld turns %ld\n", counters[0], counters[1], turn);
    own_report("locked_add", thread_count * rounds);
    own_report("take_turn", thread_count * ((rounds + 99) / 100));
    return 0;
}

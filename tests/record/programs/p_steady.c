/* Calls for a while and says nothing: `p_steady MILLISECONDS [THREADS] [NAP IN MICROSECONDS]
 * [CALLS OF node BETWEEN NAPS]`; without a nap at full speed. Reports how often each function was
 * called. SIGTERM ends it early, well. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "own.h"

static volatile sig_atomic_t stop;
static volatile long sink;
static long total, nap, between;
static double until;

__attribute__((no_instrument_function)) static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e3 + (double)time.tv_nsec * 1e-6;
}

ALONE static void leaf(long n) { sink += n; }

ALONE static void node(long n)
{
    leaf(n);
    leaf(n + 1);
    leaf(n + 2);
}

static void on_term(int number)
{
    (void)number;
    stop = 1;
}

static void *work(void *unused)
{
    long count = 0;
    for (; !stop; count++) {
        if (count % 256 == 0 && now() > until)
            break;
        node(count);
        if (nap > 0 && (count + 1) % between == 0)
            usleep((useconds_t)nap);
    }
    __atomic_add_fetch(&total, count, __ATOMIC_RELAXED);
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t threads[32];
    long count = own_argument(argc, argv, 2, 1);
    struct sigaction action = {.sa_handler = on_term};
    sigaction(SIGTERM, &action, NULL);
    nap = own_argument(argc, argv, 3, 0);
    between = own_argument(argc, argv, 4, 1);
    until = now() + (double)own_argument(argc, argv, 1, 300);
    for (long i = 0; i < count; i++)
        pthread_create(&threads[i], NULL, work, NULL);
    for (long i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    own_report("node", total);
    own_report("leaf", total * 3);
    printf("done\n");
    return 0;
}

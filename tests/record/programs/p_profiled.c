/* SIGPROF a thousand times a second and more in threads that call all the time; the handler is
 * instrumented and raises further signals, five deep: `p_profiled [THREADS] [MILLISECONDS]`; each
 * thread gets one at least. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>
#include <time.h>

#include "own.h"

static const int chain[] = {SIGUSR1, SIGUSR2, SIGVTALRM, SIGWINCH};
static volatile int stop;
static long handled, deepest, calls;
static __thread volatile int depth;

ALONE static long leaf(long n) { return n * 7 % 13; }

ALONE static long node(long n)
{
    long sum = 0;
    for (int i = 0; i < 3; i++)
        sum += leaf(n + i);
    return sum;
}

ALONE static void handler_leaf(void) { __atomic_add_fetch(&handled, 1, __ATOMIC_RELAXED); }

static void handler(int number)
{
    (void)number;
    int here = depth;
    handler_leaf();
    if (here < 4) {
        depth = here + 1;
        raise(chain[here]);
        depth = here;
    } else {
        __atomic_add_fetch(&deepest, 1, __ATOMIC_RELAXED);
    }
    handler_leaf();
}

PLAIN static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e3 + (double)time.tv_nsec * 1e-6;
}

static void *work(void *argument)
{
    long sum = 0, count = 0;
    for (; !stop; count++)
        sum += node(count);
    __atomic_add_fetch(&calls, count, __ATOMIC_RELAXED);
    *(long *)argument = sum;
    return NULL;
}

/* Signals go to whichever thread burns the time, and to a chosen one as well. */
static void send_signals(pthread_t *threads, long count, double until)
{
    struct timespec pause = {0, 300000};
    for (long i = 0; i < count || now() < until; i++) {
        pthread_kill(threads[i % count], SIGPROF);
        nanosleep(&pause, NULL);
    }
}

int main(int argc, char **argv)
{
    pthread_t threads[32];
    long sums[32], count = own_argument(argc, argv, 1, 2);
    long duration = own_argument(argc, argv, 2, 400);
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    struct itimerval every = {{0, 1000}, {0, 1000}}, never = {{0, 0}, {0, 0}};
    sigaction(SIGPROF, &action, NULL);
    for (int i = 0; i < 4; i++)
        sigaction(chain[i], &action, NULL);
    for (long i = 0; i < count; i++)
        pthread_create(&threads[i], NULL, work, &sums[i]);
    setitimer(ITIMER_PROF, &every, NULL);
    send_signals(threads, count, now() + (double)duration);
    setitimer(ITIMER_PROF, &never, NULL);
    stop = 1;
    for (long i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    own_report("handler_leaf", handled);
    own_report("node", calls);
    printf("%s\n", handled > 0 && deepest * 10 == handled ? "whole" : "torn");
    return 0;
}

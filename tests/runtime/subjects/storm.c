/* Handlers one in another, at every moment: five timers with signals of different priority, all
 * with instrumented handlers, over calls. The program counts by itself. Arguments: milliseconds,
 * more until a handler has run, and threads. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))
#define NOHOOKS  __attribute__((no_instrument_function))
#define TIMERS   5

static volatile int sink;
static atomic_bool is_over;
static atomic_ulong calls[8];
static __thread volatile int nesting, deepest;
static long duration = 1000;

static NOHOOKS void count(int which)
{
    atomic_fetch_add_explicit(&calls[which], 1, memory_order_relaxed);
}

NOINLINE void leaf(void)
{
    count(0);
    sink++;
}
NOINLINE void spin(int n)
{
    count(1);
    for (int i = 0; i < n; i++)
        leaf();
}
NOINLINE void handler(int number)
{
    count(2);
    (void)number;
    if (++nesting > deepest)
        deepest = nesting;
    spin(nesting < 4 ? 400 : 20);
    nesting--;
}
NOINLINE void with_info(int number, siginfo_t *info, void *context)
{
    count(3);
    (void)number;
    (void)info;
    (void)context;
    if (++nesting > deepest)
        deepest = nesting;
    spin(nesting < 4 ? 400 : 20);
    nesting--;
}
NOINLINE void recurse(int n)
{
    count(4);
    if (n > 0)
        recurse(n - 1);
    leaf();
}
static NOHOOKS long now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}
static NOHOOKS void *work(void *unused)
{
    char *alternate = malloc(65536);
    stack_t stack = {.ss_sp = alternate, .ss_size = 65536};
    timer_t timers[TIMERS];
    sigaltstack(&stack, NULL);
    for (int i = 0; i < TIMERS; i++) {
        struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGRTMIN + i};
        event._sigev_un._tid = (int)syscall(SYS_gettid);
        struct itimerspec every = {{0, 1000000 + 70001 * i}, {0, 1000000 + 130003 * i}};
        if (timer_create(CLOCK_MONOTONIC, &event, &timers[i]) != 0 ||
            timer_settime(timers[i], 0, &every, NULL) != 0)
            abort();
    }
    while (!atomic_load(&is_over)) {
        recurse(20);
        spin(5);
    }
    for (int i = 0; i < TIMERS; i++)
        timer_delete(timers[i]);
    stack.ss_flags = SS_DISABLE;
    sigaltstack(&stack, NULL);
    free(alternate);
    return unused;
}

int NOHOOKS main(int argument_count, char **arguments)
{
    int threads = argument_count > 2 ? atoi(arguments[2]) : 1;
    pthread_t ids[64];
    if (argument_count > 1)
        duration = atol(arguments[1]);
    for (int i = 0; i < TIMERS; i++) {
        struct sigaction action = {.sa_flags = (i % 2 ? SA_SIGINFO : 0) |
                                               (i == 2 ? SA_ONSTACK : 0) | SA_RESTART};
        if (i % 2)
            action.sa_sigaction = with_info;
        else
            action.sa_handler = handler;
        sigaction(SIGRTMIN + i, &action, NULL);
    }
    for (int i = 0; i < threads; i++)
        if (pthread_create(&ids[i], NULL, work, NULL) != 0)
            abort();
    long end = now() + duration;
    while (now() < end || atomic_load(&calls[2]) + atomic_load(&calls[3]) == 0)
        usleep(1000);
    atomic_store(&is_over, true);
    for (int i = 0; i < threads; i++)
        pthread_join(ids[i], NULL);
    printf("leaf %lu\nspin %lu\nhandler %lu\nwith_info %lu\nrecurse %lu\n", calls[0], calls[1],
           calls[2], calls[3], calls[4]);
    return 0;
}

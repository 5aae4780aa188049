/* Runs under limits that leave little room: `p_limits [MILLISECONDS]`. A SIGXFSZ that was pending
 * before its calls must be pending after them, and no other may have come. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static volatile long sink;
static volatile sig_atomic_t came;

__attribute__((noinline)) static void leaf(long n) { sink += n; }

__attribute__((noinline)) static void calls(long count)
{
    for (long i = 0; i < count; i++)
        leaf(i);
}

static void on_limit(int number)
{
    (void)number;
    came++;
}

__attribute__((no_instrument_function)) static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e3 + (double)time.tv_nsec * 1e-6;
}

static void run_for(double milliseconds)
{
    for (double until = now() + milliseconds; now() < until;)
        calls(1000);
}

int main(int argc, char **argv)
{
    sigset_t mask, pending;
    struct sigaction action = {.sa_handler = on_limit};
    double milliseconds = argc > 1 ? atof(argv[1]) : 50;
    sigaction(SIGXFSZ, &action, NULL);
    sigaction(SIGBUS, &action, NULL);
    run_for(milliseconds);
    printf("came %d\n", (int)came);
    sigemptyset(&mask);
    sigaddset(&mask, SIGXFSZ);
    sigprocmask(SIG_BLOCK, &mask, NULL);
    raise(SIGXFSZ);
    run_for(milliseconds);
    sigpending(&pending);
    printf("pending %d\n", sigismember(&pending, SIGXFSZ));
    sigprocmask(SIG_UNBLOCK, &mask, NULL);
    printf("came %d\n", (int)came);
    run_for(milliseconds / 10);
    return 0;
}

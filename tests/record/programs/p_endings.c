/* A program that ends as its argument says, three calls deep, with a second thread that waits, and
 * one that is gone by then. */
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "own.h"

static volatile int counter;
static const char *how;
static sem_t sleeps;

PLAIN static long long now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000ll + now.tv_nsec;
}

ALONE static void work(void) { counter++; }

/* Says how long it was in here, at least. */
ALONE static void stuck(long milliseconds)
{
    long long begun = now_ns();
    usleep((useconds_t)milliseconds * 1000);
    printf("%lld\n", now_ns() - begun);
    fflush(stdout);
    kill(getpid(), SIGKILL);
    for (;;)
        pause();
}

ALONE static void waits(void)
{
    puts("waits");
    fflush(stdout);
    for (;;)
        pause();
}

/* Ends when nobody has its standard input any more. */
ALONE static void asks(void)
{
    puts("asks");
    fflush(stdout);
    while (getchar() != EOF)
        ;
    _exit(8);
}

/* The fault comes again, then without a handler. */
ALONE static void once(int number) { signal(number, SIG_DFL); }

ALONE static void told(int number, siginfo_t *info, void *context)
{
    (void)info;
    (void)context;
    once(number);
}

static bool takes_faults(void)
{
    struct sigaction action = {.sa_sigaction = told, .sa_flags = SA_SIGINFO};
    if (strcmp(how, "untold") == 0) {
        action.sa_flags = 0;
        action.sa_handler = once;
    }
    return sigaction(SIGSEGV, &action, NULL) == 0;
}

ALONE static void innermost(long milliseconds)
{
    if (strcmp(how, "stuck") == 0)
        stuck(milliseconds);
    else if (strcmp(how, "waits") == 0)
        waits();
    else if (strcmp(how, "segv") == 0)
        *(volatile int *)0 = 1;
    else if ((strcmp(how, "told") == 0 || strcmp(how, "untold") == 0) && takes_faults())
        *(volatile int *)0x1234 = 1;
    else if (strcmp(how, "sent") == 0 && takes_faults())
        raise(SIGSEGV);
    else if (strcmp(how, "abort") == 0)
        abort();
    else if (strcmp(how, "exit") == 0)
        exit(7);
    else if (strcmp(how, "_exit") == 0)
        _exit(8);
    else if (strcmp(how, "quick_exit") == 0)
        quick_exit(10);
    else if (strcmp(how, "asks") == 0)
        asks();
    else
        work();
}

ALONE static void middle(long milliseconds)
{
    for (int i = 0; i < 12; i++)
        work();
    innermost(milliseconds);
    work();
}

ALONE static void *sleeper(void *argument)
{
    (void)argument;
    sem_post(&sleeps);
    for (;;)
        pause();
}

ALONE static void *ends(void *argument)
{
    work();
    return argument;
}

int main(int argc, char **argv)
{
    pthread_t first, second;
    long milliseconds = own_argument(argc, argv, 2, 0);
    how = argv[1];
    if (argc > 3 && fork() != 0) { /* it is a child that ends so, and is waited for */
        wait(NULL);
        return 0;
    }
    pthread_create(&first, NULL, ends, NULL);
    pthread_join(first, NULL);
    sem_init(&sleeps, 0, 0);
    pthread_create(&second, NULL, sleeper, NULL);
    sem_wait(&sleeps);
    middle(milliseconds);
    return 11;
}

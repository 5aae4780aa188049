/* Ends of every kind, from inner frames: `p_ends WAY`. Output that is still in a buffer must come
 * or be lost exactly as without tracing. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "own.h"

static const char *way;

ALONE static int helper(int n)
{
    IN;
    int result = n < 1 ? 0 : helper(n - 1) + n;
    OUT;
    return result;
}

static void at_exit(void)
{
    IN;
    printf("at exit %d\n", helper(2));
    OUT;
}

static void exiting_handler(int number)
{
    own_number('S', number);
    IN;
    helper(2);
    _exit(21);
    OUT;
}

static void returning_handler(int number)
{
    own_number('S', number);
    IN;
    helper(2);
    if (write(STDOUT_FILENO, "handled\n", 8) < 0)
        _exit(9);
    OUT;
    own_number('s', number);
}

static void *exits_all(void *unused)
{
    IN;
    helper(1);
    exit(22);
    OUT;
    return unused;
}

static void *goes_on(void *unused)
{
    IN;
    helper(3);
    usleep(20000);
    printf("last\n");
    OUT;
    return unused;
}

ALONE static void by_signal(void)
{
    IN;
    if (strcmp(way, "abort") == 0)
        abort();
    if (strcmp(way, "abort_handled") == 0) {
        signal(SIGABRT, returning_handler);
        abort();
    }
    if (strcmp(way, "null") == 0)
        *(volatile int *)0 = 1;
    if (strcmp(way, "null_handled") == 0) {
        signal(SIGSEGV, exiting_handler);
        *(volatile int *)0 = 1;
    }
    if (strcmp(way, "sigterm") == 0)
        kill(getpid(), SIGTERM);
    if (strcmp(way, "sigkill") == 0)
        kill(getpid(), SIGKILL);
    if (strcmp(way, "trap") == 0)
        __builtin_trap();
    helper(1);
    OUT;
}

ALONE static void by_exit(int depth)
{
    IN;
    pthread_t thread;
    if (depth > 0) {
        by_exit(depth - 1);
    } else if (strcmp(way, "exit") == 0) {
        exit(23);
    } else if (strcmp(way, "_exit") == 0) {
        _exit(24);
    } else if (strcmp(way, "quick_exit") == 0) {
        quick_exit(25);
    } else if (strcmp(way, "exit_group") == 0) {
        syscall(SYS_exit_group, 26);
    } else if (strcmp(way, "thread_exits") == 0) {
        pthread_create(&thread, NULL, exits_all, NULL);
        for (;;)
            pause();
    } else if (strncmp(way, "main_leaves", 11) == 0) {
        pthread_create(&thread, NULL, goes_on, NULL);
        if (strcmp(way, "main_leaves_last") == 0)
            pthread_join(thread, NULL);
        own_put('R', ""); /* its frames are left; the last thread calls at_exit without any */
        pthread_exit(NULL);
    }
    OUT;
}

int main(int argc, char **argv)
{
    IN;
    way = argc > 1 ? argv[1] : "return";
    atexit(at_exit);
    printf("buffered %d\n", helper(3));
    by_signal();
    by_exit(3);
    OUT;
    return 27;
}

/* Replaces itself by itself, some times, with frames open and a second thread alive:
 * `p_exec_self [TIMES]`. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "own.h"

static volatile int ready;

ALONE static long work(long n)
{
    IN;
    long result = n < 1 ? 0 : work(n - 1) + n;
    OUT;
    return result;
}

static void *waiting(void *unused)
{
    IN;
    work(2);
    ready = 1;
    for (;;)
        pause();
    return unused;
}

ALONE static void replace(char *program, long left)
{
    IN;
    char text[32];
    char *const arguments[] = {program, text, NULL};
    pthread_t thread;
    snprintf(text, sizeof(text), "%ld", left - 1);
    pthread_create(&thread, NULL, waiting, NULL);
    while (!ready)
        usleep(100);
    fflush(stdout);
    execv("/proc/self/exe", arguments);
    OUT;
}

int main(int argc, char **argv)
{
    IN;
    long left = own_argument(argc, argv, 1, 3);
    printf("left %ld: %ld\n", left, work(left));
    if (left > 0)
        replace(argv[0], left);
    OUT;
    return left == 0 ? 7 : 1;
}

/* Forks without exec, again and again, while other threads of the parent are calling at full speed:
 * `p_fork_busy [FORKS] [THREADS]`. Children call, and end by exit, _exit or exec; one in four
 * starts a thread of its own. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "own.h"

static volatile int stop;
static volatile long sink;

ALONE static void busy_leaf(void) { sink++; }

ALONE static void busy_pair(void)
{
    busy_leaf();
    busy_leaf();
}

static void *busy(void *unused)
{
    while (!stop) {
        busy_pair();
        usleep(50);
    }
    return unused;
}

ALONE static long in_child(long n)
{
    IN;
    long result = n < 2 ? n : in_child(n - 1) + 1;
    OUT;
    return result;
}

static void *thread_of_child(void *unused)
{
    IN;
    in_child(3);
    OUT;
    return unused;
}

ALONE static void child_life(long number)
{
    IN;
    pthread_t thread;
    in_child(5);
    if (number % 4 == 0 && pthread_create(&thread, NULL, thread_of_child, NULL) == 0)
        pthread_join(thread, NULL);
    if (number % 4 == 1)
        execl("/bin/true", "true", (char *)NULL);
    if (number % 4 == 2)
        _exit(0);
    fflush(stdout);
    exit(0);
}

ALONE static int one_fork(long number)
{
    IN;
    int status = -1;
    long forking = own_forking();
    pid_t child = fork();
    if (child == 0) {
        own_forked(forking);
        child_life(number);
    }
    if (child > 0)
        waitpid(child, &status, 0);
    OUT;
    return status;
}

int main(int argc, char **argv)
{
    IN;
    pthread_t threads[64];
    long forks = own_argument(argc, argv, 1, 100), count = own_argument(argc, argv, 2, 15);
    int bad = 0;
    for (long i = 0; i < count; i++)
        pthread_create(&threads[i], NULL, busy, NULL);
    for (long i = 0; i < forks; i++)
        bad += one_fork(i) != 0;
    stop = 1;
    for (long i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    printf("forks %ld bad %d\n", forks, bad);
    OUT;
    return 0;
}

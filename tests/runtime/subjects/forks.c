/* Forks from one of many busy threads; each child calls, forks a thread of its own, and exits or
 * execs nothing. Arguments: threads, forks. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

static volatile int sink;
static atomic_bool is_over;

NOINLINE void leaf(void) { sink++; }
NOINLINE void pause_a_little(void)
{
    for (int i = 0; i < 10; i++)
        leaf();
    usleep(300);
}
NOINLINE void *busy(void *unused)
{
    while (!atomic_load_explicit(&is_over, memory_order_relaxed))
        pause_a_little();
    return unused;
}
NOINLINE void *in_child(void *unused)
{
    leaf();
    return unused;
}
NOINLINE void child(int number)
{
    pthread_t thread;
    leaf();
    if (number % 2 == 0 && pthread_create(&thread, NULL, in_child, NULL) == 0)
        pthread_join(thread, NULL);
    _exit(0);
}

int main(int count, char **arguments)
{
    int threads = count > 1 ? atoi(arguments[1]) : 4, forks = count > 2 ? atoi(arguments[2]) : 10;
    pthread_t ids[64];
    for (int i = 0; i < threads && i < 64; i++)
        if (pthread_create(&ids[i], NULL, busy, NULL) != 0)
            abort();
    for (int i = 0; i < forks; i++) {
        pid_t pid = fork();
        if (pid == 0)
            child(i);
        int status;
        if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0)
            abort();
    }
    atomic_store(&is_over, true);
    for (int i = 0; i < threads && i < 64; i++)
        pthread_join(ids[i], NULL);
    return 0;
}

/* A child that forks a child itself, one by vfork that executes, and threads in a child.
 * Known: main 1, generation 3, thread_work 2, nap_then_end 1, runs_other 1, naps 1, burn 2 */
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "known.h"

static void *thread_work(void *unused)
{
    IN;
    burn(2);
    sink++;
    OUT;
    return unused;
}

ALONE static void nap_then_end(void)
{
    IN;
    naps(2);
    _exit(0);
}

ALONE static void runs_other(void)
{
    IN;
    pid_t child = vfork();
    if (child == 0) {
        execl("/bin/true", "true", (char *)NULL);
        _exit(9);
    }
    waitpid(child, NULL, 0);
    sink++;
    OUT;
}

ALONE static long generation(long n)
{
    IN;
    if (n == 0)
        nap_then_end();
    long number = own_forking();
    pid_t child = fork();
    if (child == 0) {
        own_forked(number);
        long r = generation(n - 1);
        sink += r;
        _exit((int)n);
    }
    pthread_t thread;
    pthread_create(&thread, NULL, thread_work, NULL);
    pthread_join(thread, NULL);
    waitpid(child, NULL, 0);
    sink++;
    OUT;
    return n;
}

int main(void)
{
    IN;
    sink += generation(2);
    runs_other();
    sink++;
    OUT;
    return 0;
}

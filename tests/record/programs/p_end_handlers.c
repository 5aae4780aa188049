/* Handlers that come while a thread ends, at each STRIDE-th instruction from its last one on: a
 * child starts threads, which this process stops there, steps on, and gives a signal.
 * p_end_handlers STRIDE. Prints how many threads there were. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#define PLAIN     __attribute__((no_instrument_function))
#define STEPS_MAX 1000000

__attribute__((noinline)) void leaf(void) { __asm__ volatile(""); }

void handler(int number) { (void)number; }

PLAIN static void *run(void *unused)
{
    leaf();
    __asm__ volatile("int3");
    return unused;
}

/* Until it is killed. */
PLAIN static void start_threads(void)
{
    struct sigaction action = {.sa_handler = handler};
    pthread_t thread;
    (void)sigaction(SIGUSR1, &action, NULL);
    (void)ptrace(PTRACE_TRACEME, 0, NULL, NULL);
    (void)raise(SIGSTOP);
    while (pthread_create(&thread, NULL, run, NULL) == 0 && pthread_join(thread, NULL) == 0) {
    }
    _exit(4);
}

/* Steps a thread on, which has ended if less than `count` is returned. */
PLAIN static long step(pid_t thread, long count)
{
    int status;
    for (long i = 0; i < count; i++)
        if (ptrace(PTRACE_SINGLESTEP, thread, NULL, NULL) != 0 ||
            waitpid(thread, &status, __WALL) != thread || !WIFSTOPPED(status))
            return i;
    return count;
}

/* The next thread of the child that has come to its last instruction. */
PLAIN static pid_t next(void)
{
    int status;
    pid_t thread;
    while ((thread = waitpid(-1, &status, __WALL)) > 0) {
        if (WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP && status >> 16 == 0)
            return thread;
        if (WIFSTOPPED(status))
            (void)ptrace(PTRACE_CONT, thread, NULL, NULL);
    }
    exit(3);
}

PLAIN int main(int count, char **words)
{
    int status;
    long threads = 1, stride = count == 2 ? atol(words[1]) : 0;
    pid_t child = stride > 0 ? fork() : -1;
    if (child == 0)
        start_threads();
    if (child < 0 || waitpid(child, &status, 0) != child ||
        ptrace(PTRACE_SETOPTIONS, child, NULL, (void *)PTRACE_O_TRACECLONE) != 0)
        return 2;
    (void)ptrace(PTRACE_CONT, child, NULL, NULL);
    long total = step(next(), STEPS_MAX);
    for (long at = 0; at < total; at += stride, threads++) {
        pid_t thread = next();
        if (step(thread, at) == at)
            (void)ptrace(PTRACE_CONT, thread, NULL, (void *)(long)SIGUSR1);
    }
    (void)kill(child, SIGKILL);
    printf("%ld %ld\n", threads, total);
    return 0;
}

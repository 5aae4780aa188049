/* Main names three threads, which then wait, before anything of them is read, and ends the process
 * as it is told to: _exit, abort, kill, or exit by one of the threads. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tracetape/runtime.h>

static pthread_barrier_t barrier;
static const char *how;
static volatile int counted;

__attribute__((noinline)) static void work(void) { counted = counted + 1; }

__attribute__((noinline)) static void leaves(void) { exit(3); }

static void *run(void *argument)
{
    work();
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    work();
    if (argument != NULL && strcmp(how, "thread") == 0)
        leaves();
    for (;;)
        pause();
}

static void *tells(void *argument)
{
    ttape_rt_thread_name("alpha");
    work();
    return argument;
}

int main(int count, char **words)
{
    pthread_t threads[3], teller;
    char name[16];
    how = count > 1 ? words[1] : "";
    if (strcmp(how, "told") == 0)
        return pthread_create(&teller, NULL, tells, NULL) || pthread_join(teller, NULL);
    pthread_barrier_init(&barrier, NULL, 4);
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, run, i == 1 ? &barrier : NULL);
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < 3; i++) {
        (void)snprintf(name, sizeof(name), "named%d", i);
        pthread_setname_np(threads[i], name);
    }
    pthread_barrier_wait(&barrier);
    if (strcmp(how, "exit") == 0)
        _exit(0);
    if (strcmp(how, "abort") == 0)
        abort();
    if (strcmp(how, "kill") == 0)
        kill(getpid(), SIGKILL);
    for (;;)
        pause();
}

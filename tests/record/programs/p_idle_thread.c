/* A thread gives itself a name and waits in a call; meanwhile main makes as many calls as it is
 * told to. With one more argument it waits for a byte before that, and for another one when it has
 * waked the thread then, which waits once more. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define ALONE __attribute__((noinline))

static volatile int counter;
static int ends[2];

ALONE static void step(void) { counter++; }

ALONE static void wakes(void)
{
    puts("awake");
    fflush(stdout);
}

ALONE static long waits(void)
{
    char byte;
    return read(ends[0], &byte, 1);
}

ALONE static void *run(void *unused)
{
    if (pthread_setname_np(pthread_self(), "idler") != 0)
        return NULL;
    while (waits() > 0)
        wakes();
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    if (pipe(ends) != 0 || pthread_create(&thread, NULL, run, NULL) != 0)
        return 2;
    char byte = 0;
    if (argc > 2 && (puts("begins") < 0 || fflush(stdout) != 0 || read(0, &byte, 1) != 1))
        return 2;
    for (long i = argc > 1 ? atol(argv[1]) : 0; i > 0; i--)
        step();
    if (argc > 2 && (write(ends[1], &byte, 1) != 1 || read(0, &byte, 1) < 0))
        return 2;
    return close(ends[1]) != 0 || pthread_join(thread, NULL) != 0;
}

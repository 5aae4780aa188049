/* A thread waits in a call; meanwhile main makes as many calls as it is told to. */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#define ALONE __attribute__((noinline))

static volatile int counter;
static int ends[2];

ALONE static void step(void) { counter++; }

ALONE static void waits(void)
{
    char byte;
    (void)!read(ends[0], &byte, 1);
}

ALONE static void *run(void *unused)
{
    waits();
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    if (pipe(ends) != 0 || pthread_create(&thread, NULL, run, NULL) != 0)
        return 2;
    for (long i = argc > 1 ? atol(argv[1]) : 0; i > 0; i--)
        step();
    return close(ends[1]) != 0 || pthread_join(thread, NULL) != 0;
}

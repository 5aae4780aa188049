/* exit in the middle of calls, with functions that it calls itself; a thread that waits.
 * Known: main 1, thread_main 1, waits 1, at_end 1, at_end_inner 1, turn 3, ends 1, burn 1 */
#include <pthread.h>
#include <stdlib.h>

#include "known.h"

static volatile int is_there;

ALONE static void waits(void)
{
    IN;
    is_there = 1;
    for (;;)
        pause();
}

static void *thread_main(void *unused)
{
    IN;
    waits();
    sink++;
    return unused;
}

ALONE static void at_end_inner(void)
{
    IN;
    sink++;
    OUT;
}

static void at_end(void)
{
    IN;
    at_end_inner();
    sink++;
    OUT;
}

ALONE static void ends(long n)
{
    IN;
    sink += n;
    exit((int)n);
}

ALONE static void turn(long n)
{
    IN;
    if (n == 2)
        ends(n);
    sink += n;
    OUT;
}

int main(void)
{
    IN;
    atexit(at_end);
    pthread_t thread;
    pthread_create(&thread, NULL, thread_main, NULL);
    while (!is_there)
        usleep(1000);
    burn(4);
    for (long i = 0; i < 3; i++)
        turn(i);
    sink++;
    OUT;
    return 0;
}

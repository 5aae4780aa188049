/* A process that is killed in the middle of calls, by abort, while another thread sleeps.
 * Known: main 1, turn 6, opens 6, fails 1, sleeper 1, burn 1 */
#include <pthread.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "known.h"

static volatile int is_there;

static void *sleeper(void *unused)
{
    IN;
    is_there = 1;
    for (;;)
        pause();
    return unused;
}

ALONE static void fails(long n)
{
    IN;
    sink += n;
    abort();
}

ALONE static void opens(long n)
{
    IN;
    if (n == 5)
        fails(n);
    sink += n;
    OUT;
}

ALONE static void turn(long n)
{
    IN;
    opens(n);
    sink += n;
    OUT;
}

int main(void)
{
    IN;
    struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    pthread_t thread;
    pthread_create(&thread, NULL, sleeper, NULL);
    while (!is_there)
        usleep(1000);
    burn(4);
    for (long i = 0; i < 6; i++)
        turn(i);
    sink++;
    OUT;
    return 0;
}

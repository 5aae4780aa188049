/* attach_measured THREADS COUNT: serves lines of standard input until they end, each with the
 * nanoseconds of a call: the best of forty rounds of COUNT turns. THREADS wait meanwhile, three
 * calls deep. It is attached to and left while it waits for a line. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "three_deep.h"

/* Nobody calls it: who records it alone has nothing to record. */
OURS __attribute__((used)) long never(volatile long *place)
{
    *place += 1;
    return *place * 5;
}

OURS int wait_long(volatile long *place)
{
    *place = pause();
    return (int)*place + 1;
}
OURS int wait_deep(volatile long *place)
{
    *place = wait_long(place);
    return (int)*place + 2;
}
OURS void *wait_here(void *unused)
{
    volatile long place = 0;
    (void)unused;
    while (wait_deep(&place) != 0)
        place++;
    return NULL;
}

int main(int argc, char **argv)
{
    char line[64];
    pthread_t thread;
    if (argc != 3)
        return 2;
    for (int i = 0; i < atoi(argv[1]); i++)
        if (pthread_create(&thread, NULL, wait_here, NULL) != 0)
            return 1;
    puts("ready");
    (void)fflush(stdout);
    while (fgets(line, sizeof line, stdin) != NULL) {
        printf("%.3f\n", measure_call(atol(argv[2])));
        (void)fflush(stdout);
    }
    return 0;
}

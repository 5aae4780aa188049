/* Processes that call an empty function as fast as they can, all at once or one after the other:
 * p_many PROCESSES CALLS [one]. */
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define PLAIN __attribute__((no_instrument_function))

__attribute__((noinline)) void leaf(void) { __asm__ volatile(""); }

PLAIN static void call(long count)
{
    for (long i = 0; i < count; i++)
        leaf();
    _exit(0);
}

PLAIN static int wait_for(int count)
{
    int bad = 0, status;
    for (int i = 0; i < count; i++)
        bad += wait(&status) < 0 || status != 0;
    return bad;
}

PLAIN int main(int count, char **words)
{
    int bad = 0, waiting = 0, processes = count > 2 ? atoi(words[1]) : 0;
    for (int i = 0; i < processes; i++) {
        pid_t child = fork();
        if (child == 0)
            call(atol(words[2]));
        waiting += child > 0;
        bad += child < 0;
        if (count > 3) {
            bad += wait_for(waiting);
            waiting = 0;
        }
    }
    return bad + wait_for(waiting) != 0;
}

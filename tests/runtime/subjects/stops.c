/* Stops itself (SIGSTOP) where the test is to do something, with calls open across that: frames
 * left and opened while nothing is recorded. Argument: how many calls in between. */
#include <signal.h>
#include <stdlib.h>

#define NOINLINE __attribute__((noinline))

static volatile int sink;
static int calls;

NOINLINE void leaf(void) { sink++; }
NOINLINE void many(int n)
{
    for (int i = 0; i < n; i++)
        leaf();
}
NOINLINE void stop(void) { raise(SIGSTOP); }
NOINLINE void opened_in_it(void)
{
    stop();
    leaf();
    stop();
    many(calls);
}
NOINLINE void left_in_it(void)
{
    leaf();
    stop();
    many(calls);
}
NOINLINE void around(void)
{
    left_in_it();
    leaf();
    opened_in_it();
    leaf();
}

int main(int count, char **arguments)
{
    calls = count > 1 ? atoi(arguments[1]) : 3;
    around();
    leaf();
    return 0;
}

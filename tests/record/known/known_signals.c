/* Handlers that call, in one another, on a stack of their own, and that are left by siglongjmp.
 * Known: main 1, asks 12, handler 12, handled 12, inner_handler 4, leaves 4, back 4, burn 1 */
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>

#include "known.h"

static sigjmp_buf place;

ALONE static void handled(long n)
{
    IN;
    sink += n;
    OUT;
}

static void inner_handler(int number)
{
    own_number('S', number);
    IN;
    sink++;
    OUT;
    own_number('s', number);
}

ALONE static void leaves(void)
{
    IN;
    siglongjmp(place, 1);
}

static void handler(int number)
{
    own_number('S', number);
    IN;
    static long calls;
    handled(calls);
    long which = calls++ % 3;
    if (which == 1)
        raise(SIGUSR2);
    if (which == 2)
        leaves();
    sink++;
    OUT;
    own_number('s', number);
}

ALONE static void back(void)
{
    IN;
    sink++;
    OUT;
}

ALONE static void asks(void)
{
    IN;
    if (sigsetjmp(place, 1) == 0) {
        raise(SIGUSR1);
    } else {
        own_back("asks");
        back();
    }
    sink++;
    OUT;
}

int main(void)
{
    IN;
    static char stack[65536];
    stack_t alternate = {.ss_sp = stack, .ss_size = sizeof(stack)};
    sigaltstack(&alternate, NULL);
    struct sigaction one = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
    struct sigaction two = {.sa_handler = inner_handler};
    sigaction(SIGUSR1, &one, NULL);
    sigaction(SIGUSR2, &two, NULL);
    for (int i = 0; i < 12; i++)
        asks();
    burn(3);
    OUT;
    return 0;
}

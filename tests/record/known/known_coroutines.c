/* Three coroutines by swapcontext that take turns, in the middle of calls.
 * Known: main 1, resume 9, body 3, produce 12, yields 6, burn 3 */
#include <ucontext.h>

#include "known.h"

#define COUNT 3

static ucontext_t home, contexts[COUNT];
static int running;
static char stacks[COUNT][65536];

ALONE static void yields(void)
{
    IN;
    int self = running;
    own_number('W', 0);
    swapcontext(&contexts[self], &home);
    own_number('W', self + 1);
    sink++;
    OUT;
}

ALONE static void produce(long n)
{
    IN;
    if (n > 0) {
        produce(n - 1);
        if (n < 3)
            yields();
    } else {
        burn(2);
    }
    sink++;
    OUT;
}

static void body(void)
{
    own_number('W', running + 1);
    IN;
    produce(3);
    sink++;
    OUT;
    own_number('W', 0);
}

ALONE static void resume(int i)
{
    IN;
    running = i;
    swapcontext(&home, &contexts[i]);
    sink++;
    OUT;
}

int main(void)
{
    IN;
    for (int i = 0; i < COUNT; i++) {
        getcontext(&contexts[i]);
        contexts[i].uc_stack.ss_sp = stacks[i];
        contexts[i].uc_stack.ss_size = sizeof(stacks[i]);
        contexts[i].uc_link = &home;
        makecontext(&contexts[i], body, 0);
    }
    for (int turn = 0; turn < 3; turn++)
        for (int i = 0; i < COUNT; i++)
            resume(i);
    sink++;
    OUT;
    return 0;
}

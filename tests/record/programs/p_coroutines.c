/* Coroutines by swapcontext on stacks of 4 KiB from the heap; stacks that end are used anew;
 * coroutines that are given up with frames open. `p_coroutines [ROUNDS] [BYTES OF A STACK]` */
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

#include "own.h"

#define COUNT 8

static ucontext_t home, contexts[COUNT];
static int running = -1, ended[COUNT], ids[COUNT], next_id = 1;
static long sum;

ALONE static void yield(void)
{
    IN;
    int self = running;
    running = -1;
    own_number('W', 0);
    swapcontext(&contexts[self], &home);
    own_number('W', ids[self]);
    OUT;
}

ALONE static long walk(int depth, int turns)
{
    IN;
    long seen = 1;
    if (depth > 0)
        seen += walk(depth - 1, turns);
    for (int i = 0; i < turns; i++) {
        yield();
        seen++;
    }
    OUT;
    return seen;
}

static void coroutine(void)
{
    own_number('W', ids[running]);
    IN;
    int self = running;
    sum += walk(self % 4, 2);
    ended[self] = 1;
    running = -1;
    OUT;
    own_number('W', 0);
}

ALONE static void resume(int i)
{
    IN;
    running = i;
    swapcontext(&home, &contexts[i]);
    OUT;
}

ALONE static void make(int i, void *stack, size_t bytes)
{
    IN;
    getcontext(&contexts[i]);
    contexts[i].uc_stack.ss_sp = stack;
    contexts[i].uc_stack.ss_size = bytes;
    contexts[i].uc_link = &home;
    ended[i] = 0;
    ids[i] = next_id++;
    makecontext(&contexts[i], coroutine, 0);
    OUT;
}

ALONE static long one_round(size_t bytes, int turns)
{
    IN;
    void *stacks[COUNT];
    long left = 0;
    for (int i = 0; i < COUNT; i++) {
        stacks[i] = malloc(bytes);
        make(i, stacks[i], bytes);
    }
    for (int turn = 0; turn < turns; turn++)
        for (int i = 0; i < COUNT; i++)
            if (!ended[i])
                resume(i);
    for (int i = 0; i < COUNT; i++) {
        left += !ended[i];
        free(stacks[i]);
    }
    OUT;
    return left;
}

int main(int argc, char **argv)
{
    IN;
    long rounds = own_argument(argc, argv, 1, 4);
    size_t bytes = (size_t)own_argument(argc, argv, 2, 4096);
    for (long i = 0; i < rounds; i++)
        printf("left %ld\n", one_round(bytes, i % 2 == 0 ? 20 : 3));
    printf("sum %ld\n", sum);
    OUT;
    return 0;
}

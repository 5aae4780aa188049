/* Four coroutines that change the stack themselves, as libco and Boost.Context do, with stacks side
 * by side that are begun in no order; in one turn two of them hand over to the next one.
 * Known: main 1, resume 14, body 4, produce 16, yields 12, burn 4 */
#include "known.h"

#define COUNT 4

void change_stack(void **from, void *to);
__asm__(".text\n.globl change_stack\n.type change_stack,@function\nchange_stack:\n"
        "push %rbp\npush %rbx\npush %r12\npush %r13\npush %r14\npush %r15\n"
        "mov %rsp,(%rdi)\nmov %rsi,%rsp\n"
        "pop %r15\npop %r14\npop %r13\npop %r12\npop %rbx\npop %rbp\nret\n"
        ".size change_stack,.-change_stack\n"
        ".section .note.GNU-stack,\"\",@progbits\n.text\n");

static void *home, *contexts[COUNT];
static int running, turn;
static char stacks[COUNT][65536] __attribute__((aligned(16)));

ALONE static void yields(void)
{
    IN;
    int self = running;
    if (turn == 2 && self % 2 == 0) {
        running = self + 1;
        own_number('W', running + 1);
        change_stack(&contexts[self], contexts[running]);
    } else {
        own_number('W', 0);
        change_stack(&contexts[self], home);
    }
    own_number('W', self + 1);
    sink++;
    OUT;
}

ALONE static void produce(long n)
{
    IN;
    if (n > 0) {
        produce(n - 1);
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
    own_number('W', 0);
    change_stack(&contexts[running], home);
}

ALONE static void resume(int i)
{
    IN;
    running = i;
    change_stack(&home, contexts[i]);
    sink++;
    OUT;
}

int main(void)
{
    IN;
    static const int places[COUNT] = {2, 0, 3, 1};
    for (int i = 0; i < COUNT; i++) {
        char *stack = stacks[places[i]];
        void **top = (void **)(stack + sizeof(stacks[0])) - 2;
        *top = (void *)body;
        contexts[i] = top - 6;
    }
    for (turn = 0; turn < 4; turn++)
        for (int i = 0; i < COUNT; i++)
            if (turn != 2 || i % 2 == 0)
                resume(i);
    sink++;
    OUT;
    return 0;
}

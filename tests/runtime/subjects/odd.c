/* What only odd programs do: a coroutine whose return address is nonsense, hooks before
 * constructors and after destructors, all descriptors closed, the alternate stack inside the stack.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

static volatile int sink;
__attribute__((used)) uintptr_t saved;

NOINLINE void leaf(void) { sink++; }
void back(void);
void to(uintptr_t sp);
__asm__(".text\n"
        "to: push %rbx\n push %rbp\n push %r12\n push %r13\n push %r14\n push %r15\n"
        " movq %rsp, saved(%rip)\n movq %rdi, %rsp\n ret\n"
        "back: movq saved(%rip), %rsp\n"
        " pop %r15\n pop %r14\n pop %r13\n pop %r12\n pop %rbp\n pop %rbx\n ret\n");
__attribute__((used)) void on_odd_stack(void)
{
    leaf();
    back();
}
NOINLINE void odd_stack(void)
{
    static char stack[65536] __attribute__((aligned(64)));
    uintptr_t *top = (uintptr_t *)(stack + sizeof(stack) - 64);
    top[1] = 0xdeaddeaddeaddead;
    top[0] = (uintptr_t)on_odd_stack;
    to((uintptr_t)top);
}
NOINLINE void handler(int number)
{
    (void)number;
    leaf();
}
NOINLINE void stack_in_stack(void)
{
    char room[32768];
    stack_t stack = {.ss_sp = room, .ss_size = sizeof(room)}, none = {.ss_flags = SS_DISABLE};
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
    sigaltstack(&stack, NULL);
    sigaction(SIGUSR1, &action, NULL);
    raise(SIGUSR1);
    leaf();
    sigaltstack(&none, NULL);
}
void first(int count, char **arguments, char **environment)
{
    (void)count;
    (void)arguments;
    (void)environment;
    leaf();
}
__attribute__((section(".preinit_array"), used)) static void (*const before)(int, char **,
                                                                             char **) = first;
__attribute__((constructor)) void constructor(void) { leaf(); }
__attribute__((destructor)) void destructor(void) { leaf(); }
NOINLINE void at_end(void) { leaf(); }

int main(void)
{
    atexit(at_end);
    odd_stack();
    stack_in_stack();
    close_range(3, ~0u, 0);
    leaf();
    return 0;
}

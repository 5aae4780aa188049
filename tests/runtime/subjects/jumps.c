/* longjmp out of calls, from handlers, on an alternate stack; and what is called after it. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOINLINE __attribute__((noinline))

static jmp_buf plain;
static sigjmp_buf from_signal;
static volatile int sink;
static char alternate[65536];

NOINLINE void leaf(void) { sink++; }
NOINLINE void third(void)
{
    leaf();
    longjmp(plain, 1);
}
NOINLINE void second(void)
{
    third();
    leaf();
}
NOINLINE void first(void)
{
    second();
    leaf();
}
/* After the jump a call that reaches lower than what was left: only the jump itself tells. */
NOINLINE void reaches_down(void)
{
    char room[2000];
    memset(room, 1, sizeof(room));
    sink += room[sink & 7];
    leaf();
}
NOINLINE void catches(void)
{
    if (setjmp(plain) == 0)
        first();
    reaches_down();
}
NOINLINE void again(void)
{
    for (volatile int i = 0; i < 3; i++)
        if (setjmp(plain) == 0)
            third();
    leaf();
}
NOINLINE void handler(int number)
{
    (void)number;
    leaf();
    siglongjmp(from_signal, 1);
}
NOINLINE void raises(int number)
{
    leaf();
    raise(number);
}
NOINLINE void catches_signal(int number)
{
    if (sigsetjmp(from_signal, 1) == 0)
        raises(number);
    leaf();
}

int main(void)
{
    stack_t stack = {.ss_sp = alternate, .ss_size = sizeof(alternate)};
    struct sigaction action = {.sa_handler = handler};
    catches();
    again();
    sigaction(SIGUSR1, &action, NULL);
    catches_signal(SIGUSR1);
    sigaltstack(&stack, NULL);
    action.sa_flags = SA_ONSTACK;
    sigaction(SIGUSR2, &action, NULL);
    catches_signal(SIGUSR2);
    catches_signal(SIGUSR2);
    leaf();
    return 0;
}

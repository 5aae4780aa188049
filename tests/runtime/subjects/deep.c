/* Recursion deeper than the shadow stack, with a handler at the bottom, a jump out of it, and
 * without end (argument `endless`): then the program's own SIGSEGV. */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

static volatile int sink;
static jmp_buf out;
static char alternate[65536];

NOINLINE void leaf(void) { sink++; }
NOINLINE void handler(int number)
{
    (void)number;
    leaf();
}
NOINLINE void recurse(int depth, int what)
{
    if (depth > 0)
        recurse(depth - 1, what);
    else if (what == 1)
        raise(SIGUSR1);
    else if (what == 2)
        longjmp(out, 1);
    sink++;
}
NOINLINE void jumps(int depth)
{
    if (setjmp(out) == 0)
        recurse(depth, 2);
    leaf();
}
NOINLINE void endless(volatile int *above)
{
    volatile int here = *above + 1;
    endless(&here);
    sink++;
}
NOINLINE void overflow(int number)
{
    (void)number;
    leaf();
    _exit(42);
}
NOINLINE void *run(void *depth)
{
    struct sigaction action = {.sa_handler = handler};
    stack_t stack = {.ss_sp = alternate, .ss_size = sizeof(alternate)};
    int n = *(int *)depth;
    sigaction(SIGUSR1, &action, NULL);
    recurse(n, 0);
    leaf();
    recurse(n, 1);
    leaf();
    sigaltstack(&stack, NULL);
    action.sa_flags = SA_ONSTACK;
    sigaction(SIGUSR1, &action, NULL);
    recurse(n, 1);
    leaf();
    jumps(n);
    leaf();
    return NULL;
}

int main(int count, char **arguments)
{
    int depth = count > 2 ? atoi(arguments[2]) : 70000;
    if (count > 1 && strcmp(arguments[1], "endless") == 0) {
        struct sigaction action = {.sa_handler = overflow, .sa_flags = SA_ONSTACK};
        stack_t stack = {.ss_sp = alternate, .ss_size = sizeof(alternate)};
        volatile int first = 0;
        if (count > 2) {
            sigaltstack(&stack, NULL);
            sigaction(SIGSEGV, &action, NULL);
        }
        endless(&first);
    }
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 256u << 20);
    if (pthread_create(&thread, &attributes, run, &depth) != 0)
        abort();
    pthread_join(thread, NULL);
    return 0;
}

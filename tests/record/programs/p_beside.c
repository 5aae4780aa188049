/* Processes that have their parent's memory and thread pointer, and run beside it:
 * `p_beside CHILDREN CALLS`. Each side calls as fast as it can; the parent goes on when they have
 * ended. */
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define PLAIN        __attribute__((no_instrument_function))
#define STACK_BYTES  16384
#define CHILDREN_MAX 3

static long calls;
static volatile int begun, ended;

__attribute__((noinline)) void before(void) { __asm__ volatile(""); }
__attribute__((noinline)) void beside(void) { __asm__ volatile(""); }
__attribute__((noinline)) void behind(void) { __asm__ volatile(""); }
__attribute__((noinline)) void borrowed_inner(void) { __asm__ volatile(""); }
__attribute__((noinline)) void borrowed_call(void) { borrowed_inner(); }

PLAIN static int child(void *unused)
{
    (void)unused;
    __atomic_add_fetch(&begun, 1, __ATOMIC_SEQ_CST);
    for (long i = 0; i < calls; i++)
        borrowed_call();
    __atomic_add_fetch(&ended, 1, __ATOMIC_SEQ_CST);
    return 0;
}

static int children;

/* Their stacks are in its frame, as programs often have them: they look like what it calls. */
__attribute__((noinline)) static void parent(void)
{
    char stacks[CHILDREN_MAX * STACK_BYTES] __attribute__((aligned(16)));
    for (long i = 0; i < calls; i++)
        before();
    for (int i = 0; i < children; i++)
        if (clone(child, stacks + STACK_BYTES * (CHILDREN_MAX - i), CLONE_VM | SIGCHLD, NULL) < 0)
            _exit(3);
    while (begun != children)
        sched_yield();
    for (long i = 0; i < calls; i++)
        beside();
    while (ended != children)
        sched_yield();
    for (int i = 0; i < children; i++)
        if (waitpid(-1, NULL, 0) < 0)
            _exit(4);
    for (long i = 0; i < calls; i++)
        behind();
}

PLAIN int main(int count, char **words)
{
    children = count > 2 ? atoi(words[1]) : 0;
    calls = count > 2 ? atol(words[2]) : 0;
    if (children > CHILDREN_MAX)
        return 2;
    parent();
    puts("done");
    return 0;
}

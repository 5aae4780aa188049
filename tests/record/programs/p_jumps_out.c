/* A timer's handler jumps out of whatever it interrupts, which is mostly a hook: JUMPS times, with
 * or without an instrumented handler, on the thread's stack or an alternate one. The timer is set
 * again after each jump: a jump lets signals come before it leaves the handler, so that on a slow
 * machine handlers would lie on one another until the stack ends. Prints how often each function
 * ran. */
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#define PLAIN __attribute__((no_instrument_function))

static sigjmp_buf away;
static volatile sig_atomic_t may_jump;
static volatile uint64_t leaves, branches;

__attribute__((noinline)) static void leaf(void) { leaves++; }

__attribute__((noinline)) static void branch(void)
{
    branches++;
    leaf();
    leaf();
}

static void told(int number)
{
    (void)number;
    if (may_jump)
        siglongjmp(away, 1);
}

PLAIN static void untold(int number)
{
    (void)number;
    if (may_jump)
        siglongjmp(away, 1);
}

__attribute__((noinline)) static void run(int jumps)
{
    volatile int left = jumps;
    if (sigsetjmp(away, 1) != 0)
        left--;
    while (left > 0) {
        struct itimerval once = {{0, 0}, {0, 50}};
        may_jump = 1;
        setitimer(ITIMER_REAL, &once, NULL);
        for (;;)
            branch();
    }
    may_jump = 0;
}

int main(int count, char **words)
{
    int jumps = count > 1 ? atoi(words[1]) : 1000;
    const char *how = count > 2 ? words[2] : "told";
    struct sigaction action = {.sa_handler = strcmp(how, "untold") == 0 ? untold : told};
    static char memory[65536];
    stack_t other = {.ss_sp = memory, .ss_size = sizeof memory};
    if (strcmp(how, "alternate") == 0) {
        sigaltstack(&other, NULL);
        action.sa_flags = SA_ONSTACK;
    }
    sigaction(SIGALRM, &action, NULL);
    run(jumps);
    printf("branch %llu leaf %llu\n", (unsigned long long)branches, (unsigned long long)leaves);
    return 0;
}

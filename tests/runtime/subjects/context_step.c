/* Asks for the context at each instruction of a hook, each time in a fresh call: this program steps
 * through its own calls, by the processor's trap flag, and gets a signal at the nth instruction,
 * whose handler has hooks as well and says what it sees. Arguments: which
 * instructions, each or each nth; "alternate", for a handler on a stack of its own. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include <tracetape/context.h>

#define NOINLINE  __attribute__((noinline))
#define NOHOOKS   __attribute__((no_instrument_function))
#define STEPS_MAX 5000
#define TRAP      0x100L /* of the processor's flags */

static volatile long steps_done, step_wanted;
static volatile int sink;
static ttape_context_value seen;
static char alternate[65536];

NOINLINE void large(void)
{
    char room[200];
    memset(room, 1, sizeof(room));
    sink += room[sink & 7];
}
NOINLINE void small(void) { sink++; }
NOINLINE void target(void) { sink++; }

NOINLINE void handler(int number)
{
    (void)number;
    seen = ttape_context();
}

/* The signal is held back until the instruction is to go on. */
static NOHOOKS void trap(int number, siginfo_t *info, void *context)
{
    (void)number;
    (void)info;
    if (steps_done++ == step_wanted) {
        ((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL] &= ~TRAP;
        raise(SIGUSR1);
    }
}

#define SET_TRAP() __asm__ volatile("pushf\n\torq %0, (%%rsp)\n\tpopf" ::"i"(TRAP) : "memory", "cc")
#define CLEAR_TRAP()                                                                               \
    __asm__ volatile("pushf\n\tandq %0, (%%rsp)\n\tpopf" ::"i"(~TRAP) : "memory", "cc")

/* What was called before lies where the next frame will be, deeper and not as deep. */
NOINLINE void steps(long wanted, int before)
{
    if (before == 0)
        large();
    else
        small();
    seen.depth = 0;
    steps_done = 0;
    step_wanted = wanted;
    SET_TRAP();
    target();
    CLEAR_TRAP();
}

int main(int arguments, char **values)
{
    stack_t stack = {.ss_sp = alternate, .ss_size = sizeof(alternate)};
    struct sigaction action = {.sa_handler = handler, .sa_flags = arguments > 2 ? SA_ONSTACK : 0};
    struct sigaction traps = {.sa_sigaction = trap, .sa_flags = SA_SIGINFO};
    long stride = arguments > 1 ? atol(values[1]) : 1;
    sigfillset(&traps.sa_mask);
    sigaltstack(&stack, NULL);
    sigaction(SIGUSR1, &action, NULL);
    sigaction(SIGTRAP, &traps, NULL);
    for (int before = 0; before < 2; before++)
        for (long wanted = 0; wanted < STEPS_MAX; wanted += stride) {
            steps(wanted, before);
            if (steps_done <= wanted)
                break;
            printf(TTAPE_CONTEXT_FORMAT " %u\n", TTAPE_CONTEXT_ARGUMENTS(seen), seen.flags);
        }
    return 0;
}

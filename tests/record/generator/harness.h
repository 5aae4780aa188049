/* What the programs of the generator have in common. A call goes through h_call, which gives all
 * registers and flags known values, and folds what comes back into a sum; handlers of faults look
 * up where a fault was; some calls are made in single steps, and each step unwinds. What is printed
 * at the end must not depend on who looks on. */
#ifndef HARNESS_H
#define HARNESS_H
#include <dlfcn.h>
#include <execinfo.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#ifdef __cplusplus
extern "C" {
#endif
#define KEPT  __attribute__((noinline, used))
#define TRAP  0x100u
#define OWN   0x7c3u /* flags that h_call gives: carry to overflow, direction */
#define TURNS 14

typedef long h_function(unsigned long op, long x);
struct h_known {
    h_function *call;
    unsigned long mask;  /* of op */
    unsigned long flags; /* 1: all registers; 2: may be stepped; 4: written in C; 8: with DF */
};
struct h_fault {
    char *function;
    int at, to;
};
extern struct h_known h_all[];
extern unsigned long h_counts[];
extern const char *const h_names[];
extern const unsigned long h_count;
extern struct h_fault h_faults[], h_faults_end[];
extern char h_return[];
long h_call(h_function *function, unsigned long op, long x);
extern unsigned long h_flags, h_out[], h_data[], h_nowhere;
extern void *h_slots[];
extern unsigned long h_trap;     /* flags that sequences take: they trap in single steps only */
extern long *h_counter, h_tally; /* that each step counts, too */
#ifdef __cplusplus
}
#endif

/* Calls that the program makes itself, by pointers that no compiler looks through. */
#define CALL(k, op, x) (h_counts[k]++, ((volatile struct h_known *)h_all)[k].call(op, x))

#ifdef HARNESS_MAIN
static unsigned long h_found, h_unknown, h_steps, h_broken, h_seen;

static void h_on_step(ucontext_t *state)
{
    void *frames[64];
    int is_whole = 0;
    uintptr_t at = (uintptr_t)state->uc_mcontext.gregs[REG_RIP];
    h_steps++;
    if (h_counter != NULL) {
        ++*h_counter;
        h_tally++;
        return;
    }
    if (at >= (uintptr_t)h_call && at < (uintptr_t)h_return + 64)
        return;
    for (int i = backtrace(frames, 64); i-- > 0;)
        is_whole |= frames[i] == (void *)h_return;
    h_broken += !is_whole;
}

static void h_on_signal(int number, siginfo_t *info, void *context)
{
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    if (number == SIGTRAP && info->si_code == TRAP_TRACE) {
        h_on_step((ucontext_t *)context);
        return;
    }
    for (const struct h_fault *at = h_faults; at < h_faults_end; at++)
        if (at->function + at->at == (char *)registers[REG_RIP]) {
            h_found++;
            h_seen = h_seen * 31 + (unsigned long)(registers[REG_RAX] + registers[REG_R8]);
            registers[REG_R9] += 1000;
            registers[REG_RIP] = (greg_t)(at->function + at->to);
            return;
        }
    h_unknown++;
    (void)!write(1, "unexpected fault\n", 17);
    _exit(9);
}

static void h_handle(void)
{
    static char stack[1 << 18];
    stack_t alternate;
    struct sigaction action;
    static const int numbers[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP};
    void *frames[4];
    memset(&alternate, 0, sizeof alternate);
    memset(&action, 0, sizeof action);
    alternate.ss_sp = stack;
    alternate.ss_size = sizeof stack;
    sigaltstack(&alternate, NULL);
    backtrace(frames, 4); /* it loads what it needs */
    action.sa_sigaction = h_on_signal;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    for (unsigned i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        sigaction(numbers[i], &action, NULL);
}

static unsigned long h_random(unsigned long *state)
{
    *state = *state * 6364136223846793005ul + 1442695040888963407ul;
    return *state >> 33;
}

int main(int count, char **words)
{
    unsigned long sum = 1, state = 7;
    (void)words;
    h_trap |= count > 1 ? TRAP : 0;
    h_handle();
    for (unsigned turn = 0; turn < TURNS; turn++)
        for (unsigned long k = 0; k < h_count; k++) {
            const struct h_known *known = &h_all[k];
            if (known->mask == ~0ul)
                continue;
            unsigned long op = h_random(&state) & known->mask, flags = known->flags;
            int is_stepped = (flags & 2) != 0 && turn == TURNS - 1 && count > 1;
            h_flags = 2 | ((flags & 4) != 0 ? 0 : h_random(&state) & 0xd5 & OWN);
            h_flags |= ((flags & 8) != 0 ? 0x400u : 0) | (is_stepped ? TRAP : 0);
            h_function *call = known->call;
            if (call == NULL)
                *(void **)&call = dlsym(RTLD_DEFAULT, h_names[k] + 1);
            h_counts[k]++;
            sum = sum * 31 + (unsigned long)h_call(call, op, (long)sum);
            sum ^= h_out[0]; /* what was to be as before, and is not */
            for (unsigned i = 1; (flags & 4) == 0 && i < ((flags & 1) != 0 ? 43 : 40); i++)
                sum = sum * 33 + h_out[i];
        }
    printf("%016lx %lu %lu %lu %016lx\n", sum, h_found, h_unknown, h_broken, h_seen);
    for (unsigned long k = 0; k < h_count; k++)
        if (h_names[k] != NULL && h_names[k][0] != '@')
            printf("%s %lu\n", h_names[k], h_counts[k]);
    return (int)(sum & 3) == 3 ? 7 : 0;
}
#endif
#endif

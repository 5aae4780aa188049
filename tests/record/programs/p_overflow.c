/* Endless recursion until the stack ends: `p_overflow [default|handler|thread|recover]`. The
 * handler on an alternate stack says whether the fault is the stack's own; `recover` leaves by
 * siglongjmp, twice. */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

static char *stack_low;
static sigjmp_buf away;
static const char *way = "default";
static volatile long depth;

__attribute__((noinline)) static long recurse(long n)
{
    volatile char room[200];
    room[n % 200] = (char)n;
    depth = n;
    long deeper = recurse(n + 1);
    return deeper + room[0];
}

__attribute__((no_instrument_function)) static void find_stack(void)
{
    pthread_attr_t attributes;
    void *low;
    size_t size;
    pthread_getattr_np(pthread_self(), &attributes);
    pthread_attr_getstack(&attributes, &low, &size);
    pthread_attr_destroy(&attributes);
    stack_low = low;
}

static void say(const char *text)
{
    if (write(STDOUT_FILENO, text, strlen(text)) < 0)
        _exit(9);
}

static void handler(int number, siginfo_t *info, void *context)
{
    char *address = info->si_addr;
    (void)context;
    say(number == SIGSEGV ? "SIGSEGV " : "other ");
    say(info->si_code == SEGV_MAPERR || info->si_code == SEGV_ACCERR ? "fault " : "sent ");
    say(address < stack_low + 65536 && address > stack_low - (1 << 20) ? "at the stack's end "
                                                                       : "elsewhere ");
    say(depth > 1000 ? "deep\n" : "early\n");
    if (strcmp(way, "recover") == 0)
        siglongjmp(away, 1);
    _exit(11);
}

static void *in_thread(void *unused)
{
    static char memory[65536];
    stack_t stack = {.ss_sp = memory, .ss_size = sizeof(memory)};
    sigaltstack(&stack, NULL);
    find_stack();
    if (recurse(1) == 0)
        say("never\n");
    return unused;
}

int main(int argc, char **argv)
{
    static char memory[65536];
    stack_t stack = {.ss_sp = memory, .ss_size = sizeof(memory)};
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    pthread_t thread;
    if (argc > 1)
        way = argv[1];
    say("starting\n");
    find_stack();
    if (strcmp(way, "default") != 0) {
        sigaltstack(&stack, NULL);
        sigaction(SIGSEGV, &action, NULL);
    }
    if (strcmp(way, "thread") == 0) {
        pthread_create(&thread, NULL, in_thread, NULL);
        pthread_join(thread, NULL);
    }
    for (volatile int i = 0; i < 2; i++)
        if (sigsetjmp(away, 1) == 0)
            recurse(1);
    say("recovered\n");
    return 12;
}

/* Handlers: of one signal and of several, with siginfo and without, on the same stack and on
 * another, one in another, with inlined calls, alloca and large frames in them. */
#define _GNU_SOURCE
#include <alloca.h>
#include <signal.h>
#include <string.h>

#define NOINLINE __attribute__((noinline))

static volatile int sink;
static char alternate[65536];

NOINLINE void leaf(void) { sink++; }
static inline __attribute__((always_inline)) void inlined(void)
{
    sink++;
    leaf();
}
NOINLINE void large(void)
{
    char room[6000];
    memset(room, 1, sizeof(room));
    sink += room[sink & 7];
    leaf();
}
NOINLINE void plain(int number)
{
    (void)number;
    leaf();
    inlined();
}
NOINLINE void with_info(int number, siginfo_t *info, void *context)
{
    (void)number;
    (void)context;
    sink += info->si_signo;
    char *room = alloca(100 + (size_t)(sink & 1));
    memset(room, 1, 100);
    sink += room[sink & 7];
    inlined();
    large();
}
NOINLINE void nesting(int number)
{
    leaf();
    if (number == SIGUSR1)
        raise(SIGUSR2);
    leaf();
}
static void uninstrumented(int) __attribute__((no_instrument_function));
static void uninstrumented(int number)
{
    (void)number;
    leaf();
    large();
}
NOINLINE void raises(int number)
{
    leaf();
    raise(number);
    leaf();
}
static void set(int, void *, int) __attribute__((no_instrument_function));
static void set(int number, void *handler, int flags)
{
    struct sigaction action = {.sa_flags = flags};
    action.sa_handler = (void (*)(int))handler;
    sigaction(number, &action, NULL);
}

int main(void)
{
    stack_t stack = {.ss_sp = alternate, .ss_size = sizeof(alternate)};
    sigaltstack(&stack, NULL);
    set(SIGALRM, plain, 0);
    raises(SIGALRM);
    set(SIGALRM, plain, SA_ONSTACK);
    raises(SIGALRM);
    set(SIGHUP, with_info, SA_SIGINFO);
    set(SIGTERM, with_info, SA_SIGINFO | SA_ONSTACK);
    raises(SIGHUP);
    raises(SIGTERM);
    set(SIGUSR1, nesting, SA_ONSTACK);
    set(SIGUSR2, nesting, SA_ONSTACK);
    raises(SIGUSR1);
    set(SIGUSR2, nesting, 0);
    raises(SIGUSR1);
    set(SIGALRM, uninstrumented, 0);
    raises(SIGALRM);
    set(SIGALRM, uninstrumented, SA_ONSTACK);
    raises(SIGALRM);
    return 0;
}

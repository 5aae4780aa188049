/* Handlers that are instrumented, nested five deep, with and without siginfo, and one that is left
 * by siglongjmp: all by raise, so that the order is the same in each run. */
#define _GNU_SOURCE
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "own.h"

static const int chain[] = {SIGUSR1, SIGUSR2, SIGALRM, SIGVTALRM, SIGWINCH};
static volatile int level;
static sigjmp_buf away;

ALONE static int helper(int n)
{
    IN;
    int result = n < 1 ? 0 : helper(n - 1) + n;
    OUT;
    return result;
}

ALONE static void raise_next(void)
{
    IN;
    if (level < 5)
        raise(chain[level++]);
    helper(1);
    OUT;
}

static void handler(int number)
{
    own_number('S', number);
    IN;
    int kept = errno;
    raise_next();
    errno = kept;
    OUT;
    own_number('s', number);
}

static void handler_with_info(int number, siginfo_t *info, void *context)
{
    own_number('S', number);
    IN;
    (void)context;
    helper(info->si_signo == number ? 2 : 0);
    raise_next();
    OUT;
    own_number('s', number);
}

static void leaving_handler(int number)
{
    own_number('S', number);
    IN;
    helper(2);
    siglongjmp(away, number);
    OUT;
}

static void alone_handler(int number)
{
    own_number('S', number);
    IN;
    OUT;
    own_number('s', number);
}

ALONE static void install(int number, void (*plain)(int), void (*info)(int, siginfo_t *, void *))
{
    IN;
    struct sigaction action = {0};
    if (info != NULL) {
        action.sa_sigaction = info;
        action.sa_flags = SA_SIGINFO;
    } else {
        action.sa_handler = plain;
    }
    sigaction(number, &action, NULL);
    OUT;
}

ALONE static void nest(void)
{
    IN;
    level = 0;
    errno = EXDEV;
    raise_next();
    printf("level %d errno %d\n", level, errno);
    helper(2);
    OUT;
}

ALONE static void jump_out(int times)
{
    IN;
    for (volatile int i = 0; i < times; i++) {
        if (sigsetjmp(away, 1) == 0) {
            helper(1);
            raise(SIGHUP);
        }
        own_back(__func__);
        helper(2);
    }
    OUT;
}

int main(int argc, char **argv)
{
    IN;
    long rounds = own_argument(argc, argv, 1, 3);
    for (int i = 0; i < 5; i++)
        install(chain[i], i % 2 == 0 ? handler : NULL, i % 2 == 0 ? NULL : handler_with_info);
    install(SIGHUP, leaving_handler, NULL);
    install(SIGTERM, alone_handler, NULL);
    for (long i = 0; i < rounds; i++) {
        nest();
        jump_out(3);
        raise(SIGTERM);
        raise(SIGTERM);
        helper(1);
    }
    OUT;
    return 0;
}

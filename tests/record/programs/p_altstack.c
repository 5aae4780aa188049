/* Handlers on an alternate stack: small (8 KiB, a guard page below), nested, left by siglongjmp;
 * then the interrupted code goes on. A thread with the smallest stack there is does the same.
 * `p_altstack [ROUNDS]` */
#define _GNU_SOURCE
#include <limits.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>

#include "own.h"

#define SMALL_BYTES 8192
#define LARGE_BYTES 32768 /* for a handler upon a handler */

static __thread sigjmp_buf away;
static __thread int mode, nests;
static int rounds;

ALONE static int helper(int n)
{
    IN;
    int result = n < 1 ? 0 : helper(n - 1) + n;
    OUT;
    return result;
}

static void inner_handler(int number)
{
    own_number('S', number);
    IN;
    helper(2);
    OUT;
    own_number('s', number);
}

static void handler(int number)
{
    own_number('S', number);
    IN;
    helper(3);
    if (mode == 1 && nests)
        raise(SIGUSR2);
    if (mode == 2)
        siglongjmp(away, 1);
    helper(1);
    OUT;
    own_number('s', number);
}

ALONE static void interrupted(int round)
{
    IN;
    mode = round % 3;
    helper(1);
    raise(SIGUSR1);
    helper(2);
    OUT;
}

ALONE static void guarded(int round)
{
    IN;
    if (sigsetjmp(away, 1) == 0)
        interrupted(round);
    own_back(__func__);
    helper(1);
    OUT;
}

ALONE static void all_rounds(void *memory, size_t bytes)
{
    IN;
    stack_t stack = {.ss_sp = memory, .ss_size = bytes}, none = {.ss_flags = SS_DISABLE};
    nests = bytes > SMALL_BYTES;
    sigaltstack(&stack, NULL);
    for (int round = 0; round < rounds; round++)
        guarded(round);
    sigaltstack(&none, NULL);
    helper(2);
    OUT;
}

static void *small_thread(void *memory)
{
    IN;
    all_rounds(memory, SMALL_BYTES);
    all_rounds(memory, LARGE_BYTES);
    OUT;
    return memory;
}

int main(int argc, char **argv)
{
    IN;
    pthread_t thread;
    pthread_attr_t attributes;
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
    rounds = (int)own_argument(argc, argv, 1, 9);
    struct sigaction inner = {.sa_handler = inner_handler, .sa_flags = SA_ONSTACK};
    char *memory = mmap(NULL, LARGE_BYTES + 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memory += 4096; /* one page below it faults */
    mprotect(memory, LARGE_BYTES, PROT_READ | PROT_WRITE);
    sigaction(SIGUSR1, &action, NULL);
    sigaction(SIGUSR2, &inner, NULL);
    all_rounds(memory, SMALL_BYTES);
    all_rounds(memory, LARGE_BYTES);
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, PTHREAD_STACK_MIN);
    int status = pthread_create(&thread, &attributes, small_thread, memory);
    if (status == 0)
        pthread_join(thread, NULL);
    printf("done %d\n", status);
    OUT;
    return 0;
}

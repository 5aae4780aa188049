/* A coroutine that begins in one thread, goes on in another, and ends in the first. Each turn of
 * `body` calls `inside`, which yields: of three, the first ends in the other thread, the second
 * begins there. A forked child goes on with a coroutine of its parent's thread: that is no other
 * thread. */
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#define ALONE       __attribute__((noinline))
#define STACK_BYTES (256 * 1024)

static ucontext_t back, inner;
static volatile int turns;

ALONE static void yield(void)
{
    swapcontext(&inner, &back);
    turns++;
}

ALONE static void inside(void)
{
    yield();
    turns++;
}

ALONE static void body(void)
{
    for (int i = 0; i < 3; i++)
        inside();
}

ALONE static void resume(void)
{
    swapcontext(&back, &inner);
    turns++;
}

static void *other(void *given)
{
    resume();
    return given;
}

static void begin(char *stack)
{
    getcontext(&inner);
    inner.uc_stack.ss_sp = stack;
    inner.uc_stack.ss_size = STACK_BYTES;
    inner.uc_link = &back;
    makecontext(&inner, body, 0);
    resume();
}

int main(void)
{
    pthread_t thread;
    begin(malloc(STACK_BYTES));
    pthread_create(&thread, NULL, other, NULL);
    pthread_join(thread, NULL);
    resume();
    resume();
    begin(malloc(STACK_BYTES));
    pid_t child = fork();
    for (int i = 0; i < 3; i++)
        resume();
    if (child == 0)
        _exit(0);
    waitpid(child, NULL, 0);
    return 0;
}

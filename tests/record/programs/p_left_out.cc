/* Functions that are called often, and are not wanted, around and between few that are: in threads,
 * left by exceptions and jumps, in handlers, on other stacks and in a child. With an argument it
 * unloads a module first, so that its hooks leave out nothing. */
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <pthread.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#define PLAIN __attribute__((noinline))

static volatile long sink;
static thread_local jmp_buf place;
static ucontext_t outside, within;
static char stack[65536] __attribute__((aligned(16)));

PLAIN void hot_leaf(int i) { sink = sink + i; }
PLAIN void keep_leaf() { sink = sink + 1; }

PLAIN void hot_large(int n)
{
    volatile char much[3000];
    much[n] = 1;
    hot_leaf(much[n]);
    if (n % 2 == 0)
        keep_leaf();
}

PLAIN void hot_deep(int n)
{
    hot_leaf(n);
    if (n > 0)
        hot_deep(n - 1);
    else
        keep_leaf();
    hot_leaf(n);
}

PLAIN void keep_thrower(int n)
{
    hot_leaf(n);
    if (n == 0)
        throw 1;
    keep_thrower(n - 1);
    hot_leaf(n);
}

PLAIN void hot_catcher(int n)
{
    try {
        hot_leaf(n);
        keep_thrower(n);
    } catch (int) {
        hot_leaf(n);
    }
    hot_leaf(n);
}

PLAIN void keep_jumper(int n)
{
    hot_large(n);
    longjmp(place, 1);
}

PLAIN void hot_jumps(int n)
{
    if (setjmp(place) == 0)
        keep_jumper(n);
    hot_leaf(n);
    keep_leaf();
}

PLAIN void hot_handler(int)
{
    hot_leaf(1);
    keep_leaf();
}

PLAIN int hot_order(const void *a, const void *b)
{
    hot_leaf(1);
    return *static_cast<const int *>(a) - *static_cast<const int *>(b);
}

PLAIN void keep_sort()
{
    int numbers[] = {5, 3, 8, 1, 9, 2};
    qsort(numbers, 6, sizeof *numbers, hot_order);
}

PLAIN void hot_other_stack()
{
    for (;;) {
        hot_leaf(2);
        keep_leaf();
        swapcontext(&within, &outside);
    }
}

PLAIN void hot_work(int round)
{
    for (int i = 0; i < 20; i++)
        hot_leaf(i);
    hot_deep(40);
    hot_large(round % 7);
    hot_catcher(round % 5);
    hot_jumps(round % 6);
    keep_sort();
}

PLAIN void *keep_thread(void *)
{
    for (int round = 0; round < 60; round++) {
        hot_work(round);
        if (round % 6 == 0)
            usleep(5000); /* so that the recorder tells what it leaves out */
    }
    return nullptr;
}

PLAIN void keep_child()
{
    pid_t child = fork();
    if (child == 0) {
        for (int round = 0; round < 30; round++)
            hot_work(round);
        _exit(0);
    }
    waitpid(child, nullptr, 0);
}

/* Ends within a call that has a frame, where its own have none any more: a module goes meanwhile. */
void hot_closer(int depth);
void keep_between()
{
    for (int i = 0; i < 40000; i++) {
        hot_closer(1);
        if (i % 4000 == 0)
            usleep(5000);
    }
    hot_closer(2);
    hot_leaf(1);
}
void hot_closer(int depth)
{
    void *itself = depth == 2 ? dlopen(nullptr, RTLD_NOW) : nullptr;
    if (depth == 0)
        keep_between();
    if (itself != nullptr)
        dlclose(itself);
}

int main(int count, char **)
{
    pthread_t threads[3];
    void *itself = dlopen(nullptr, RTLD_NOW);
    if (count > 1)
        dlclose(itself);
    signal(SIGUSR1, hot_handler);
    getcontext(&within);
    within.uc_stack.ss_sp = stack;
    within.uc_stack.ss_size = sizeof stack;
    makecontext(&within, hot_other_stack, 0);
    for (pthread_t &thread : threads)
        pthread_create(&thread, nullptr, keep_thread, nullptr);
    for (pthread_t thread : threads)
        pthread_join(thread, nullptr);
    for (int round = 0; round < 80; round++) {
        hot_work(round);
        for (int i = 0; i < 5; i++)
            raise(SIGUSR1);
        swapcontext(&outside, &within);
        if (round % 8 == 0)
            usleep(5000);
    }
    keep_child();
    hot_closer(0);
    keep_sort();
    puts("done");
}

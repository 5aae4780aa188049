/* Calls far below their caller's frame: past a buffer, called back by what is not recorded, on
 * stacks that lie in a caller's array, and in one mapping. With an argument it counts, instruction
 * by instruction, what such calls take beside near ones, and prints both. */
#include <alloca.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))
#define AREA     (160u << 10)
#define TURNS    200

static volatile long sum;
static ucontext_t own, other;

NOINLINE static void leaf(void) { sum++; }
NOINLINE static void middle(void)
{
    leaf();
    sum++;
}

NOINLINE static void near_calls(int count)
{
    for (int i = 0; i < count; i++)
        leaf();
    sum++;
}

NOINLINE static void far_calls(int count)
{
    volatile char buffer[4096];
    buffer[0] = 1;
    for (int i = 0; i < count; i++)
        leaf();
    buffer[1] = 1;
}

NOINLINE static int compare(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

NOINLINE static void called_back(void)
{
    int numbers[300];
    for (int i = 0; i < 300; i++)
        numbers[i] = i * 7919 % 301;
    qsort(numbers, 300, sizeof numbers[0], compare);
    sum += numbers[3];
}

/* The frame grows between calls. */
NOINLINE static void growing(void)
{
    for (int i = 1; i < 6; i++) {
        volatile char *more = alloca(3000u * (unsigned)i);
        more[0] = 1;
        middle();
        leaf();
    }
    far_calls(3);
}

NOINLINE static void coroutine(void)
{
    for (;;) {
        middle();
        far_calls(2);
        swapcontext(&other, &own);
        leaf();
    }
}

NOINLINE static void on_a_stack_in(char *area)
{
    getcontext(&other);
    other.uc_stack.ss_sp = area;
    other.uc_stack.ss_size = AREA / 2;
    other.uc_link = NULL;
    makecontext(&other, coroutine, 0);
}

NOINLINE static void coroutine_in_array(void)
{
    char area[AREA];
    middle();
    leaf();
    on_a_stack_in(area + AREA / 4);
    for (int i = 0; i < 4; i++) {
        middle();
        swapcontext(&own, &other);
        leaf();
    }
}

static void handle(int number)
{
    (void)number;
    middle();
    far_calls(2);
}

NOINLINE static void signals_in_array(void)
{
    char area[AREA];
    stack_t stack = {.ss_sp = area + AREA / 4, .ss_size = AREA / 2},
            none = {.ss_flags = SS_DISABLE};
    struct sigaction action = {.sa_handler = handle, .sa_flags = SA_ONSTACK};
    sigaction(SIGUSR1, &action, NULL);
    middle();
    sigaltstack(&stack, NULL);
    for (int i = 0; i < 4; i++) {
        middle();
        raise(SIGUSR1);
        leaf();
    }
    sigaltstack(&none, NULL);
    action.sa_flags = 0; /* on this stack, below */
    sigaction(SIGUSR1, &action, NULL);
    for (int i = 0; i < 4; i++) {
        middle();
        raise(SIGUSR1);
        leaf();
    }
}

static void *in_one_mapping(void *lower)
{
    far_calls(4);
    on_a_stack_in(lower);
    for (int i = 0; i < 3; i++) {
        far_calls(2);
        swapcontext(&own, &other);
        middle();
    }
    return NULL;
}

NOINLINE static void two_stacks(void)
{
    char *memory = mmap(NULL, 2 * AREA, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    if (memory == MAP_FAILED || pthread_attr_setstack(&attributes, memory + AREA, AREA) != 0 ||
        pthread_create(&thread, &attributes, in_one_mapping, memory) != 0)
        abort();
    pthread_join(thread, NULL);
}

NOINLINE static void calls(void)
{
    far_calls(5);
    called_back();
    growing();
    signals_in_array(); /* first: nothing says that memory is no stack any more */
    coroutine_in_array();
    two_stacks();
    far_calls(3);
}

/* -- counted -- */

static void child_runs(void)
{
    ptrace(PTRACE_TRACEME, 0, NULL, NULL);
    near_calls(20);
    far_calls(20);
    raise(SIGSTOP);
    near_calls(TURNS);
    raise(SIGSTOP);
    far_calls(TURNS);
    raise(SIGSTOP);
    _exit(0);
}

static long steps_to_stop(pid_t child)
{
    long steps = 0;
    int status = 0;
    do {
        if (ptrace(PTRACE_SINGLESTEP, child, NULL, NULL) != 0 ||
            waitpid(child, &status, 0) != child || !WIFSTOPPED(status))
            abort();
        steps++;
    } while (WSTOPSIG(status) != SIGSTOP);
    return steps;
}

static int count(void)
{
    int status;
    pid_t child = fork();
    if (child == 0)
        child_runs();
    if (waitpid(child, &status, 0) != child)
        abort();
    long near = steps_to_stop(child), far = steps_to_stop(child);
    printf("%ld %ld\n", near / TURNS, far / TURNS);
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    return 0;
}

int main(int argc, char **argv)
{
    (void)argv;
    if (argc > 1)
        return count();
    calls();
    return 0;
}

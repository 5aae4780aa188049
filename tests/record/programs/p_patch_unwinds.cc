// Unwinds through functions that may be patched, in every way that there is, and prints what it
// found: the same, whether they are patched or not.
#include <cxxabi.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

#define OURS extern "C" __attribute__((noinline, visibility("default")))
#define FRAMES 64

extern "C" const char __executable_start[];
static volatile int sink;

/* The functions of this program that are on the stack, innermost first; and where they go on. */
static int names(const char **found, uintptr_t *places, int room)
{
    void *frames[FRAMES];
    int count = backtrace(frames, FRAMES), used = 0;
    for (int i = 0; i < count && used < room; i++) {
        Dl_info info;
        uintptr_t at = (uintptr_t)frames[i];
        if (dladdr((void *)(at - 1), &info) != 0 && info.dli_sname != nullptr &&
            info.dli_fbase == (const void *)__executable_start) {
            places[used] = at - (uintptr_t)__executable_start;
            found[used++] = info.dli_sname;
        }
    }
    return used;
}

static void show(const char *what)
{
    const char *found[FRAMES];
    uintptr_t places[FRAMES];
    int count = names(found, places, FRAMES);
    printf("%s:", what);
    for (int i = 0; i < count; i++)
        printf(" %s+%zx", found[i], (size_t)places[i]);
    printf("\n");
}

// -- backtrace and return addresses

OURS void tells(int n)
{
    show("backtrace");
    printf("return address %zx\n",
           (size_t)((uintptr_t)__builtin_return_address(0) - (uintptr_t)__executable_start));
    sink += n;
}
OURS void goes(int n)
{
    if (n == 0)
        tells(n);
    else
        goes(n - 1);
    sink++;
}

// -- exceptions through ten frames, with cleanups

struct cleanup {
    ~cleanup() { sink++; }
};
OURS void throws(int n)
{
    cleanup one;
    if (n == 0)
        throw 42;
    throws(n - 1);
    sink++;
}
OURS int catches(int n)
{
    try {
        throws(n);
    } catch (int value) {
        show("catch");
        return value;
    }
    return 0;
}

// -- a jump out of a callback of the C library

static jmp_buf place;
OURS int jumps(const void *a, const void *b)
{
    if (*(const int *)a == 5)
        longjmp(place, 1);
    return *(const int *)a - *(const int *)b;
}
OURS int sorts(void)
{
    int items[] = {3, 9, 5, 1, 2};
    if (setjmp(place) != 0) {
        show("longjmp");
        return 1;
    }
    qsort(items, 5, sizeof items[0], jumps);
    return 0;
}

// -- a thread that is cancelled

OURS void cleans(void *unused)
{
    (void)unused;
    show("cancelled");
}
OURS void *waits(void *unused)
{
    int pipes[2];
    char byte;
    pthread_cleanup_push(cleans, unused);
    if (pipe(pipes) == 0)
        sink += (int)read(pipes[0], &byte, 1);
    pthread_cleanup_pop(0);
    return unused;
}

// -- coroutines

static ucontext_t outside, inside;
OURS void yields(int n)
{
    sink += n;
    swapcontext(&inside, &outside);
}
static void generates(void)
{
    for (int i = 0;; i++)
        yields(i);
}
OURS void resumes(void)
{
    static char stack[65536];
    getcontext(&inside);
    inside.uc_stack.ss_sp = stack;
    inside.uc_stack.ss_size = sizeof stack;
    inside.uc_link = nullptr;
    makecontext(&inside, generates, 0);
    for (int i = 0; i < 20; i++)
        swapcontext(&outside, &inside);
    show("coroutine");
}

// -- a handler at every instruction: the stack is whole at each

static long steps, broken;
static uintptr_t wrong;
static volatile bool is_over;
static void on_step(int number, siginfo_t *info, void *context)
{
    const char *found[FRAMES];
    uintptr_t places[FRAMES];
    int count = names(found, places, FRAMES), at = 0;
    (void)number;
    (void)info;
    if (is_over)
        ((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL] &= ~0x100;
    while (at < count && strcmp(found[at], "steps_in") != 0)
        at++;
    steps++;
    if (at + 2 > count || strcmp(found[count - 1], "_start") != 0 ||
        strcmp(found[count - 2], "main") != 0) {
        broken++;
        wrong = (uintptr_t)((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
    }
}
static inline __attribute__((always_inline)) int blends(int n, int by)
{
    sink += by; // it has an instruction of its own
    return (n ^ by) * 3 + (n >> 2);
}
OURS int leaf(int n)
{
    sink += n;
    return n + 1;
}
OURS int chain(int n) { return n == 0 ? leaf(n) : chain(n - 1) + leaf(n); }
OURS int tail(int n)
{
    sink ^= blends(n, 5);
    return chain(n);
}
OURS void steps_in(void)
{
    __asm__ volatile("pushf\n\torl $0x100, (%%rsp)\n\tpopf" ::: "memory", "cc");
    sink += blends(tail(2), leaf(3));
    is_over = true;
}
OURS void single_steps(void)
{
    struct sigaction action = {};
    action.sa_sigaction = on_step;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGTRAP, &action, nullptr);
    steps_in();
    Dl_info info = {};
    if (broken != 0)
        dladdr((void *)wrong, &info);
    printf("steps: %s, %ld broken %s\n", steps > 30 ? "many" : "few", broken,
           info.dli_sname != nullptr ? info.dli_sname : "");
}

int main()
{
    pthread_t thread;
    goes(5);
    printf("%d\n", catches(10));
    printf("%d\n", sorts());
    pthread_create(&thread, nullptr, waits, nullptr);
    pthread_cancel(thread);
    pthread_join(thread, nullptr);
    resumes();
    single_steps();
    goes(3);
    return 0;
}

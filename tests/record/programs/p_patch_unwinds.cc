// Unwinds through functions that may be patched, in every way that there is, and prints what it
// found: the same, whether they are patched or not. `p_patch_unwinds again` does so until somebody
// says SIGTERM, compares each time with the first one, and has a thread that throws, and one that is
// sampled a thousand times a second.
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

#define OURS   extern "C" __attribute__((noinline, visibility("default")))
#define FRAMES 64

extern "C" const char __executable_start[];
static volatile int sink;
static FILE *out = stdout;

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
    fprintf(out, "%s:", what);
    for (int i = 0; i < count; i++)
        fprintf(out, " %s+%zx", found[i], (size_t)places[i]);
    fprintf(out, "\n");
}

// -- backtrace and return addresses

OURS void tells(int n)
{
    show("backtrace");
    fprintf(out, "return address %zx\n",
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

static int pipes[2];
OURS void cleans(void *unused)
{
    (void)unused;
    show("cancelled");
    close(pipes[0]);
    close(pipes[1]);
}
OURS void *waits(void *unused)
{
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

OURS void steps_in(void);
extern "C" const char main_code[] __asm__("main"), start_code[] __asm__("_start");
static const uintptr_t outermost[] = {(uintptr_t)steps_in, (uintptr_t)main_code,
                                      (uintptr_t)start_code};
static long steps, broken;
static uintptr_t wrong;
static volatile bool is_over;

/* How many of them were found, in their order: quickly, as threads stand in hooks meanwhile. */
static _Unwind_Reason_Code find_outermost(struct _Unwind_Context *context, void *found)
{
    int *count = (int *)found;
    *count += *count < 3 && _Unwind_GetRegionStart(context) == outermost[*count];
    return _URC_NO_REASON;
}

static void on_step(int number, siginfo_t *info, void *context)
{
    int found = 0;
    (void)number;
    (void)info;
    if (is_over)
        ((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL] &= ~0x100;
    (void)_Unwind_Backtrace(find_outermost, &found);
    steps++;
    if (found != 3) {
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
    fprintf(out, "steps: %s, %ld broken %s\n", steps > 30 ? "many" : "few", broken,
            info.dli_sname != nullptr ? info.dli_sname : "");
}

// -- all of it, once

static void unwind_all(void)
{
    pthread_t thread;
    steps = broken = 0;
    is_over = false;
    goes(5);
    fprintf(out, "%d\n", catches(10));
    fprintf(out, "%d\n", sorts());
    pthread_create(&thread, nullptr, waits, nullptr);
    pthread_cancel(thread);
    pthread_join(thread, nullptr);
    resumes();
    single_steps();
    goes(3);
}

// -- a thread that throws; another one is sampled: each sample comes to where that began. Not the
// one that throws: where an exception goes on, the unwinder's own rows do not hold

static long samples, cut_samples, throws_made, throws_lost;
static volatile sig_atomic_t is_ended;

OURS void *throws_on(void *unused)
{
    for (; !is_ended; throws_made++)
        try {
            throws(5);
            throws_lost++;
        } catch (int value) {
            throws_lost += value != 42;
        }
    return unused;
}

OURS void *is_sampled(void *unused)
{
    sigset_t timer;
    sigemptyset(&timer);
    sigaddset(&timer, SIGPROF);
    pthread_sigmask(SIG_UNBLOCK, &timer, nullptr);
    while (!is_ended)
        sink += chain(3);
    return unused;
}

static _Unwind_Reason_Code come_to(struct _Unwind_Context *context, void *found)
{
    bool is_it = _Unwind_GetRegionStart(context) == (uintptr_t)is_sampled;
    *(bool *)found |= is_it;
    return is_it ? _URC_NORMAL_STOP : _URC_NO_REASON;
}

static void on_sample(int)
{
    bool found = false;
    (void)_Unwind_Backtrace(come_to, &found);
    samples++;
    cut_samples += !found;
}

static pthread_t threads[2];
static void begin_threads(void)
{
    struct sigaction action = {};
    const struct itimerval often = {{0, 1000}, {0, 1000}};
    action.sa_handler = on_sample;
    action.sa_flags = SA_RESTART;
    sigaction(SIGPROF, &action, nullptr);
    sigaddset(&action.sa_mask, SIGPROF);
    pthread_sigmask(SIG_BLOCK, &action.sa_mask, nullptr);
    pthread_create(&threads[0], nullptr, throws_on, nullptr);
    pthread_create(&threads[1], nullptr, is_sampled, nullptr);
    setitimer(ITIMER_PROF, &often, nullptr);
}

// -- again and again

static void end_all(int) { is_ended = 1; }

static void unwind_into(char **text)
{
    size_t bytes;
    free(*text);
    out = open_memstream(text, &bytes);
    unwind_all();
    fclose(out);
}

static int unwind_again(void)
{
    char *first = nullptr, *text = nullptr;
    long rounds = 0, others = 0;
    signal(SIGTERM, end_all);
    for (; !is_ended; rounds++) {
        unwind_into(&text);
        if (rounds == 0) {
            first = strdup(text);
            begin_threads();
            puts("ready");
            fflush(stdout);
        }
        if (strcmp(text, first) != 0 && others++ == 0)
            printf("was:\n%sis:\n%s", first, text);
    }
    for (pthread_t thread : threads)
        pthread_join(thread, nullptr);
    free(first);
    free(text);
    fprintf(stderr, "%ld rounds, %ld throws, %ld samples, %ld of them cut\n", rounds, throws_made,
            samples, cut_samples);
    bool is_right = others == 0 && throws_lost == 0 && rounds != 0;
    puts(is_right ? "right" : "wrong");
    return !is_right;
}

int main(int count, char **)
{
    if (count > 1)
        return unwind_again();
    unwind_all();
    return 0;
}

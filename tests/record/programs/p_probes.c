/* Looks whether calls change what a program can see: errno, floating point flags and modes, the
 * direction flag, callee-saved and vector registers, signal mask, limits, environment, descriptors.
 * */
#define _GNU_SOURCE
#include <errno.h>
#include <fenv.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static int failures;

__attribute__((no_instrument_function)) static void check(int good, const char *what)
{
    if (!good) {
        failures++;
        printf("changed: %s\n", what);
    }
}

__attribute__((noinline)) static void empty(void) { __asm__ volatile("" ::: "memory"); }

__attribute__((noinline)) static double passes(double a, double b, double c, double d, double e,
                                               double f, double g, double h, long i, long j, long k)
{
    return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + (double)(i + 2 * j + 3 * k);
}

__attribute__((noinline)) static void many_calls(void)
{
    for (int i = 0; i < 20000; i++)
        empty();
}

static uint32_t get_mxcsr(void) { return __builtin_ia32_stmxcsr(); }

static uint16_t get_x87(void)
{
    uint16_t word;
    __asm__ volatile("fnstcw %0" : "=m"(word));
    return word;
}

__attribute__((noinline)) static void test_floating(void)
{
    static const int modes[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
    for (int i = 0; i < 4; i++) {
        fesetround(modes[i]);
        feclearexcept(FE_ALL_EXCEPT);
        feraiseexcept(i % 2 ? FE_INEXACT : FE_DIVBYZERO);
        uint32_t mxcsr = get_mxcsr();
        uint16_t x87 = get_x87();
        int raised = fetestexcept(FE_ALL_EXCEPT);
        many_calls();
        check(fegetround() == modes[i], "rounding");
        check(fetestexcept(FE_ALL_EXCEPT) == raised, "floating point exceptions");
        check(get_mxcsr() == mxcsr, "mxcsr");
        check(get_x87() == x87, "x87 control word");
    }
    fesetround(FE_TONEAREST);
    check(passes(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11) == 266, "arguments");
}

__attribute__((noinline)) static void test_errno(void)
{
    for (int value = 1; value < 5; value++) {
        errno = value;
        many_calls();
        check(errno == value, "errno");
    }
}

__attribute__((noinline)) static void test_registers(void)
{
    struct {
        uint64_t kept[4], seen[4], flags;
        void (*function)(void);
    } values = {{0x1111, 0x2222, 0x3333, 0x4444}, {0}, 0, empty};
    for (int i = 0; i < 3000; i++) {
        __asm__ volatile("movq (%%rbx), %%r12\n\tmovq 8(%%rbx), %%r13\n\t"
                         "movq 16(%%rbx), %%r14\n\tmovq 24(%%rbx), %%r15\n\t"
                         "pushq %%rbp\n\tmovq %%rsp, %%rbp\n\tsubq $256, %%rsp\n\t"
                         "andq $-16, %%rsp\n\tcall *72(%%rbx)\n\tpushfq\n\tpopq %%rax\n\t"
                         "movq %%rbp, %%rsp\n\tpopq %%rbp\n\tmovq %%rax, 64(%%rbx)\n\t"
                         "movq %%r12, 32(%%rbx)\n\tmovq %%r13, 40(%%rbx)\n\t"
                         "movq %%r14, 48(%%rbx)\n\tmovq %%r15, 56(%%rbx)\n\t"
                         :
                         : "b"(&values)
                         : "r12", "r13", "r14", "r15", "rax", "rcx", "rdx", "rsi", "rdi", "r8",
                           "r9", "r10", "r11", "memory", "cc");
        check(memcmp(values.seen, values.kept, sizeof(values.kept)) == 0, "callee-saved registers");
        check((values.flags & 0x400) == 0, "direction flag");
    }
}

__attribute__((noinline)) static void test_process(void)
{
    sigset_t mask, after;
    struct rlimit files, files_after;
    long open_before = 0, open_after = 0;
    sigemptyset(&mask);
    sigaddset(&mask, SIGUSR2);
    sigprocmask(SIG_SETMASK, &mask, NULL);
    getrlimit(RLIMIT_NOFILE, &files);
    for (int fd = 0; fd < 64; fd++)
        open_before += dup2(fd, fd) == fd;
    many_calls();
    for (int fd = 0; fd < 64; fd++)
        open_after += dup2(fd, fd) == fd;
    sigprocmask(SIG_SETMASK, NULL, &after);
    getrlimit(RLIMIT_NOFILE, &files_after);
    check(sigismember(&after, SIGUSR2) == 1 && sigismember(&after, SIGUSR1) == 0, "signal mask");
    check(files.rlim_cur == files_after.rlim_cur, "limits");
    printf("open %ld %ld\n", open_before, open_after);
}

int main(void)
{
    test_errno();
    test_floating();
    test_registers();
    test_process();
    printf("failures %d\n", failures);
    return failures != 0;
}

/* Threads that are not the C library's: their thread pointer leads to the first byte of a page,
 * below which nothing is mapped. By the C library's clone, by its syscall, by the instruction
 * itself; and a thread of the C library that changes its thread pointer and comes back. Processes
 * with such a pointer, too. Prints what they add up to; they call functions, and nothing of the C
 * library but what processes end by. */
#include <asm/prctl.h>
#include <linux/futex.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define FLAGS                                                                                      \
    (CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM |            \
     CLONE_SETTLS | CLONE_CHILD_CLEARTID | CLONE_PARENT_SETTID)
#define PAGE  4096
#define STACK 65536
#define TURNS 1000

int arch_prctl(int code, unsigned long address);

static volatile long sum;
static volatile int alive;

__attribute__((noinline)) static long inner(long x) { return x * 3 + 1; }

__attribute__((noinline)) static void outer(void)
{
    for (long i = 0; i < TURNS; i++)
        sum += inner(i) & 1023;
}

__attribute__((noinline)) static int thread(void *unused)
{
    (void)unused;
    outer();
    return 0;
}

static inline long call(long number, long a, long b, long c, long d, long e)
{
    long result;
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8)
                     : "rcx", "r11", "memory");
    return result;
}

/* A function for all system calls: which one it is, is in none of its instructions. */
__attribute__((noinline, noclone)) static long call_any(long number, long a, long b)
{
    return call(number, a, b, 0, 0, 0);
}

static char *alone(size_t bytes) /* with nothing mapped below and above */
{
    char *at = mmap(NULL, bytes + 2 * (size_t)PAGE, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(at, PAGE);
    munmap(at + PAGE + bytes, PAGE);
    return at + PAGE;
}

/* The thread begins where the kernel starts it: on a stack of its own, behind the instruction. */
__attribute__((noinline)) static long raw_clone(unsigned long flags, char *stack, char *tls)
{
    long result;
    register char *r8 __asm__("r8") = tls;
    register volatile int *r10 __asm__("r10") = &alive;
    __asm__ volatile("movq %[thread], %%r12\n\tmovl $56, %%eax\n\tsyscall\n\t"
                     "test %%eax, %%eax\n\tjnz 1f\n\t"
                     "xorl %%ebp, %%ebp\n\txorl %%edi, %%edi\n\tcall *%%r12\n\t"
                     "movl $60, %%eax\n\txorl %%edi, %%edi\n\tsyscall\n\t"
                     "1:"
                     : "=&a"(result)
                     : "D"(flags), "S"(stack), "d"(&alive), "r"(r10),
                       "r"(r8), [thread] "b"((void *)thread)
                     : "rcx", "r11", "r12", "memory", "cc");
    return result;
}

/* How it starts is in memory, so that nothing of it stands beside the instruction. */
__attribute__((noinline)) static long raw_clone3(char *stack, char *tls)
{
    struct clone_args how = {.flags = FLAGS,
                             .stack = (uintptr_t)stack,
                             .stack_size = STACK,
                             .tls = (uintptr_t)tls,
                             .child_tid = (uintptr_t)&alive,
                             .parent_tid = (uintptr_t)&alive};
    long result;
    __asm__ volatile("movq %[thread], %%r12\n\tmovl $435, %%eax\n\tsyscall\n\t"
                     "test %%eax, %%eax\n\tjnz 1f\n\t"
                     "xorl %%ebp, %%ebp\n\txorl %%edi, %%edi\n\tcall *%%r12\n\t"
                     "movl $60, %%eax\n\txorl %%edi, %%edi\n\tsyscall\n\t"
                     "1:"
                     : "=&a"(result)
                     : "D"(&how), "S"(sizeof how), [thread] "b"((void *)thread)
                     : "rcx", "r11", "r12", "memory", "cc");
    return result;
}

static void wait_for(void)
{
    int now;
    while ((now = alive) != 0)
        call(SYS_futex, (long)&alive, FUTEX_WAIT, now, 0, 0);
}

/* A process beside this one, or with memory of its own, ends by the C library's function, as those
 * of browsers' sandboxes do. */
static int process(void *unused)
{
    (void)unused;
    outer();
    _exit(3);
}

static long start_process(unsigned long flags, char *stack, char *tls)
{
    int status = 0;
    int child =
        clone(process, stack + STACK, (int)(flags | CLONE_SETTLS | SIGCHLD), NULL, NULL, tls, NULL);
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) == 3 : -1;
}

static long start(const char *how)
{
    char *tls = alone(PAGE), *stack = alone(STACK);
    uintptr_t before = 0;
    *(char **)tls = tls;
    alive = 1;
    if (strcmp(how, "clone") == 0)
        return clone(thread, stack + STACK, FLAGS, NULL, &alive, tls, &alive);
    if (strcmp(how, "raw") == 0)
        return raw_clone(FLAGS, stack + STACK, tls);
    if (strcmp(how, "raw3") == 0)
        return raw_clone3(stack, tls);
    alive = 0;
    if (strcmp(how, "vfork") == 0)
        return start_process(CLONE_VM | CLONE_VFORK | CLONE_FS, stack, tls);
    if (strcmp(how, "fork") == 0)
        return start_process(0, stack, tls);
    if (strcmp(how, "pointer") == 0) {
        call(SYS_arch_prctl, ARCH_GET_FS, (long)&before, 0, 0, 0);
        call(SYS_arch_prctl, ARCH_SET_FS, (long)tls, 0, 0, 0);
        outer();
        return call(SYS_arch_prctl, ARCH_SET_FS, (long)before, 0, 0, 0);
    }
    if (strcmp(how, "wrapped") == 0) {
        call_any(SYS_arch_prctl, ARCH_GET_FS, (long)&before);
        call_any(SYS_arch_prctl, ARCH_SET_FS, (long)tls);
        outer();
        return call_any(SYS_arch_prctl, ARCH_SET_FS, (long)before);
    }
    if (strcmp(how, "syscall") == 0) {
        syscall(SYS_arch_prctl, ARCH_GET_FS, &before);
        syscall(SYS_arch_prctl, ARCH_SET_FS, tls);
        outer();
        return syscall(SYS_arch_prctl, ARCH_SET_FS, before);
    }
    if (strcmp(how, "function") == 0) {
        arch_prctl(ARCH_GET_FS, (uintptr_t)&before);
        arch_prctl(ARCH_SET_FS, (uintptr_t)tls);
        outer();
        return arch_prctl(ARCH_SET_FS, before);
    }
    return -1;
}

int main(int count, char **words)
{
    outer();
    for (int i = 1; i < count; i++) {
        long result = start(words[i]);
        wait_for();
        printf("%s: %d, %ld\n", words[i], result >= 0, sum);
        fflush(stdout);
    }
    outer();
    printf("%ld\n", sum);
    return 7;
}

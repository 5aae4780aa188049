/* System calls by syscall(), in the shared library only, that hooks have to know the result of:
 * what may forbid calls or the clock, names, and what makes processes beside this one.
 *
 * A process in the same memory is told apart by the kernel alone: it finds stack and registers as
 * after the C library's own syscall(), and calls nothing of ours. */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "recorder/runtime/in_front_of.h"
#include "recorder/runtime/loader/lookup.h"
#include "recorder/runtime/patch/patch.h"
#include "recorder/runtime/slow.h"

#define SHARING (CLONE_VM | CLONE_SETTLS | CLONE_THREAD)

static __typeof__(&syscall) real_syscall;

void ttp_told_begin(void)
{
    if (real_syscall == NULL)
        *(void **)&real_syscall = ttp_next_function("syscall");
    ttp_prctl_begin();
}

/* Without us the caller's own link would have failed where this does. */
static void *real(void)
{
    if (real_syscall == NULL)
        *(void **)&real_syscall = ttp_next_function("syscall");
    if (real_syscall == NULL)
        abort();
    return *(void **)&real_syscall;
}

/* -- what may forbid something, and names -- */

static __attribute__((noinline)) long tell(long number, long a, long b, long c, long d, long e,
                                           long f)
{
    struct ttp_restriction restriction;
    uint32_t what = number == SYS_prctl
                        ? ttp_prctl_restricts((int)a, (uintptr_t)b, (uintptr_t)c)
                        : ttp_seccomp_restricts((uint32_t)a, (uint32_t)b, (uintptr_t)c);
    if (what != 0)
        ttp_restriction_begin(&restriction, what);
    ttp_thread.told_depth++; /* a stub behind it has nothing to do */
    long result = real_syscall(number, a, b, c, d, e, f);
    ttp_thread.told_depth--;
    if (what != 0)
        ttp_restriction_end(&restriction, number == SYS_prctl
                                              ? result >= 0
                                              : ttp_seccomp_is_done(result, (uint32_t)b));
    if (number == SYS_prctl && result >= 0)
        ttp_prctl_done((int)a, (uintptr_t)b);
    return result;
}

/* -- what makes processes -- */

/* As the C library's syscall(), but with the return address in a register: its place may be the
 * child's to overwrite. */
void ttp_told_process(void);
__asm__(".text\n\t"
        ".globl ttp_told_process\n\t.hidden ttp_told_process\n\t"
        ".type ttp_told_process, @function\n\t.p2align 4\n"
        "ttp_told_process:\n\t"
        ".cfi_startproc\n\t"
        "pushq %rdi\n\t.cfi_adjust_cfa_offset 8\n\t"
        "pushq %rsi\n\t.cfi_adjust_cfa_offset 8\n\t"
        "pushq %rdx\n\t.cfi_adjust_cfa_offset 8\n\t"
        "pushq %rcx\n\t.cfi_adjust_cfa_offset 8\n\t"
        "pushq %r8\n\t.cfi_adjust_cfa_offset 8\n\t"
        "pushq %r9\n\t.cfi_adjust_cfa_offset 8\n\t"
        "subq $8, %rsp\n\t.cfi_adjust_cfa_offset 8\n\t"
        "movq 56(%rsp), %rdx\n\t"
        "leaq 64(%rsp), %rcx\n\t"
        "movq %rbp, %r8\n\t"
        "call ttp_told_process_begin\n\t"
        "addq $8, %rsp\n\t.cfi_adjust_cfa_offset -8\n\t"
        "popq %r9\n\t.cfi_adjust_cfa_offset -8\n\t"
        "popq %r8\n\t.cfi_adjust_cfa_offset -8\n\t"
        "popq %rcx\n\t.cfi_adjust_cfa_offset -8\n\t"
        "popq %rdx\n\t.cfi_adjust_cfa_offset -8\n\t"
        "popq %rsi\n\t.cfi_adjust_cfa_offset -8\n\t"
        "popq %rdi\n\t.cfi_adjust_cfa_offset -8\n\t"
        "movq %rdi, %rax\n\t"
        "movq %rsi, %rdi\n\t"
        "movq %rdx, %rsi\n\t"
        "movq %rcx, %rdx\n\t"
        "movq %r8, %r10\n\t"
        "movq %r9, %r8\n\t"
        "movq (%rsp), %r9\n\t"
        "syscall\n\t"
        "testq %rax, %rax\n\t"
        "jz 1f\n\t"
        "movq %r9, (%rsp)\n\t"
        "pushq %rax\n\t.cfi_adjust_cfa_offset 8\n\t"
        "movq %rax, %rdi\n\t"
        "movq %r9, %rsi\n\t"
        "leaq 16(%rsp), %rdx\n\t"
        "call ttp_told_process_end\n\t"
        "popq %rax\n\t.cfi_adjust_cfa_offset -8\n\t"
        "cmpq $-4095, %rax\n\t"
        "jae 2f\n"
        "1:\n\t"
        "ret\n"
        "2:\n\t"
        "negl %eax\n\t"
        "pushq %rax\n\t.cfi_adjust_cfa_offset 8\n\t"
        "call __errno_location@PLT\n\t"
        "popq %rcx\n\t.cfi_adjust_cfa_offset -8\n\t"
        "movl %ecx, (%rax)\n\t"
        "movq $-1, %rax\n\t"
        "ret\n\t"
        ".cfi_endproc\n\t.size ttp_told_process, . - ttp_told_process\n");

static uint64_t flags_of(long number, uintptr_t first, uintptr_t second, uintptr_t sp)
{
    uint64_t flags = 0;
    if (number == SYS_clone)
        return first;
    if (number == SYS_clone3)
        (void)ttp_clone_flags(first, second, sp, &flags);
    return flags;
}

void ttp_told_process_begin(long number, uintptr_t first, uintptr_t after, uintptr_t sp,
                            uintptr_t rbp);
BEFORE void ttp_told_process_begin(long number, uintptr_t first, uintptr_t after, uintptr_t sp,
                                   uintptr_t rbp)
{
    ttp_thread.told_number = (uint32_t)number;
    const struct ttp_begun_call call = {.number = (uint32_t)number, .first = first, .rbp = rbp};
    ttp_call_begins(&call, after, sp);
    ttp_thread.told_with_vfork = (flags_of(number, first, sizeof(uint64_t), sp) & CLONE_VFORK) != 0;
    if (ttp_thread.page != &ttp_page_vfork_child)
        ttp_sharing_begin();
}

/* Where memory is cleared by hand, a forked child has none of this process's. */
void ttp_told_process_end(long result, uintptr_t after, uintptr_t sp);
BEFORE void ttp_told_process_end(long result, uintptr_t after, uintptr_t sp)
{
    bool is_beside = result > 0 && !ttp_thread.told_with_vfork && !ttp_process.forks_by_hand;
    ttp_sharing_is_with(is_beside ? result : 0);
    ttp_call_ended(ttp_thread.told_number, (uint64_t)result, after, sp);
}

static bool makes_process(long number, uintptr_t first, uintptr_t second, uintptr_t sp)
{
    if (number != SYS_clone && number != SYS_clone3 && number != SYS_fork)
        return false;
    uint64_t flags = flags_of(number, first, second, sp);
    return (flags & SHARING) == CLONE_VM || (ttp_process.forks_by_hand && (flags & CLONE_VM) == 0);
}

/* What the caller gets of a call that we have made in its place, and that has failed. */
void ttp_return_failed(void);
__asm__(".text\n\t.globl ttp_return_failed\n\t.hidden ttp_return_failed\n\t"
        ".type ttp_return_failed, @function\nttp_return_failed:\n\t.cfi_startproc\n\t"
        "movq $-1, %rax\n\tret\n\t.cfi_endproc\n\t"
        ".size ttp_return_failed, . - ttp_return_failed\n");

void *ttp_before_syscall(long number, uintptr_t first, uintptr_t sp, uintptr_t return_address,
                         uintptr_t second, uintptr_t third);
BEFORE void *ttp_before_syscall(long number, uintptr_t first, uintptr_t sp,
                                uintptr_t return_address, uintptr_t second, uintptr_t third)
{
    void *next = real();
    ttp_thread_call_seen((uint64_t)number, first, second, sp);
    if (ttp_is_aside)
        return next;
    if (number == SYS_execve) {
        const struct ttp_begun_call call = {
            .number = SYS_execve, .first = first, .second = second, .third = third};
        ttp_call_begins(&call, return_address, sp);
        ttp_exec_by_system_call((const char *)first, (char *const *)second, (char *const *)third);
        ttp_call_ended(SYS_execve, (uint64_t)-errno, return_address, sp);
        return (void *)ttp_return_failed;
    }
    if (number == SYS_seccomp || number == SYS_prctl)
        return (void *)tell;
    if (number == SYS_exit_group)
        ttp_fact_end(TTAPE_PROCESS_END_QUICK_EXIT, (int)first);
    if (__atomic_load_n(&ttp_process.state, __ATOMIC_ACQUIRE) == TTP_PROCESS_ON &&
        makes_process(number, first, second, sp))
        return (void *)ttp_told_process;
    return next;
}
IN_FRONT_OF(syscall, ttp_before_syscall);

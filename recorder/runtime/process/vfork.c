/* vfork, whose child runs on its parent's stack, memory and thread-local state until it execs: what
 * it calls is not recorded, because the records would be its parent's.
 *
 * The return address is kept in a register: its place on the stack is the child's to overwrite. The
 * child exchanges the thread's page for one that records nothing; the parent puts it back. */
#include <stddef.h>

#include "recorder/runtime/state.h"

_Static_assert(offsetof(struct ttp_thread_state, page) == 16, "as below");
_Static_assert(offsetof(struct ttp_thread_state, parent_page) == 32, "as below");

__asm__(".text\n\t"
        ".globl vfork\n\t.type vfork, @function\n\t.p2align 4\n"
        "vfork:\n\t"
        ".cfi_startproc\n\t"
        "cmpb $0, ttp_is_aside(%rip)\n\t"
        "jne 3f\n\t"
        "leaq 8(%rsp), %rdi\n\t"
        "movq (%rsp), %rsi\n\t"
        "movq %rbp, %rdx\n\t"
        "subq $8, %rsp\n\t.cfi_adjust_cfa_offset 8\n\t"
        "call ttp_vfork_begin\n\t"
        "addq $8, %rsp\n\t.cfi_adjust_cfa_offset -8\n\t"
        "popq %rdi\n\t"
        ".cfi_adjust_cfa_offset -8\n\t.cfi_register %rip, %rdi\n\t"
        "movq ttp_thread@gottpoff(%rip), %rsi\n\t"
        "movq %fs:16(%rsi), %rdx\n\t" /* page */
        "movl $58, %eax\n\t"          /* SYS_vfork */
        "syscall\n\t"
        "pushq %rdi\n\t"
        ".cfi_adjust_cfa_offset 8\n\t.cfi_offset %rip, -8\n\t"
        "testl %eax, %eax\n\t"
        "jz 1f\n\t"
        "movq %rdx, %fs:16(%rsi)\n\t"
        "movq $0, %fs:32(%rsi)\n\t" /* parent_page */
        "pushq %rax\n\t.cfi_adjust_cfa_offset 8\n\t"
        "movq %rax, %rdi\n\t"
        "movq 8(%rsp), %rsi\n\t"
        "leaq 16(%rsp), %rdx\n\t"
        "call ttp_vforked\n\t" /* facts.c: what it returns, to where, the caller's stack */
        "popq %rax\n\t.cfi_adjust_cfa_offset -8\n\t"
        "cmpq $-4095, %rax\n\t"
        "jae 2f\n\t"
        "ret\n"
        "1:\n\t"
        "movq %rdx, %fs:32(%rsi)\n\t"
        "leaq ttp_page_vfork_child(%rip), %rcx\n\t"
        "movq %rcx, %fs:16(%rsi)\n\t"
        "ret\n"
        "3:\n\t" /* the thread's state may not be there */
        ".cfi_def_cfa_offset 8\n\t.cfi_offset %rip, -8\n\t"
        "popq %rdi\n\t"
        ".cfi_adjust_cfa_offset -8\n\t.cfi_register %rip, %rdi\n\t"
        "movl $58, %eax\n\t"
        "syscall\n\t"
        "pushq %rdi\n\t"
        ".cfi_adjust_cfa_offset 8\n\t.cfi_offset %rip, -8\n\t"
        "cmpq $-4095, %rax\n\t"
        "jae 2f\n\t"
        "ret\n"
        "2:\n\t"
        "negl %eax\n\t"
        "pushq %rax\n\t.cfi_adjust_cfa_offset 8\n\t"
        "call __errno_location@PLT\n\t"
        "popq %rcx\n\t.cfi_adjust_cfa_offset -8\n\t"
        "movl %ecx, (%rax)\n\t"
        "movq $-1, %rax\n\t"
        "ret\n\t"
        ".cfi_endproc\n\t.size vfork, . - vfork\n");

/* How the runtime stands in front of a function of the C library: see process/interpose.c. */
#ifndef TTP_RUNTIME_IN_FRONT_OF_H
#define TTP_RUNTIME_IN_FRONT_OF_H

/* `before` gets the first two arguments, the caller's stack pointer and the return address, then
 * the third and fourth arguments, and returns the real function. All registers that may hold
 * arguments are as they were when that begins. */
#define IN_FRONT_OF(name, before)                                                                  \
    __asm__(".text\n\t.globl " #name "\n\t.type " #name ", @function\n\t.p2align 4\n" #name        \
            ":\n\t.cfi_startproc\n\t"                                                              \
            "pushq %rdi\n\t.cfi_adjust_cfa_offset 8\n\t"                                           \
            "pushq %rsi\n\t.cfi_adjust_cfa_offset 8\n\t"                                           \
            "pushq %rdx\n\t.cfi_adjust_cfa_offset 8\n\t"                                           \
            "pushq %rcx\n\t.cfi_adjust_cfa_offset 8\n\t"                                           \
            "pushq %r8\n\t.cfi_adjust_cfa_offset 8\n\t"                                            \
            "pushq %r9\n\t.cfi_adjust_cfa_offset 8\n\t"                                            \
            "pushq %rax\n\t.cfi_adjust_cfa_offset 8\n\t"                                           \
            "movq %rcx, %r9\n\tmovq %rdx, %r8\n\t"                                                 \
            "leaq 64(%rsp), %rdx\n\t"                                                              \
            "movq 56(%rsp), %rcx\n\t"                                                              \
            "call " #before "\n\t"                                                                 \
            "movq %rax, %r11\n\t"                                                                  \
            "popq %rax\n\t.cfi_adjust_cfa_offset -8\n\t"                                           \
            "popq %r9\n\t.cfi_adjust_cfa_offset -8\n\t"                                            \
            "popq %r8\n\t.cfi_adjust_cfa_offset -8\n\t"                                            \
            "popq %rcx\n\t.cfi_adjust_cfa_offset -8\n\t"                                           \
            "popq %rdx\n\t.cfi_adjust_cfa_offset -8\n\t"                                           \
            "popq %rsi\n\t.cfi_adjust_cfa_offset -8\n\t"                                           \
            "popq %rdi\n\t.cfi_adjust_cfa_offset -8\n\t"                                           \
            "jmp *%r11\n\t.cfi_endproc\n\t.size " #name ", . - " #name "\n\t"                      \
            ".globl " #name "\n")

#define BEFORE __attribute__((used, visibility("hidden")))

#endif

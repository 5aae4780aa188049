/* A system call whose instructions are on lines of their own, as assembly is: a breakpoint may be
 * put within each jump that its window could have. */
    .text
    .globl main
    .type main, @function
main:
    .cfi_startproc
    xor %eax, %eax
    mov $110, %al
    syscall
    mov %rax, %rdx
    xor %eax, %eax
    ret
    .cfi_endproc
    .size main, . - main
    .section .note.GNU-stack, "", @progbits

/* Functions whose first instructions, or last ones, are those of a system call: both are where a
 * jump would be put. */
#include <stdio.h>

long asks(void), asks_late(void), other(long value);

#define BEGIN(name)                                                                                \
    ".text\n\t.p2align 4\n\t.globl " name "\n\t.type " name ", @function\n" name                   \
    ":\n\t.cfi_startproc\n\t"
#define END(name) ".cfi_endproc\n\t.size " name ", . - " name "\n\t"
#define CALL      "movl $110, %eax\n\tsyscall\n\t" /* getppid */
#define ROOM      "nopl 8(%rax,%rax,1)\n\t"

__asm__(BEGIN("asks") CALL "ret\n\t" END("asks"));
__asm__(BEGIN("asks_late") ROOM CALL "ret\n\t" END("asks_late"));
__asm__(BEGIN("other") ROOM "movq %rdi, %rax\n\tret\n\t" END("other"));

int main(void)
{
    long same = 0;
    for (long i = 0; i < 10; i++)
        same += asks() == asks_late() && other(i) == i;
    printf("%ld\n", same);
    return 3;
}

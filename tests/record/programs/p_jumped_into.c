/* A library whose function leaves through another one's middle, as hand-written code does: built
 * with -DLIBRARY, and the program that calls it. */
#ifdef LIBRARY
__asm__(".text\n\t.globl leaves\n\t.type leaves, @function\n"
        "leaves:\n\t.cfi_startproc\n\t"
        "movl $1, %eax\n\taddl %edi, %eax\n\tcmpl $100, %edi\n\tjae middle\n\t"
        "addl $1000, %eax\n\tret\n\t.cfi_endproc\n\t.size leaves, . - leaves\n\t"
        ".p2align 4\n\t.globl nobody_calls\n\t.type nobody_calls, @function\n"
        "nobody_calls:\n\t.cfi_startproc\n\t"
        "movl $2, %eax\n\timull %edi, %eax\n"
        "middle:\n\taddl $100000, %eax\n\tret\n\t"
        ".cfi_endproc\n\t.size nobody_calls, . - nobody_calls\n\t"
        ".section .note.GNU-stack, \"\", @progbits\n\t.text");
#else
#include <stdio.h>

int leaves(int number);

int main(void)
{
    int sum = 0;
    for (int i = 0; i < 10; i++)
        sum += leaves(i % 2 == 0 ? 7 : 107);
    printf("%d\n", sum);
    return sum != 5 * 1008 + 5 * 100108;
}
#endif

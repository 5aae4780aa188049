/* Functions whose windows have the same bytes in two builds, one of which has a branch into one.
 *
 * OTHER: the build that has none. LIBRARY: only the function; where there is a file following.so in
 * the folder that the program runs in, that is put in the place of libplans.so while the loader
 * relocates the library: it is mapped, and nobody has looked at it. USES: a program that has the
 * function from a library. */
#include <stdio.h>

long branching(long x);

#ifndef USES
#ifdef OTHER
#define TO "2f"
#else
#define TO "1f"
#endif
__asm__(".globl branching\n.type branching,@function\n"
        "branching:.cfi_startproc\n mov %rdi,%rax\n test $1,%dil\n jne " TO "\n mov $1,%ecx\n"
        " add %rcx,%rax\n mov %rax,%rdx\n"
        "2: neg %rax\n1: inc %rax\n ret\n.cfi_endproc\n.size branching,.-branching\n"
        ".globl behind\n.type behind,@function\n"
        "behind:.cfi_startproc\n xor %eax,%eax\n xor %eax,%eax\n ret\n.cfi_endproc\n"
        ".size behind,.-behind\n");
#endif

#ifdef LIBRARY
static long goes_on(void) { return 7; }

/* Nothing of the C library is there yet. */
static long (*resolve(void))(void)
{
    long number = 82; /* rename */
    __asm__ volatile("syscall"
                     : "+a"(number)
                     : "D"("following.so"), "S"("libplans.so")
                     : "rcx", "r11", "memory");
    return goes_on;
}
long later(void) __attribute__((ifunc("resolve")));
long (*const resolved)(void) = later;
#else
int main(void)
{
    long sum = 0;
    for (long i = 0; i < 99; i++)
        sum = sum * 3 + branching(i + sum);
    printf("%ld\n", sum);
    return (int)(sum & 63);
}
#endif

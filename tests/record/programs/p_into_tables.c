/* Hand-written jumps by tables of bytes, words and 32 bits, from a label, a function's start or the
 * table; by handlers of one size; into functions beside, and through others. */
#include <stdio.h>

#define TURNS 99

#define FUNCTION(name, body)                                                                       \
    ".globl " name "\n.type " name ",@function\n" name ":.cfi_startproc\n" body                    \
    ".cfi_endproc\n.size " name ",.-" name "\n"
#define FOUR        "1: inc %rsi\n2: mov %rsi,%rax\n ret\n3: neg %rsi\n4: mov %rsi,%rax\n ret\n"
#define TABLE(text) ".section .rodata\n.p2align 3\n5: " text ".text\n"
#define FROM_LABEL(load)                                                                           \
    " lea 5f(%rip),%rax\n " load "\n lea 1f(%rip),%rax\n add %rdi,%rax\n jmp *%rax\n"

long bytes(long op, long x), words(long op, long x), longs(long op, long x);
long negative(long op, long x), started(long op, long x), own(long op, long x);
long sized(long op, long x), returned(long op, long x), pushed(long op, long x);
long given(long op, long x), kept(long op, long x), called(long op, long x);
long other(long op, long x), others(long op, long x), bounded(long op, long x),
    ending(long op, long x), later(long op, long x);
__asm__(
    FUNCTION("bytes",
             FROM_LABEL("movzbl (%rax,%rdi),%edi") FOUR) TABLE(".byte 1b-1b,2b-1b,3b-1b,4b-1b\n")
        FUNCTION("words", FROM_LABEL("movzwl (%rax,%rdi,2),%edi")
                              FOUR) TABLE(".word 1b-1b,2b-1b,3b-1b,4b-1b\n")
            FUNCTION("longs", FROM_LABEL("movslq (%rax,%rdi,4),%rdi") FOUR)
                TABLE(".long 1b-1b,2b-1b,3b-1b,4b-1b\n")
                    FUNCTION("negative",
                             " lea 5f(%rip),%rax\n movsbq (%rax,%rdi),%rdi\n lea 6f(%rip),%rax\n"
                             " add %rdi,%rax\n jmp *%rax\n" FOUR "6: int3\n")
                        TABLE(".byte 1b-6b,2b-6b,3b-6b,4b-6b\n")
    /* the base is the function's own start, and the jump is another one's */
    FUNCTION("started", " mov $9,%ecx\n lea 5f(%rip),%rax\n movzwl (%rax,%rdi,2),%edi\n"
                        " lea started(%rip),%rax\n add %rdi,%rax\n jmp jumps\n" FOUR)
        TABLE(".word 1b-started,2b-started,3b-started,4b-started\n")
            FUNCTION("jumps", " nop\n nop\n nop\n nop\n jmp *%rax\n") FUNCTION(
                "own", " lea 5f(%rip),%rax\n movslq (%rax,%rdi,4),%rdi\n add %rdi,%rax\n"
                       " jmp *%rax\n" FOUR) TABLE(".long 1b-5b,2b-5b,3b-5b,4b-5b\n")
                FUNCTION("sized",
                         " lea 1f(%rip),%rax\n lea (%rax,%rdi,4),%rax\n jmp *%rax\n"
                         "1: inc %rsi\n nop\n neg %rsi\n nop\n dec %rsi\n nop\n not %rsi\n nop\n"
                         " mov %rsi,%rax\n ret\n")
    /* by a return: pushed, and through a function that returns to where a register says */
    FUNCTION("returned",
             " lea 5f(%rip),%rax\n movslq (%rax,%rdi,4),%rdi\n add %rdi,%rax\n"
             " push %rax\n .cfi_adjust_cfa_offset 8\n ret\n"
             " .cfi_adjust_cfa_offset -8\n" FOUR) TABLE(".long 1b-5b,2b-5b,3b-5b,4b-5b\n")
        FUNCTION("thunk", " call 1f\n2: pause\n jmp 2b\n1: mov %rax,(%rsp)\n ret\n")
            FUNCTION("pushed", " lea 5f(%rip),%rax\n movslq (%rax,%rdi,4),%rdi\n add %rdi,%rax\n"
                               " jmp thunk\n" FOUR) TABLE(".long 1b-5b,2b-5b,3b-5b,4b-5b\n")
    /* a place is calculated, and another function jumps there; or later, from memory */
    FUNCTION("given", " lea 1f(%rip),%rax\n and $1,%edi\n lea (%rdi,%rdi,2),%rdi\n"
                      " add %rdi,%rax\n mov $9,%ecx\n jmp jumps\n" FOUR)
        FUNCTION("kept", " lea 5f(%rip),%rax\n movslq (%rax,%rdi,4),%rdi\n add %rdi,%rax\n"
                         " mov %rax,-8(%rsp)\n mov $9,%ecx\n jmp *-8(%rsp)\n" FOUR)
            TABLE(".long 1b-5b,2b-5b,3b-5b,4b-5b\n")
    /* words between the call and where it goes on */
    FUNCTION("called", " mov %rsi,%rax\n call skips\n .byte 0xc3,0x90,0x90,0x90,0x90,3\n"
                       " inc %rax\n ret\n")
        FUNCTION("skips", " pop %rcx\n .cfi_adjust_cfa_offset -8\n movzbl 5(%rcx),%edx\n"
                          " add %rdx,%rax\n movzbl (%rcx),%edx\n add %rdx,%rax\n add $6,%rcx\n"
                          " jmp *%rcx\n")
    /* into the middle of a function beside */
    FUNCTION("other", " lea 5f(%rip),%rax\n movzbl (%rax,%rdi),%edi\n lea others(%rip),%rax\n"
                      " add %rdi,%rax\n jmp *%rax\n") FUNCTION("others", " mov $9,%ecx\n" FOUR)
        TABLE(".byte 1b-others,2b-others,3b-others,4b-others\n")
    /* distances from its end, which is the next function's start; another one jumps */
    FUNCTION("ending", " lea 5f(%rip),%rax\n movsbq (%rax,%rdi),%rdi\n lea bounded(%rip),%rax\n"
                       " add %rdi,%rax\n mov $9,%ecx\n jmp jumps\n" FOUR)
        TABLE(".byte 1b-bounded,2b-bounded,3b-bounded,4b-bounded\n")
    /* much lies between where its address is taken and where something is added */
    FUNCTION("later", " lea 5f(%rip),%rax\n movzwl (%rax,%rdi,2),%edi\n lea later(%rip),%rax\n"
                      " test $1,%sil\n je 6f\n .rept 9\n inc %rcx\n dec %rdx\n .endr\n"
                      " add %rdi,%rax\n jmp jumps\n" FOUR "6: add %rdi,%rax\n jmp jumps\n")
        TABLE(".word 1b-later,2b-later,3b-later,4b-later\n")
    /* and one whose table and bound are known */
    FUNCTION("bounded", " cmp $3,%rdi\n ja 4f\n lea 5f(%rip),%rax\n movslq (%rax,%rdi,4),%rdi\n"
                        " add %rdi,%rax\n jmp *%rax\n" FOUR)
        TABLE(".long 1b-5b,2b-5b,3b-5b,4b-5b\n"));

int main(void)
{
    long (*const all[])(long, long) = {bytes, words,    longs,  negative, started, own,
                                       sized, returned, pushed, given,    kept,    called,
                                       other, bounded,  ending, later};
    long sum = 0;
    for (int i = 0; i < TURNS; i++)
        for (unsigned k = 0; k < sizeof all / sizeof all[0]; k++)
            sum = sum * 3 + all[k](i & 3, i + sum);
    printf("%ld %ld\n", sum, others(0, sum));
    return 0;
}

/* How far down calls use the stack: what is below is filled with a pattern, and looked at behind
 * each call. Of functions that use none of it by themselves, in each state that calls come to. */
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define BELOW        32768
#define OWN          512 /* of what measures, not looked at */
#define CALLS        3000
#define PATTERN      UINT64_C(0xa5a5a5a5a5a5a5a5)
#define PATTERN_BYTE 0xa5

long leaf(long a, const char *text, double b);
long calls(long a, const char *text, double b);
long jumps(long a, const char *text, double b);
__asm__(".text\n.p2align 4\n.globl leaf\n.type leaf, @function\nleaf:\n\t.cfi_startproc\n\t"
        "leaq 1(%rdi), %rax\n\tnopl 8(%rax,%rax,1)\n\tret\n\t.cfi_endproc\n.size leaf, . - leaf\n");
__asm__(".p2align 4\n.globl calls\n.type calls, @function\ncalls:\n\t.cfi_startproc\n\t"
        "call leaf\n\tnopl 8(%rax,%rax,1)\n\tret\n\t.cfi_endproc\n.size calls, . - calls\n");
__asm__(
    ".p2align 4\n.globl jumps\n.type jumps, @function\njumps:\n\t.cfi_startproc\n\t"
    "addq $5, %rdi\n\tnopl 8(%rax,%rax,1)\n\tjmp leaf\n\t.cfi_endproc\n.size jumps, . - jumps\n");

/* With types, for those that want values. */
__attribute__((noinline)) long given(long a, const char *text, double b)
{
    __asm__ volatile("nopl 8(%%rax,%%rax,1)" ::"r"(a), "r"(text), "x"(b));
    return a;
}
__attribute__((noinline)) long asks(long a, const char *text, double b)
{
    long result = SYS_getppid;
    (void)a;
    (void)text;
    (void)b;
    __asm__ volatile("syscall" : "+a"(result)::"rcx", "r11", "memory");
    return result;
}

typedef long function(long, const char *, double);

/* Without calls, which might be recorded; the zone's ends are multiples of eight. */
static int depth(function *called)
{
    unsigned char *own = __builtin_frame_address(0), *low = own - BELOW;
    volatile uint64_t *word = (uint64_t *)low, *end = (uint64_t *)(own - OWN);
    void *to = low;
    uint64_t words = (BELOW - OWN) / sizeof *word;
    __asm__ volatile("rep stosq" : "+D"(to), "+c"(words) : "a"(PATTERN) : "memory");
    called(3, "text", 2.5);
    while (word < end && *word == PATTERN)
        word++;
    unsigned char *at = (unsigned char *)word;
    while (at < own - OWN && *(volatile unsigned char *)at == PATTERN_BYTE)
        at++;
    return (int)(own - at);
}

static int most(function *called)
{
    int deepest = 0;
    for (int i = 0; i < CALLS; i++) {
        int found = depth(called);
        deepest = found > deepest ? found : deepest;
        if (i > 50 && i < CALLS - 50 && i % 16 != 0)
            for (int more = 0; more < 16; more++)
                called(i, "text", 1.5); /* until a block is full */
    }
    return deepest;
}

int main(void)
{
    printf("leaf %d\n", most(leaf));
    printf("calls %d\n", most(calls));
    printf("jumps %d\n", most(jumps));
    printf("given %d\n", most(given));
    printf("asks %d\n", most(asks));
    return 0;
}

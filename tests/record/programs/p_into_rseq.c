/* Restartable sequences: threads count, each on its processor's counter, between a sequence's start
 * and its commit. With -DMADE its description is made as the program runs, without a section. */
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>

#define THREADS    6
#define PROCESSORS 4096
#ifndef TURNS
#define TURNS 200000
#endif

extern const ptrdiff_t __rseq_offset;
extern const unsigned __rseq_size;
long counts_up(long *counters, ptrdiff_t offset); /* 1: it was interrupted */
static long counters[PROCESSORS * 8];

#ifdef MADE
__thread long made[4] __attribute__((aligned(32))); /* it stays when the function has returned */
#define ARM                                                                                        \
    " mov %fs:0,%rcx\n lea made@tpoff(%rcx),%rcx\n movq $0,(%rcx)\n lea 1f(%rip),%rdx\n"           \
    " mov %rdx,8(%rcx)\n movq $2f-1f,16(%rcx)\n lea 3f(%rip),%rdx\n mov %rdx,24(%rcx)\n"
#define DESCRIPTION
#else
#define ARM " lea 4f(%rip),%rcx\n"
#define DESCRIPTION                                                                                \
    ".section " SECTION ",\"aw\"\n.p2align 5\n4: .long 0,0\n.quad 1b,2b-1b,3b\n.text\n"
#endif
#ifndef SECTION
#define SECTION "__rseq_cs"
#endif

__asm__(
    ".text\n.globl counts_up\n.type counts_up,@function\ncounts_up:.cfi_startproc\n"
    " mov %fs:0,%rax\n add %rsi,%rax\n" ARM " mov %rcx,8(%rax)\n"
    "1: mov 4(%rax),%ecx\n shl $6,%rcx\n mov (%rdi,%rcx),%rdx\n inc %rdx\n mov %rdx,(%rdi,%rcx)\n"
    "2: xor %eax,%eax\n ret\n .long 0x53053053\n3: mov $1,%eax\n ret\n"
    ".cfi_endproc\n.size counts_up,.-counts_up\n" DESCRIPTION);

static void *count(void *nothing)
{
    for (long i = 0; i < TURNS; i++)
        while (counts_up(counters, __rseq_offset) != 0)
            ;
    return nothing;
}

int main(void)
{
    pthread_t threads[THREADS];
    long sum = 0;
    if (__rseq_size == 0) {
        puts("the C library has no such area");
        return 0;
    }
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, count, NULL);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < PROCESSORS; i++)
        sum += counters[i * 8];
    printf("%ld\n", sum);
    return sum != (long)THREADS * TURNS;
}

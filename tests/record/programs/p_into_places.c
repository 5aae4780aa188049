/* Addresses of places within functions, in a program at fixed addresses (-no-pie): in code, as
 * constants and displacements of any instruction; in data, without relocations, as words of 32 and
 * of 64 bits at any byte. A handler of faults goes on at such a place as well. */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <ucontext.h>

#define TURNS 99

static void *filled[4];

__attribute__((noinline)) long fills(unsigned op, long x)
{
    filled[0] = &&a;
    filled[1] = &&b;
    filled[2] = &&c;
    filled[3] = &&d;
    goto *filled[op];
a:
    x = -x;
b:
    return x + 2;
c:
    x = ~x;
d:
    return -x;
}

#define FUNCTION(name, body)                                                                       \
    ".globl " name "\n.type " name ",@function\n" name ":.cfi_startproc\n" body                    \
    ".cfi_endproc\n.size " name ",.-" name "\n"
#define FOUR        "1: inc %rsi\n2: mov %rsi,%rax\n ret\n3: neg %rsi\n4: mov %rsi,%rax\n ret\n"
#define TABLE(text) ".section .rodata\n.p2align 3\n" text ".text\n"

long narrow(long op, long x), odd(long op, long x), added(long op, long x), pushed(long op, long x);
long stepped(long op, long x), moved(long op, long x), stored(long op, long x);
__asm__(
    FUNCTION("narrow", " mov 5f(,%rdi,4),%eax\n jmp *%rax\n" FOUR) TABLE("5: .long 1b,2b,3b,4b\n")
        FUNCTION("odd", " jmp *5f(,%rdi,8)\n" FOUR) TABLE(".byte 0\n5: .quad 1b,2b,3b,4b\n")
            FUNCTION("added", " movzbl 5f(%rdi),%eax\n add $1f,%rax\n jmp *%rax\n" FOUR)
                TABLE("5: .byte 0,2b-1b,3b-1b,4b-1b\n") FUNCTION(
                    "pushed", " test %rdi,%rdi\n je 7f\n push $2f\n ret\n7: push $4f\n ret\n" FOUR)
                    FUNCTION(
                        "stepped",
                        " lea 1f(,%rdi,8),%rax\n jmp *%rax\n1: inc %rsi\n mov %rsi,%rax\n ret\n"
                        " nop\n inc %rsi\n neg %rsi\n nop\n nop\n mov %rsi,%rax\n ret\n")
                        FUNCTION("moved", " mov $1f-2,%eax\n and $1,%edi\n lea (%rdi,%rdi,2),%rdi\n"
                                          " lea 2(%rax,%rdi),%rax\n jmp *%rax\n" FOUR)
                            FUNCTION("stored",
                                     " movl $2f,-16(%rsp)\n movl $0,-12(%rsp)\n movq $4f,-8(%rsp)\n"
                                     " jmp *-16(%rsp,%rdi,8)\n" FOUR));

/* Reads memory that may not be there: the table says where to go on. */
long reads(const int *place);
extern const unsigned char reads_table[];
__asm__(FUNCTION("reads", " mov $7,%eax\n nop\n1: mov (%rdi),%eax\n nopl 0(%rax,%rax)\n inc %eax\n"
                          "2: neg %eax\n ret\n") TABLE(".byte 0\nreads_table: .quad 1b,2b\n"));

static void on_fault(int number, siginfo_t *info, void *context)
{
    uint64_t words[2];
    ucontext_t *at = context;
    (void)number;
    (void)info;
    __builtin_memcpy(words, reads_table, sizeof words);
    at->uc_mcontext.gregs[REG_RIP] = (long long)words[1];
    at->uc_mcontext.gregs[REG_RAX] = 5;
}

int main(void)
{
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
    long sum = 0;
    int there = 41;
    sigaction(SIGSEGV, &action, NULL);
    for (unsigned i = 0; i < TURNS; i++) {
        sum = fills(i & 3, sum) + i;
        sum += narrow(i & 3, i) + 3 * odd(i & 3, i) + added(i & 3, i) * 5 + pushed(i & 1, i);
        sum ^= stepped(i & 1, i) + moved(i, sum) - stored(i & 1, sum);
        sum += reads(i % 5 == 0 ? NULL : &there);
    }
    printf("%ld\n", sum);
    return 0;
}

/* Faults whose handlers ask where they were, in instructions that are within windows: the first,
 * others, calls, in front of returns, beside system calls. A handler finds the place in a table
 * that nobody can know, and goes on elsewhere, at the next instruction, or at the same again. */
#include <execinfo.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#define BEGIN(name)                                                                                \
    ".p2align 4\n\t.globl " name "\n\t.type " name ", @function\n" name ":\n\t.cfi_startproc\n\t"
#define END(name) ".cfi_endproc\n\t.size " name ", . - " name "\n\t"
#define ROOM      "nopl 8(%rax,%rax,1)\n\tnopl 8(%rax,%rax,1)\n\t"
#define PUSH(r)   "pushq %" r "\n\t.cfi_adjust_cfa_offset 8\n\t.cfi_rel_offset %" r ", 0\n\t"
#define POP(r)    "popq %" r "\n\t.cfi_adjust_cfa_offset -8\n\t.cfi_restore %" r "\n\t"

__asm__(".text\n\t" BEGIN("first") "movl (%rdi), %eax\n\tmovl %eax, %eax\n\tnop\n\t" ROOM
                                   "ret\n\t" END("first"));
__asm__(BEGIN("second") "xorl %eax, %eax\n\taddl (%rdi), %eax\n\tincl %eax\n\t" ROOM
                        "ret\n\t" END("second"));
__asm__(BEGIN("third")
            PUSH("rbx") "movl %esi, %ebx\n\tmovl (%rdi), %eax\n\taddl %ebx, %eax\n\t" ROOM POP(
                "rbx") "ret\n\t" END("third"));
__asm__(BEGIN("is_short") "movl (%rdi), %eax\n\tincl %eax\n\tret\n\t" END("is_short"));
__asm__(BEGIN("last") ROOM "leaq 8(%rdi), %rdi\n\tmovl -8(%rdi), %eax\n\tret\n\t" END("last"));
/* what goes on is within the window of the return, what faults is in none */
__asm__(BEGIN("behind") "xorl %eax, %eax\n\t" ROOM "movl (%rdi), %eax\n\t" ROOM
                        "incl %edx\n\taddl $1, %eax\n\tincl %eax\n\tret\n\t" END("behind"));
__asm__(BEGIN("jumps") ROOM "xorl %ecx, %ecx\n\tmovl (%rdi), %edx\n\tjmp first\n\t" END("jumps"));
__asm__(BEGIN("calls") "subq $8, %rsp\n\t.cfi_adjust_cfa_offset 8\n\tcall *(%rdx)\n\t"
                       "addq $8, %rsp\n\t.cfi_adjust_cfa_offset -8\n\t" ROOM
                       "ret\n\t" END("calls"));
__asm__(BEGIN("divides") "xorl %edx, %edx\n\tmovl $100, %eax\n\tidivl %esi\n\t" ROOM
                         "ret\n\t" END("divides"));
__asm__(BEGIN("divides_first") "movl %edx, %ecx\n\tmovl %esi, %eax\n\tcltd\n\t"
                               "idivl %ecx\n\tret\n\t" END("divides_first"));
__asm__(BEGIN("asks") "movl $110, %eax\n\tsyscall\n\tmovl (%rdi), %eax\n\tret\n\t" END("asks"));
__asm__(BEGIN("asks_after") "movl $110, %ecx\n\tmovl %ecx, %eax\n\ttestq %rdi, %rdi\n\tjz 1f\n1:\t"
                            "syscall\n\tmovl (%rdi), %eax\n\tret\n\t" END("asks_after"));
__asm__(BEGIN("otherwise") "movl $7, %eax\n\tnop\n\tret\n\t" END("otherwise"));
__asm__(
    BEGIN("otherwise_framed") "addq $8, %rsp\n\tmovl $8, %eax\n\tret\n\t" END("otherwise_framed"));

typedef long function(int *, int, void *);
function first, second, third, is_short, last, behind, jumps, calls, divides, divides_first, asks,
    asks_after, otherwise, otherwise_framed;

/* How it goes on: there, or that many bytes further on. */
static struct place {
    function *in;
    int at, number;
    function *to;
    int further;
} const places[] = {{first, 0, SIGSEGV, otherwise, 0}, {second, 2, SIGSEGV, NULL, 2},
                    {third, 3, SIGSEGV, NULL, 2},      {is_short, 0, SIGSEGV, NULL, 4},
                    {last, 14, SIGSEGV, NULL, 3},      {behind, 12, SIGSEGV, NULL, 17},
                    {jumps, 12, SIGSEGV, NULL, 2},     {calls, 4, SIGSEGV, NULL, 2},
                    {divides, 7, SIGFPE, NULL, 2},     {divides_first, 5, SIGFPE, NULL, 2},
                    {asks, 7, SIGSEGV, otherwise, 0},  {asks_after, 14, SIGSEGV, otherwise, 0}};
#define PLACES (sizeof places / sizeof places[0])

static int found, unknown;
static char *page;
static volatile int again;

static const struct place *place_of(uintptr_t at, int number)
{
    for (unsigned i = 0; i < PLACES; i++)
        if (at == (uintptr_t)places[i].in + (unsigned)places[i].at && number == places[i].number)
            return &places[i];
    return NULL;
}

static void on_fault(int number, siginfo_t *info, void *context)
{
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    const struct place *place = place_of((uintptr_t)registers[REG_RIP], number);
    if (number == SIGSEGV && page != NULL && (char *)info->si_addr == page) {
        again++; /* the same again, now that it may */
        mprotect(page, 4096, PROT_READ | PROT_WRITE);
        return;
    }
    if (place == NULL) {
        unknown++;
        write(1, "unexpected fault\n", 17);
        _exit(9);
    }
    found++;
    registers[REG_RDI] += 1000; /* and it stays so */
    if (place->to != NULL)
        registers[REG_RIP] = (greg_t)place->to;
    else
        registers[REG_RIP] += place->further;
}

/* The names of the functions that led to the fault. */
static sigjmp_buf left;
static void on_unwind(int number)
{
    void *frames[32];
    int count = backtrace(frames, 32);
    char **names = backtrace_symbols(frames, count);
    (void)number;
    for (int i = 0; i < count; i++)
        for (char *at = strchr(names[i], '('), *end = at; at != NULL && end != NULL;)
            if ((end = strchr(at, '+')) != NULL) {
                printf(" %.*s", (int)(end - at - 1), at + 1);
                break;
            }
    printf("\n");
    free(names);
    siglongjmp(left, 1);
}

__attribute__((noinline)) void leaves(int *at)
{
    if (sigsetjmp(left, 1) == 0)
        printf("%ld\n", third(at, 1, NULL));
}

static void set(int number, int flags)
{
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | flags}, now;
    sigaction(number, &action, NULL);
    sigaction(number, NULL, &now);
    printf("%d %x\n", now.sa_sigaction == on_fault, (unsigned)now.sa_flags);
}

/* Whoever asks for a handler finds his own. */
static void ask(void)
{
    struct sigaction now;
    printf("%d", signal(SIGSEGV, on_unwind) == (void (*)(int))on_fault);
    printf(" %d", signal(SIGSEGV, SIG_DFL) == on_unwind);
    printf(" %d", signal(SIGSEGV, SIG_IGN) == SIG_DFL);
    printf(" %d", sigset(SIGSEGV, on_unwind) == SIG_IGN);
    printf(" %d", __sysv_signal(SIGSEGV, SIG_DFL) == on_unwind);
    printf(" %d", ssignal(SIGSEGV, on_unwind) == SIG_DFL);
    siginterrupt(SIGSEGV, 1);
    sigaction(SIGSEGV, NULL, &now);
    printf(" %d %d\n", now.sa_handler == on_unwind, signal(SIGSEGV, now.sa_handler) == on_unwind);
}

static void fault_all(void)
{
    static function *const to = otherwise;
    int value = 3, *nowhere = (int *)8;
    function *const *bad = (function *const *)16;
    for (unsigned i = 0; i < PLACES; i++) {
        function *f = places[i].in;
        long good = f(&value, 5, f == divides_first ? (void *)3 : (void *)&to);
        long wrong = f(nowhere, 0, f == divides_first ? NULL : (void *)bad);
        printf("%u %ld %ld\n", i, f == asks || f == asks_after ? good == value : good, wrong);
    }
    printf("%d found, %d not\n", found, unknown);
}

int main(void)
{
    static char stack[65536];
    stack_t alternate = {.ss_sp = stack, .ss_size = sizeof stack};
    sigaltstack(&alternate, NULL);
    for (int turn = 0; turn < 2; turn++) {
        set(SIGSEGV, turn == 1 ? SA_ONSTACK : 0);
        set(SIGFPE, turn == 1 ? SA_ONSTACK | SA_NODEFER : 0);
        fault_all();
    }
    page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    function *const readers[] = {first, second, third, is_short, last, jumps, asks};
    for (unsigned i = 0; i < sizeof readers / sizeof readers[0]; i++) {
        mprotect(page, 4096, PROT_NONE);
        printf("%ld\n", readers[i]((int *)page, 1, NULL));
    }
    printf("%d times again\n", again);
    set(SIGSEGV, SA_RESETHAND);
    printf("%ld\n", first((int *)8, 0, NULL));
    printf("%d\n", signal(SIGSEGV, on_unwind) == SIG_DFL);
    leaves((int *)8);
    set(SIGSEGV, 0);
    ask();
    leaves((int *)8);
    return 0;
}

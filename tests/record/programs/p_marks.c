/* Static probes as <sys/sdt.h> makes them, with values wherever compilers may have them, and a
 * semaphore. What each of them should say is printed. Given a word, it waits for
 * a line, and passes one mark more. */
#include <stdio.h>
#include <stdlib.h>

#define MARK(name, semaphore, arguments, ...)                                                      \
    __asm__ __volatile__(MARK_TEXT(name, semaphore, arguments)::__VA_ARGS__)
#define MARK_TEXT(name, semaphore, arguments)                                                      \
    "990: nop\n"                                                                                   \
    ".pushsection .note.stapsdt,\"?\",\"note\"\n.balign 4\n"                                       \
    ".4byte 992f-991f, 994f-993f, 3\n"                                                             \
    "991: .asciz \"stapsdt\"\n992: .balign 4\n"                                                    \
    "993: .8byte 990b, _.stapsdt.base, " semaphore "\n"                                            \
    ".asciz \"ours\"\n.asciz \"" name "\"\n.asciz \"" arguments "\"\n"                             \
    "994: .balign 4\n.popsection\n"                                                                \
    ".ifndef _.stapsdt.base\n"                                                                     \
    ".pushsection .stapsdt.base,\"aG\",\"progbits\",.stapsdt.base,comdat\n"                        \
    ".weak _.stapsdt.base\n.hidden _.stapsdt.base\n_.stapsdt.base: .space 1\n"                     \
    ".size _.stapsdt.base, 1\n.popsection\n.endif\n"

__attribute__((section(".probes"), used)) volatile unsigned short ours_wanted_semaphore;
int ours_global = 1000;
static const int numbers[4] = {11, -22, 33, -44};

static __attribute__((noinline)) void work(int number, long wide, unsigned char byte, double real)
{
    volatile short kept = (short)(number * -3);
    MARK("work", "0", "-4@%0 8@%1 1@%2 8f@%3 -2@%4", "nor"(number), "nor"(wide), "nor"(byte),
         "x"(real), "m"(kept));
    printf("ours:work %d %lu %u %g %d\n", number, (unsigned long)wide, byte, real, kept);
}

static __attribute__((noinline)) void in_memory(const int *table, long at)
{
    MARK("memory", "0", "-4@%0 4@%1 -4@%2", "m"(table[at]), "m"(ours_global), "n"(-5));
    printf("ours:memory %d %u -5\n", table[at], (unsigned)ours_global);
    ours_global++;
}

/* In registers that a callee keeps, and others; parts of them. */
static __attribute__((noinline)) void held(long a, long b, long c, long d, long e, long f)
{
    register long rbx __asm__("rbx") = a, r12 __asm__("r12") = b, r13 __asm__("r13") = c;
    register long r14 __asm__("r14") = d, r15 __asm__("r15") = e, r10 __asm__("r10") = f;
    MARK("held", "0", "-8@%0 -8@%1 -8@%2 -8@%3 -8@%4 -8@%5 -4@%k0 -1@%b1 1@%h0", "r"(rbx), "r"(r12),
         "r"(r13), "r"(r14), "r"(r15), "r"(r10));
    printf("ours:held %ld %ld %ld %ld %ld %ld %d %d %d\n", a, b, c, d, e, f, (int)a, (signed char)b,
           (unsigned char)(a >> 8));
}

static __attribute__((noinline)) void wanted(int number)
{
    if (ours_wanted_semaphore == 0)
        return;
    MARK("wanted", "ours_wanted_semaphore", "-4@%0", "nor"(number));
}

/* Addresses: of a text, and of nothing. */
static __attribute__((noinline)) void spoken(const char *text, int number, const char *nothing)
{
    MARK("spoken", "0", "8@%0 -4@%1 8@%2", "nor"(text), "nor"(number), "nor"(nothing));
    printf("ours:spoken %lu %d %lu\n", (unsigned long)text, number, (unsigned long)nothing);
}

/* Branches lead to the nop and to behind it. */
static __attribute__((noinline)) int without_room(int turns)
{
    __asm__ volatile("jmp 990f\n" MARK_TEXT("no_room", "0", "") "1: dec %0\n jne 1b" : "+r"(turns));
    return turns;
}

/* Flags, the red zone and vector registers are the program's. */
static __attribute__((noinline)) int undisturbed(long number)
{
    unsigned char is_less = 0;
    long below = 0;
    double after = 0;
    __asm__ volatile(
        "cvtsi2sdq %3, %%xmm1\n movq %3, -8(%%rsp)\n cmpq $5, %3\n" MARK_TEXT(
            "undisturbed", "0", "-8@%3") "setl %0\n movq -8(%%rsp), %1\n movapd %%xmm1, %2\n"
        : "=&r"(is_less), "=&r"(below), "=x"(after)
        : "r"(number)
        : "xmm1", "cc");
    printf("ours:undisturbed %ld\n", number);
    return is_less == (number < 5) && after == (double)number && below == number;
}

/* Whoever records says when that is over. */
static void wait_for_end(void)
{
    (void)getchar();
    wanted(0);
    printf("semaphore %u at the end\n", ours_wanted_semaphore);
}

int main(int count, char **words)
{
    int is_fine = 1;
    (void)words;
    printf("semaphore %u\n", ours_wanted_semaphore);
    fflush(stdout);
    for (int i = 0; i < 4; i++) {
        work(i - 2, -1L - i, (unsigned char)(250 + i), i * 0.25);
        in_memory(numbers, i);
        held(i * 300L, -i, 1L << 40, -(1L << 41), 77, 1000 - i);
        is_fine &= undisturbed(i + 3);
        wanted(i);
    }
    spoken("a text", 3, (const char *)16);
    if (count > 1)
        wait_for_end();
    return without_room(3) == 0 && is_fine ? 0 : 1;
}

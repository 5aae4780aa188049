/* How much of the stack below a function's red zone its calls have changed, in bytes: by most of
 * them, and at most. All of it is filled before each call, and looked through behind it. Said for
 * each line of standard input; built without a red zone of its own. */
#include <stdio.h>
#include <string.h>

#define BYTES "4096"
#define MOST  4096
#define CALLS 50000

volatile long sum;

__attribute__((noinline, used)) void work(void)
{
    sum += 3;
    sum ^= sum << 3;
}

__attribute__((noinline)) static long use_stack(void)
{
    long used;
    __asm__ volatile("leaq -" BYTES "(%%rsp), %%rdi\n\tmovl $" BYTES "/8, %%ecx\n\t"
                     "movabsq $0x5eed5eed5eed5eed, %%rax\n\trep stosq\n\t"
                     "call work\n\t"
                     "leaq -" BYTES "(%%rsp), %%rdi\n\tmovl $" BYTES "/8, %%ecx\n\t"
                     "movabsq $0x5eed5eed5eed5eed, %%rax\n\trepe scasq\n\t"
                     "leaq -128(%%rsp), %0\n\tsubq %%rdi, %0"
                     : "=r"(used)
                     :
                     : "rax", "rcx", "rdx", "rdi", "rsi", "r8", "r9", "r10", "r11", "memory", "cc");
    return used < 0 ? 0 : used;
}

int main(void)
{
    static long count[MOST + 1];
    char line[64];
    while (fgets(line, sizeof line, stdin) != NULL) {
        long common = 0, most = 0;
        memset(count, 0, sizeof count);
        for (int i = 0; i < CALLS; i++) {
            long used = use_stack();
            count[used]++;
            most = used > most ? used : most;
        }
        for (long i = 0; i <= MOST; i++)
            common = count[i] > count[common] ? i : common;
        printf("%ld %ld\n", common, most);
        (void)fflush(stdout);
    }
    return 0;
}

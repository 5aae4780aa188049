/* Whatever a program has in its registers, flags, below its stack pointer and in the vector and
 * x87 state is there again behind a probe: filled with noise before a call, compared in the callee,
 * filled again there, and compared behind its return. The functions are written in assembler, so
 * that nothing else uses a register. `p_patch_state again`: until somebody says SIGTERM. */
#include <cpuid.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define AREA_BYTES 8192
#define GENERAL    15 /* all but rsp, as in the assembler's list */
#define RED_WORDS  16
#define RED_FILLED 15      /* the last is behind the red zone before the call, and anybody's */
#define FLAGS_SET  0xad7ul /* carry, parity, adjust, zero, sign, overflow; interrupts, and bit 1 */
#define FLAGS_NONE 0x202ul
#define FLAGS_ZERO 0x40ul

struct state {
    uint64_t general[GENERAL], flags, stack;
    uint64_t red[RED_WORDS];
    uint8_t area[AREA_BYTES] __attribute__((aligned(64)));
};

__attribute__((used)) struct state before, inside, second, after;
__attribute__((used)) uint64_t mask, called;
extern char plain[], tail[], maybe[], tight[];
void run_state(void);

#define LIST(x, s)                                                                                 \
    x("rax", "0", s) x("rbx", "8", s) x("rcx", "16", s) x("rdx", "24", s) x("rsi", "32", s)        \
        x("rdi", "40", s) x("rbp", "48", s) x("r8", "56", s) x("r9", "64", s) x("r10", "72", s)    \
            x("r11", "80", s) x("r12", "88", s) x("r13", "96", s) x("r14", "104", s)               \
                x("r15", "112", s)
#define SAVE_ONE(name, at, s) "movq %" name ", " s "+" at "(%rip)\n\t"
#define LOAD_ONE(name, at, s) "movq " s "+" at "(%rip), %" name "\n\t"

#define SAVE(s)                                                                                    \
    LIST(SAVE_ONE, s)                                                                              \
    "movq %rsp, " s "+128(%rip)\n\t.set i, 0\n\t.rept 16\n\t"                                      \
    "movq -8-8*i(%rsp), %rax\n\tmovq %rax, " s "+136+8*i(%rip)\n\t.set i, i+1\n\t.endr\n\t"        \
    "pushfq\n\tpopq " s "+120(%rip)\n\t"                                                           \
    "movl mask(%rip), %eax\n\tmovl $0, %edx\n\txsave64 " s "+320(%rip)\n\t"
#define LOAD(s)                                                                                    \
    "movl mask(%rip), %eax\n\tmovl $0, %edx\n\txrstor64 " s "+320(%rip)\n\t"                       \
    "pushq " s "+120(%rip)\n\tpopfq\n\t" LIST(LOAD_ONE, s)

#define BEGIN(name)                                                                                \
    ".text\n\t.globl " name "\n\t.type " name ", @function\n" name ":\n\t.cfi_startproc\n\t"
#define END(name) ".cfi_endproc\n\t.size " name ", . - " name "\n\t"
#define ALIGN     ".p2align 4\n\t"
#define ROOM      "nopl 8(%rax,%rax,1)\n\tnopl 8(%rax,%rax,1)\n\t"
#define PUSH(r)   "pushq %" r "\n\t.cfi_adjust_cfa_offset 8\n\t"
#define POP(r)    "popq %" r "\n\t.cfi_adjust_cfa_offset -8\n\t"

__asm__(ALIGN BEGIN("plain") SAVE("inside") LOAD("second") "ret\n\t" END("plain"));
__asm__(ALIGN BEGIN("tail") ROOM ".byte 0xe9\n\t.long plain - . - 4\n\t" END("tail"));
__asm__(ALIGN BEGIN("maybe") ROOM ".byte 0x0f, 0x84\n\t.long plain - . - 4\n\t" /* jz plain */
        SAVE("inside") LOAD("second") "ret\n\t" END("maybe"));
/* No room behind its return: instructions before it are moved, too. */
__asm__(ALIGN BEGIN("tight") SAVE("inside") LOAD("second") ROOM "ret\n\t" END("tight"));

/* Flags are set without the stack, which is filled by then: sahf, and an overflow where it is
 * wanted. */
#define FILL_STACK                                                                                 \
    "leaq -8(%rsp), %rax\n\tmovq %rax, before+128(%rip)\n\t.set i, 0\n\t.rept 16\n\t"              \
    "movq before+136+8*i(%rip), %rax\n\tmovq %rax, -16-8*i(%rsp)\n\t.set i, i+1\n\t.endr\n\t"
#define FILL_FLAGS                                                                                 \
    "movb before+121(%rip), %al\n\tshrb $3, %al\n\tandb $1, %al\n\taddb $127, %al\n\t"             \
    "movb before+120(%rip), %ah\n\tsahf\n\t"
#define FILL_REST  "movl mask(%rip), %eax\n\tmovl $0, %edx\n\txrstor64 before+320(%rip)\n\t"
#define EMPTY_REST "fninit\n\tpushq $0x1f80\n\tldmxcsr (%rsp)\n\tpopq %rax\n\t"

__asm__(BEGIN("run_state") PUSH("rbx") PUSH("rbp") PUSH("r12") PUSH("r13") PUSH("r14") PUSH("r15")
            FILL_STACK FILL_REST FILL_FLAGS LIST(LOAD_ONE,
                                                 "before") "call *called(%rip)\n\t" SAVE("after")
                EMPTY_REST POP("r15") POP("r14") POP("r13") POP("r12") POP("rbp")
                    POP("rbx") "ret\n\t" END("run_state"));
_Static_assert(offsetof(struct state, flags) == 120 && offsetof(struct state, red) == 136 &&
                   offsetof(struct state, area) == 320,
               "as the assembler has it");

static void fill(struct state *s, uint64_t flags)
{
    static uint64_t noise = 7; /* xorshift: rand() would be nine tenths of what this program does */
    _Static_assert(sizeof *s % sizeof noise == 0, "whole words");
    for (size_t i = 0; i < sizeof *s / sizeof noise; i++) {
        noise ^= noise << 13;
        noise ^= noise >> 7;
        noise ^= noise << 17;
        uint64_t odd = noise | UINT64_C(0x0101010101010101);
        memcpy((uint8_t *)s + i * sizeof odd, &odd, sizeof odd);
    }
    s->flags = flags;
    memset(s->area, 0, 32);
    memset(s->area + 416, 0, 96);
    memset(s->area + 512, 0, 64);
    s->area[0] = 0x7f; /* x87 control: all exceptions masked, rounding as the noise has it */
    s->area[1] = (uint8_t)(0x03 | (rand() & 0x0c));
    s->area[4] = 0xff; /* all eight registers are in use */
    uint32_t control = 0x1f80u | (uint32_t)(rand() & 3) << 13 | (uint32_t)(rand() & 0x3f);
    memcpy(s->area + 24, &control, 4);
    for (int i = 0; i < 8; i++)
        memset(s->area + 32 + 16 * i + 10, 0, 6);
    memcpy(s->area + 512, &mask, 8);
}

static int differs(const char *what, const struct state *wanted, const struct state *found,
                   int has_red)
{
    int bad = 0;
    for (int i = 0; i < GENERAL; i++)
        bad |= wanted->general[i] != found->general[i];
    if (bad)
        printf("%s: registers\n", what);
    if ((wanted->flags ^ found->flags) & 0x8d5)
        printf("%s: flags %lx, not %lx\n", what, (long)found->flags, (long)wanted->flags), bad = 1;
    if (has_red && memcmp(wanted->red, found->red, RED_FILLED * sizeof *found->red) != 0)
        printf("%s: red zone\n", what), bad = 1;
    if (has_red && wanted->stack != found->stack)
        printf("%s: stack pointer\n", what), bad = 1;
    if (memcmp(wanted->area, found->area, 5) != 0 ||
        memcmp(wanted->area + 24, found->area + 24, 4) != 0 ||
        memcmp(wanted->area + 32, found->area + 32, 384) != 0)
        printf("%s: x87 or SSE\n", what), bad = 1;
    for (unsigned i = 2; i < 8; i++) {
        unsigned size, at, c, d;
        if ((mask >> i & 1) == 0)
            continue;
        __cpuid_count(0xd, i, size, at, c, d);
        if (memcmp(wanted->area + at, found->area + at, size) != 0)
            printf("%s: state %u\n", what, i), bad = 1;
    }
    return bad;
}

static volatile sig_atomic_t is_ended;
static void end(int number)
{
    (void)number;
    is_ended = 1;
}

static int turn_once(int turn, int calls)
{
    static const struct {
        const char *name;
        char *start;
    } all[] = {{"plain", plain}, {"tail", tail}, {"maybe", maybe}, {"tight", tight}};
    int which = turn % 4, bad = 0;
    fill(&before, turn & 4 ? FLAGS_SET : turn & 8 ? FLAGS_ZERO | 2 : FLAGS_NONE);
    fill(&second, turn & 16 ? FLAGS_SET & ~0x200ul : FLAGS_NONE & ~0x200ul);
    called = (uint64_t)(uintptr_t)all[which].start;
    for (int i = 0; i < calls && !bad; i++) {
        run_state();
        bad |= differs(all[which].name, &before, &inside, 1);
        bad |= differs(all[which].name, &second, &after, 0);
    }
    return bad;
}

int main(int count, char **words)
{
    (void)words;
    uint32_t low, high;
    unsigned a, b, c, d;
    int bad = 0;
    __cpuid(1, a, b, c, d);
    if ((c & bit_OSXSAVE) == 0)
        return 77;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    mask = low & 0xe7;
    srand(7);
    if (count > 1) {
        signal(SIGTERM, end);
        printf("ready\n");
        fflush(stdout);
        fprintf(stderr, "%s AVX-512\n", (mask & 0xe0) == 0xe0 ? "with" : "without");
    }
    for (int turn = 0; count > 1 ? !is_ended : turn < 400; turn++)
        bad |= turn_once(turn, count > 1 ? 64 : 1);
    printf("%s\n", bad ? "changed" : count > 1 ? "right" : "as it was");
    return bad;
}

/* A library that is preloaded: it steps through the program's main, one instruction after the
 * other, unwinds at each, and writes to the file in STEPS_TO which functions of the executable are
 * on the stack, each time that this changes: a line for each, innermost first,
 *
 *     function - executable | of outer ones: where they go on | their frame, from main's caller's
 *
 * Where unwinding does not come to main's caller, or finds other registers there than it had, it
 * writes that. So a program that is patched writes the same as one that is not. After STEPS_LINES
 * lines the program goes on by itself. Last come the steps, and how many of them were in code that
 * belongs to no file. With STEPS_WAIT it says "ready" first, and begins when its input has a byte.
 */
#include <dlfcn.h>
#include <link.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unwind.h>

#define FRAMES    64
#define BUFFER    (1 << 20)
#define TRAP_FLAG 0x100l
#define KEPT      6 /* rbx, rbp, r12 to r15 */

typedef int main_function(int, char **, char **);

int steps_main(int count, char **words, char **environment, main_function *main);
extern const char steps_main_start[], steps_main_end[];
/* Registers that callees keep hold what no program has in them. */
__asm__(".text\n.globl steps_main\n.type steps_main, @function\nsteps_main:\n"
        "steps_main_start:\n\t.cfi_startproc\n\t"
        "pushq %rbx\n\t.cfi_adjust_cfa_offset 8\n\t.cfi_rel_offset %rbx, 0\n\t"
        "pushq %rbp\n\t.cfi_adjust_cfa_offset 8\n\t.cfi_rel_offset %rbp, 0\n\t"
        "pushq %r12\n\t.cfi_adjust_cfa_offset 8\n\t.cfi_rel_offset %r12, 0\n\t"
        "pushq %r13\n\t.cfi_adjust_cfa_offset 8\n\t.cfi_rel_offset %r13, 0\n\t"
        "pushq %r14\n\t.cfi_adjust_cfa_offset 8\n\t.cfi_rel_offset %r14, 0\n\t"
        "pushq %r15\n\t.cfi_adjust_cfa_offset 8\n\t.cfi_rel_offset %r15, 0\n\t"
        "subq $8, %rsp\n\t.cfi_adjust_cfa_offset 8\n\t"
        "movq %rcx, %rax\n\t"
        "movabsq $0x5a5a000000000003, %rbx\n\tmovabsq $0x5a5a000000000006, %rbp\n\t"
        "movabsq $0x5a5a00000000000c, %r12\n\tmovabsq $0x5a5a00000000000d, %r13\n\t"
        "movabsq $0x5a5a00000000000e, %r14\n\tmovabsq $0x5a5a00000000000f, %r15\n\t"
        "pushfq\n\torl $0x100, (%rsp)\n\tpopfq\n\t"
        "call *%rax\n\t"
        "pushfq\n\tandl $~0x100, (%rsp)\n\tpopfq\n\t"
        "addq $8, %rsp\n\t.cfi_adjust_cfa_offset -8\n\t"
        "popq %r15\n\t.cfi_adjust_cfa_offset -8\n\tpopq %r14\n\t.cfi_adjust_cfa_offset -8\n\t"
        "popq %r13\n\t.cfi_adjust_cfa_offset -8\n\tpopq %r12\n\t.cfi_adjust_cfa_offset -8\n\t"
        "popq %rbp\n\t.cfi_adjust_cfa_offset -8\n\tpopq %rbx\n\t.cfi_adjust_cfa_offset -8\n\t"
        "ret\n\t.cfi_endproc\nsteps_main_end:\n.size steps_main, . - steps_main\n");
static const int kept[KEPT] = {3, 6, 12, 13, 14, 15}; /* by their numbers in DWARF */

static uintptr_t program_start, program_end;
static main_function *real_main;
static FILE *out;

struct chain {
    int count;
    uintptr_t words[3 * FRAMES];
};
static struct chain last;
static long steps, stub_steps, broken, lines, lines_wanted;

/* One unwinding. */
struct walk {
    struct chain chain;
    uintptr_t cfas[FRAMES];
    int is_handler_over, is_whole, are_registers_right;
};

static int is_program(uintptr_t at) { return at >= program_start && at < program_end; }

static int is_caller(uintptr_t at)
{
    return at >= (uintptr_t)steps_main_start && at < (uintptr_t)steps_main_end;
}

static _Unwind_Reason_Code visit(struct _Unwind_Context *context, void *data)
{
    struct walk *walk = data;
    int before = 0;
    uintptr_t at = _Unwind_GetIPInfo(context, &before), look_up = at - !before;
    if (is_caller(look_up)) {
        walk->is_whole = walk->are_registers_right = 1;
        for (int i = 0; i < KEPT; i++)
            walk->are_registers_right &=
                _Unwind_GetGR(context, kept[i]) == (0x5a5a000000000000ul | (unsigned)kept[i]);
        for (int i = 0; i < walk->chain.count; i++)
            walk->chain.words[3 * i + 2] = _Unwind_GetCFA(context) - walk->cfas[i];
        return _URC_NORMAL_STOP;
    }
    if (!is_program(look_up) || walk->chain.count == FRAMES)
        return _URC_NO_REASON;
    int i = walk->chain.count++;
    walk->chain.words[3 * i] = _Unwind_GetRegionStart(context) - program_start;
    walk->chain.words[3 * i + 1] = i == 0 ? 0 : at - program_start;
    walk->cfas[i] = i == 0 ? 0 : _Unwind_GetCFA(context);
    return _URC_NO_REASON;
}

static void show(const struct chain *chain)
{
    lines++;
    for (int i = 0; i < chain->count; i++)
        if (i == 0)
            fprintf(out, "%zx", (size_t)chain->words[0]);
        else
            fprintf(out, " %zx|%zx|%zx", (size_t)chain->words[3 * i],
                    (size_t)chain->words[3 * i + 1], (size_t)chain->words[3 * i + 2]);
    fprintf(out, "\n");
}

/* The file that the instruction is in: 0: none; 1: the runtime; 2: another one. */
static int file_of(uintptr_t at)
{
    Dl_info info;
    if (dladdr((void *)at, &info) == 0)
        return 0;
    return strstr(info.dli_fname, "libtracetape-rt") != NULL ? 1 : 2;
}

/* Each instruction of the runtime is looked at some times, not in each call. */
static int is_known(uintptr_t at, int file)
{
    static unsigned char seen[1 << 20];
    unsigned char *count = &seen[at % sizeof seen];
    return file == 1 && (*count == 20 || ++*count == 0);
}

static void on_step(int number, siginfo_t *info, void *context)
{
    ucontext_t *state = context;
    uintptr_t at = (uintptr_t)state->uc_mcontext.gregs[REG_RIP];
    struct walk walk = {.is_whole = 0};
    (void)number;
    (void)info;
    if (is_caller(at))
        return;
    int file = file_of(at);
    steps++;
    stub_steps += file == 0;
    if (is_known(at, file))
        return;
    (void)_Unwind_Backtrace(visit, &walk);
    if (walk.chain.count > 0)
        walk.chain.words[2] = 0; /* the innermost one's frame is of its place */
    if (!walk.is_whole || !walk.are_registers_right) {
        broken++;
        fprintf(out, "%s at %zx\n", walk.is_whole ? "other registers" : "cut",
                (size_t)(at - program_start));
        show(&walk.chain);
    } else if (walk.chain.count != last.count ||
               memcmp(walk.chain.words, last.words,
                      3 * sizeof last.words[0] * (size_t)last.count) != 0) {
        last = walk.chain;
        show(&last);
    }
    if (lines >= lines_wanted)
        state->uc_mcontext.gregs[REG_EFL] &= ~TRAP_FLAG;
}

static int look(struct dl_phdr_info *info, size_t size, void *data)
{
    (void)size;
    (void)data;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_LOAD) {
            uintptr_t start = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
            if (program_start == 0)
                program_start = start;
            program_end = start + info->dlpi_phdr[i].p_memsz;
        }
    return 1; /* the first one only */
}

static int main_in_steps(int count, char **words, char **environment)
{
    struct sigaction action = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO};
    const char *path = getenv("STEPS_TO"), *most = getenv("STEPS_LINES");
    lines_wanted = most != NULL ? atol(most) : 0;
    if (path == NULL || (out = fopen(path, "w")) == NULL)
        return 99;
    setvbuf(out, NULL, _IOFBF, BUFFER);
    dl_iterate_phdr(look, NULL);
    sigaction(SIGTRAP, &action, NULL);
    if (getenv("STEPS_WAIT") != NULL && (puts("ready") < 0 || fflush(stdout) != 0 || getchar() < 0))
        return 99;
    int status = steps_main(count, words, environment, real_main);
    fprintf(out, "# %ld steps, %ld of them in stubs, %ld broken\n", steps, stub_steps, broken);
    fclose(out);
    return status;
}

int __libc_start_main(main_function *main, int count, char **words, void (*init)(void),
                      void (*fini)(void), void (*rtld_fini)(void), void *stack_end)
{
    int (*real)(main_function *, int, char **, void (*)(void), void (*)(void), void (*)(void),
                void *);
    *(void **)&real = dlsym(RTLD_NEXT, "__libc_start_main");
    real_main = main;
    return real(main_in_steps, count, words, init, fini, rtld_fini, stack_end);
}

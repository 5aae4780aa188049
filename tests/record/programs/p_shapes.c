/* Functions whose windows have all forms that there are, written in assembler, so that no compiler
 * changes them. With what unwinders need to know, and called in turns. */
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#define BEGIN(name)                                                                                \
    ".text\n\t.globl " name "\n\t.type " name ", @function\n" name ":\n\t.cfi_startproc\n\t"
#define END(name)   ".cfi_endproc\n\t.size " name ", . - " name "\n\t"
#define ALIGN       ".p2align 4\n\t"
#define PUSH(r)     "pushq %" r "\n\t.cfi_adjust_cfa_offset 8\n\t.cfi_rel_offset %" r ", 0\n\t"
#define POP(r)      "popq %" r "\n\t.cfi_adjust_cfa_offset -8\n\t.cfi_restore %" r "\n\t"
#define LOWER       "subq $8, %rsp\n\t.cfi_adjust_cfa_offset 8\n\t"
#define HIGHER      "addq $8, %rsp\n\t.cfi_adjust_cfa_offset -8\n\t"
#define ROOM        "nopl 8(%rax,%rax,1)\n\tnopl 8(%rax,%rax,1)\n\t"
#define FRAME       PUSH("rbp") "movq %rsp, %rbp\n\t.cfi_def_cfa_register %rbp\n\t"
#define LEAVE       "leave\n\t.cfi_def_cfa %rsp, 8\n\t.cfi_restore %rbp\n\t"
#define CALL(where) "call " where "\n\t"

/* -- calls in an entry's window -- */
__asm__(ALIGN BEGIN("calls_first") CALL("leaf") "movq %rax, %rdi\n\tnop\n\tnop\n\t" CALL(
    "leaf") "incq %rax\n\tret\n\t" END("calls_first"));
__asm__(ALIGN BEGIN("lowers_first") LOWER CALL("leaf") HIGHER "ret\n\t" END("lowers_first"));
__asm__(ALIGN BEGIN("pushes_first") PUSH("rbx") CALL("leaf")
            POP("rbx") "ret\n\t" END("pushes_first"));
__asm__(ALIGN BEGIN("pushes_two") PUSH("rbx") PUSH("r12") "nop\n\t" CALL(
    "leaf") "movq %rax, %rbx\n\t"
            "movq %rbx, %rdi\n\t" CALL("leaf") "addq %rbx, %rax\n\t" POP("r12")
                POP("rbx") "ret\n\t" END("pushes_two"));
__asm__(ALIGN BEGIN("frames_first") FRAME CALL("leaf") LEAVE "ret\n\t" END("frames_first"));
__asm__(ALIGN BEGIN("calls_register") "movq %rsi, %rax\n\t" CALL("*%rax") ROOM
        "ret\n\t" END("calls_register"));
__asm__(ALIGN BEGIN("calls_high_register") PUSH("r12") "movq %rsi, %r12\n\t" CALL("*%r12")
            POP("r12") ROOM "ret\n\t" END("calls_high_register"));
__asm__(ALIGN BEGIN("calls_memory") LOWER CALL("*pointer(%rip)") HIGHER ROOM
        "ret\n\t" END("calls_memory"));
__asm__(ALIGN BEGIN("calls_table") LOWER CALL("*(%rdx)") HIGHER ROOM "ret\n\t" END("calls_table"));
__asm__(ALIGN BEGIN("branches_then_calls") "testq %rdi, %rdi\n\tjz 1f\n\t" CALL("leaf") ROOM
        "ret\n1:\tmovl $5, %eax\n\tret\n\t" END("branches_then_calls"));

/* -- entries without calls -- */
__asm__(ALIGN BEGIN("branches_early") "testq %rdi, %rdi\n\tjz 1f\n\tleaq 3(%rdi), %rax\n\t" ROOM
                                      "ret\n1:\tmovl $5, %eax\n\tret\n\t" END("branches_early"));
__asm__(ALIGN BEGIN("frames") FRAME
        "pushq %rbx\n\t.cfi_offset %rbx, -24\n\t"
        "leaq 1(%rdi), %rbx\n\tsubq $8, %rsp\n\t" ROOM
        "movq %rbx, %rdi\n\t" CALL("leaf") "movq -8(%rbp), %rbx\n\t.cfi_restore %rbx\n\t" LEAVE
                                           "ret\n\t" END("frames"));
__asm__(ALIGN BEGIN("is_short") "leaq 1(%rdi), %rax\n\tret\n\t" END("is_short"));
__asm__(ALIGN BEGIN("leaf") "leaq 2(%rdi), %rax\n\tnop\n\tnop\n\tret\n\t" END("leaf"));
/* Nothing but the return, with room behind it. */
__asm__(ALIGN BEGIN("returns") "ret\n\t" END("returns"));

/* -- exits; none has room behind it -- */
__asm__(ALIGN BEGIN("pops_last") PUSH("rbx") PUSH("r13") PUSH("r14") LOWER
        "leaq 1(%rdi), %rax\n\t" ROOM HIGHER POP("r14") POP("r13")
            POP("rbx") "ret\n\t" END("pops_last"));
__asm__(BEGIN("leaves_last") FRAME "leaq 1(%rdi), %rax\n\t" ROOM "xorl %edx, %edx\n\t" LEAVE
                                   "ret\n\t" END("leaves_last"));
__asm__(BEGIN("jumps_last") LOWER ROOM "incq %rdi\n\t" HIGHER
                                       ".byte 0xe9\n\t.long leaf - . - 4\n\t" END("jumps_last"));
__asm__(BEGIN("jumps_by_register") LOWER ROOM "movq %rsi, %rax\n\t" HIGHER
                                              "jmp *%rax\n\t" END("jumps_by_register"));
__asm__(
    BEGIN("jumps_maybe") "leaq 4(%rdi), %rdi\n\t" ROOM "testq $4, %rdi\n\t"
                         ".byte 0x0f, 0x84\n\t.long leaf - . - 4\n\tmovl $9, %eax\n\tret\n\t" END(
                             "jumps_maybe"));
__asm__(BEGIN("jumps_maybe_near") "leaq 4(%rdi), %rdi\n\t" ROOM
                                  "incq %rdi\n\ttestq $4, %rdi\n\tjz near_leaf\n\tmovl $9, "
                                  "%eax\n\tret\n\t" END("jumps_maybe_near"));
__asm__(BEGIN("near_leaf") "leaq 2(%rdi), %rax\n\t" ROOM "ret\n\t" END("near_leaf"));
/* Two ways to one return, which has no window: each of them is one, or has a host. */
__asm__(ALIGN BEGIN("split") "testq %rdi, %rdi\n\tleaq 1(%rdi), %rax\n\tjz 1f\n\t" ROOM
                             "leaq (%rdi,%rdi), %rax\n\taddq $7, %rax\n1:\tret\n\t" END("split"));
/* The frame of what leads to the return is another one, up to it. */
__asm__(
    BEGIN("split_lower") "testq %rdi, %rdi\n\tleaq 1(%rdi), %rax\n\tjz 1f\n\t" ROOM
                         "pushq %rdi\n\t.cfi_adjust_cfa_offset 8\n\tincl %eax\n\t"
                         "popq %r8\n\t.cfi_adjust_cfa_offset -8\n1:\tret\n\t" END("split_lower"));
__asm__(BEGIN("hosted") "movq %rdi, %rax\n\t" PUSH("rbx") ROOM
        "testq %rdi, %rdi\n\t"
        "leaq 1(%rax), %rax\n\tleaq 1(%rax), %rax\n\tleaq 1(%rax), %rax\n\t"
        "leaq 1(%rax), %rax\n\t.p2align 4\n\tjz 1f\n\tincq %rax\n1:\t" POP("rbx") "ret\n\t" END(
            "hosted"));
/* The same with its frame gone before. */
__asm__(BEGIN("hosted_bare") "movq %rdi, %rax\n\t" ROOM
                             "leaq 1(%rax), %rax\n\tleaq 1(%rax), %rax\n\tleaq 1(%rax), %rax\n\t"
                             "testq %rdi, %rdi\n\tjz 1f\n\tincq %rax\n1:\tcltd\n\tret\n\t" END(
                                 "hosted_bare"));
__asm__(BEGIN("behind") ROOM "ret\n\t" END("behind"));

/* -- system calls: instructions in front, behind, both, and a number that is not known -- */
__asm__(ALIGN BEGIN("asks") "movl $110, %eax\n\tsyscall\n\tret\n\t" END("asks"));
__asm__(ALIGN BEGIN("asks_behind") "movq %rdi, %rax\n\tcmpq $7, %rdi\n\tjz 1f\n1:\tsyscall\n\t"
                                   "addq $1, %rax\n\tret\n\t" END("asks_behind"));
__asm__(ALIGN BEGIN("asks_pops")
            PUSH("rbx") "movq %rdi, %rax\n\tjmp 1f\n\tnop\n1:\tsyscall\n\t" POP(
                "rbx") "ret\n\t" ROOM END("asks_pops"));
__asm__(ALIGN BEGIN("asks_lowered") "movq %rdi, %rax\n\t" LOWER "syscall\n\t" HIGHER ROOM
                                    "ret\n\t" END("asks_lowered"));

typedef long function(long, void *, void *);
function calls_first, lowers_first, pushes_first, pushes_two, frames_first, calls_register,
    calls_high_register, calls_memory, calls_table, branches_then_calls, branches_early, frames,
    is_short, leaf, returns, pops_last, leaves_last, jumps_last, jumps_by_register, jumps_maybe,
    jumps_maybe_near, near_leaf, split, split_lower, hosted, hosted_bare, behind, asks, asks_behind,
    asks_pops, asks_lowered;

__attribute__((used)) function *pointer = leaf;

static function *const plain[] = {calls_first,
                                  lowers_first,
                                  pushes_first,
                                  pushes_two,
                                  frames_first,
                                  calls_register,
                                  calls_memory,
                                  calls_table,
                                  calls_high_register,
                                  branches_then_calls,
                                  branches_early,
                                  frames,
                                  is_short,
                                  leaf,
                                  pops_last,
                                  leaves_last,
                                  jumps_last,
                                  jumps_by_register,
                                  jumps_maybe,
                                  jumps_maybe_near,
                                  near_leaf,
                                  split,
                                  split_lower,
                                  hosted,
                                  hosted_bare};
static function *const asking[] = {asks, asks_behind, asks_pops, asks_lowered};

int main(void)
{
    function *table[] = {leaf};
    long sum = 0;
    for (long turn = 0; turn < 3; turn++)
        for (unsigned i = 0; i < sizeof plain / sizeof plain[0]; i++)
            sum = sum * 3 + plain[i](turn * 4, (void *)leaf, table);
    for (unsigned i = 0; i < sizeof asking / sizeof asking[0]; i++) /* getppid, of any number */
        sum += asking[i](SYS_getppid, NULL, NULL) >= getppid();
    returns(1, NULL, NULL);
    behind(1, NULL, NULL);
    printf("%ld\n", sum);
    return 0;
}

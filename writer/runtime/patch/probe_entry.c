/* Between a probe's stub and the hook. A stub has skipped the 128 bytes below the program's stack
 * pointer, put rdi there, and the function's address into rdi:
 *
 *     P        the return address of the function: the program's stack pointer
 *     P - 136  its rdi
 *     P - 144  back into the stub
 *     P - 224  all that a call may change, and rbp: rax, flags, rcx, rdx, rsi, r8 .. r11, rbp
 *
 * Flags are kept in rax (lahf, seto): cheaper than pushf. The vector registers are not touched (the
 * runtime is compiled so). Who calls the function may have left the stack unaligned. */
#include "writer/runtime/patch/probe.h"

#define PUSH(name) "pushq %" name "\n\t.cfi_adjust_cfa_offset 8\n\t.cfi_rel_offset %" name ", 0\n\t"
#define POP(name)  "popq %" name "\n\t.cfi_adjust_cfa_offset -8\n\t.cfi_restore %" name "\n\t"

#define ENTRY(name, hook)                                                                          \
    ".p2align 5\n\t.globl " name "\n\t.hidden " name "\n\t.type " name ", @function\n" name        \
    ":\n\t.cfi_startproc\n\t" PUSH(                                                                \
        "rax") "lahf\n\tseto %al\n\tpushq %rax\n\t"                                                \
               ".cfi_adjust_cfa_offset 8\n\t" PUSH("rcx") PUSH("rdx") PUSH("rsi") PUSH("r8")       \
                   PUSH("r9") PUSH("r10") PUSH("r11") PUSH(                                        \
                       "rbp") "movq %rsp, %rbp\n\t.cfi_def_cfa_register %rbp\n\t"                  \
                              "leaq 224(%rbp), %rdx\n\tmovq (%rdx), %rsi\n\tandq $-16, "           \
                              "%rsp\n\tcall " hook "\n\t"                                          \
                              "movq %rbp, %rsp\n\t.cfi_def_cfa_register %rsp\n\t" POP("rbp")       \
                                  POP("r11") POP("r10") POP("r9") POP("r8") POP("rsi") POP("rdx")  \
                                      POP("rcx") "popq %rax\n\t.cfi_adjust_cfa_offset -8\n\t"      \
                                                 "addb $127, %al\n\tsahf\n\t" POP(                 \
                                                     "rax") "ret\n\t.cfi_endproc\n\t.size " name   \
                                                            ", . - " name "\n\t"

__asm__(".text\n\t" ENTRY("ttp_probe_enter_entry", "ttp_probe_enter")
            ENTRY("ttp_probe_exit_entry", "ttp_probe_exit"));

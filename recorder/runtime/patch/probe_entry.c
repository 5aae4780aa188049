/* Between a probe's stub and the hook. A stub has skipped the 128 bytes below the program's stack
 * pointer, put rdi there, and the function's address into rdi:
 *
 *     P        the program's stack pointer: the return address of the function, or where the frame
 *              ends that an inlined one is in
 *     P - 136  its rdi
 *     P - 144  back into the stub
 *     P - 224  all that a call may change, and rbp: rax, flags, rcx, rdx, rsi, r8 .. r11, rbp
 *
 * and where functions have values, the low halves of xmm0 to xmm7 from P - 288 on: they are read,
 * and not changed.
 *
 * Flags are kept in rax (lahf, seto): cheaper than pushf. The vector registers are not touched (the
 * runtime is compiled so). Who calls the function may have left the stack unaligned.
 *
 * Unwinders find the function itself as the caller, at the instruction that its window has come to,
 * as if that had been interrupted: debuggers do not know stubs. With the stub's address in r,
 *
 *     r = (the word at P - 144) & -128;  rip = the word at r + the byte at r + 11
 */
#include "recorder/runtime/patch/probe.h"

#define PUSH(name) "pushq %" name "\n\t.cfi_adjust_cfa_offset 8\n\t.cfi_rel_offset %" name ", 0\n\t"
#define POP(name)  "popq %" name "\n\t.cfi_adjust_cfa_offset -8\n\t.cfi_restore %" name "\n\t"

/* rip: const2s -144; plus; deref; const1s -128; and; dup; deref; swap; + 11; deref 1; plus */
#define CALLER                                                                                     \
    ".cfi_signal_frame\n\t.cfi_def_cfa %rsp, 144\n\t.cfi_offset %rdi, -136\n\t"                    \
    ".cfi_escape 0x16, 0x10, 16, 0x0b, 0x70, 0xff, 0x22, 0x06, 0x09, 0x80, 0x1a, 0x12, 0x06, "     \
    "0x16, 0x23, 11, 0x94, 1, 0x22\n\t"

#define ENTRY(name, hook) ENTRY_WITH(name, "", hook)
#define ENTRY_WITH(name, more, hook)                                                               \
    ".p2align 5\n\t.globl " name "\n\t.hidden " name "\n\t.type " name ", @function\n" name        \
    ":\n\t.cfi_startproc simple\n\t" CALLER PUSH(                                                  \
        "rax") "lahf\n\tseto %al\n\tpushq %rax\n\t"                                                \
               ".cfi_adjust_cfa_offset 8\n\t" PUSH("rcx") PUSH("rdx") PUSH("rsi") PUSH("r8")       \
                   PUSH("r9") PUSH("r10") PUSH("r11") PUSH(                                        \
                       "rbp") "movq %rsp, %rbp\n\t.cfi_def_cfa_register %rbp\n\t"                  \
                              "leaq 224(%rbp), %rdx\n\tmovq (%rdx), %rsi\n\t" more "andq $-16, "   \
                              "%rsp\n\tcall " hook "\n\t"                                          \
                              "movq %rbp, %rsp\n\t.cfi_def_cfa_register %rsp\n\t" POP("rbp")       \
                                  POP("r11") POP("r10") POP("r9") POP("r8") POP("rsi") POP("rdx")  \
                                      POP("rcx") "popq %rax\n\t.cfi_adjust_cfa_offset -8\n\t"      \
                                                 "addb $127, %al\n\tsahf\n\t" POP(                 \
                                                     "rax") "ret\n\t.cfi_endproc\n\t.size " name   \
                                                            ", . - " name "\n\t"

#define KEEP(number, below) "movsd %xmm" #number ", -" #below "(%rbp)\n\t"
#define FLOATS                                                                                     \
    "subq $64, %rsp\n\t" KEEP(0, 64) KEEP(1, 56) KEEP(2, 48) KEEP(3, 40) KEEP(4, 32) KEEP(5, 24)   \
        KEEP(6, 16) KEEP(7, 8)

__asm__(".text\n\t" ENTRY("ttp_probe_enter_entry", "ttp_probe_enter")
            ENTRY("ttp_probe_exit_entry", "ttp_probe_exit")
                ENTRY("ttp_probe_joined_entry", "ttp_probe_joined")
                    ENTRY("ttp_probe_inlined_entry", "ttp_probe_inlined")
                        ENTRY("ttp_library_enter_entry", "ttp_library_enter")
                            ENTRY("ttp_library_exit_entry", "ttp_library_exit")
                                ENTRY("ttp_probe_tail_entry", "ttp_probe_tail")
                                    ENTRY("ttp_probe_joined_tail_entry", "ttp_probe_joined_tail")
                                        ENTRY_WITH("ttp_probe_enter_valued_entry", FLOATS,
                                                   "ttp_probe_enter_valued")
                                            ENTRY_WITH("ttp_probe_exit_valued_entry", FLOATS,
                                                       "ttp_probe_exit_valued"));

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
 * and not changed. Of marks those of xmm0 to xmm15 from P - 352 on, and below them rbx, r12 to r15.
 *
 * Flags are kept in rax (lahf, seto): cheaper than pushf. The vector registers are not touched (the
 * runtime is compiled so). Who calls the function may have left the stack unaligned.
 *
 * Unwinders find the function itself as the caller, at the instruction that its window has come to,
 * as if that had been interrupted: debuggers do not know stubs. With the stub's address in r,
 *
 *     r = (the word at P - 144) & -128;  rip = the word at r + the byte at r + 11
 *
 * P - 144 is so far above the stack pointer as was pushed, which is said anew behind each push and
 * pop: the rule has only operations that all unwinders know, valgrind's among them.
 */
#include "recorder/runtime/patch/probe.h"
#ifdef TTP_AGENT
#include "recorder/arena/agent_layout.h"
#endif

/* r, from a register and how far below P - 144 it is: breg; deref; const1s -128; and.
 * rip: r; deref; r; + 4; deref; const1u 56; shr; plus. */
#define FOUND(breg, below)                                                                         \
    breg ", ((" below ") & 127) | 128, (" below ") >> 7, 0x06, 0x09, 0x80, 0x1a, "
#define CALLER_AT(breg, below)                                                                     \
    ".cfi_escape 0x16, 0x10, 22, " FOUND(breg, below) "0x06, " FOUND(                              \
        breg, below) "0x23, 4, 0x06, 0x08, 56, 0x25, 0x22\n\t"
#define CALLER(below) CALLER_AT("0x77", below)

#define PUSHED(more, below) ".cfi_adjust_cfa_offset " more "\n\t" CALLER(below)
#define PUSH(name, below)                                                                          \
    "pushq %" name "\n\t" PUSHED("8", below) ".cfi_rel_offset %" name ", 0\n\t"
#define POP(name, below) "popq %" name "\n\t" PUSHED("-8", below) ".cfi_restore %" name "\n\t"
#define FRAME                                                                                      \
    ".cfi_signal_frame\n\t.cfi_def_cfa %rsp, 144\n\t.cfi_offset %rdi, -136\n\t" CALLER("0")

#define SAVE SAVE_AND("", "", "")
#define SAVE_AND(then, with_rcx, with_r8)                                                          \
    PUSH("rax", "8")                                                                               \
    "lahf\n\tseto %al\n\tpushq %rax\n\t" PUSHED("8", "16") then PUSH("rcx", "24")                  \
        with_rcx PUSH("rdx", "32") PUSH("rsi", "40") PUSH("r8", "48") with_r8 PUSH("r9", "56")     \
            PUSH("r10", "64") PUSH("r11", "72") PUSH("rbp", "80")
#define RESTORE_RAX "popq %rax\n\t" PUSHED("-8", "8") "addb $127, %al\n\tsahf\n\t" POP("rax", "0")
#define RESTORE                                                                                    \
    POP("rbp", "72")                                                                               \
    POP("r11", "64")                                                                               \
    POP("r10", "56")                                                                               \
    POP("r9", "48")                                                                                \
    POP("r8", "40")                                                                                \
    POP("rsi", "32")                                                                               \
    POP("rdx", "24")                                                                               \
    POP("rcx", "16") RESTORE_RAX

#define ENTRY(name, hook)                  ENTRY_WITH(name, "", hook)
#define ENTRY_WITH(name, more, hook)       ENTRY_THEN(name, more, hook, "")
#define ENTRY_THEN(name, more, hook, then) ENTRY_BY(name, SAVE, more, hook, then, "")
#define ENTRY_BY(name, save, more, hook, then, behind)                                             \
    ".p2align 5\n\t.globl " name "\n\t.hidden " name "\n\t.type " name ", @function\n" name        \
    ":\n\t.cfi_startproc simple\n\t" FRAME save                                                    \
    "movq %rsp, %rbp\n\t.cfi_def_cfa_register %rbp\n\t" CALLER_AT(                                 \
        "0x76", "80") "leaq 224(%rbp), %rdx\n\tmovq (%rdx), %rsi\n\t" more                         \
                      "andq $-16, %rsp\n\tcall " hook "\n\t" then                                  \
                      "movq %rbp, %rsp\n\t.cfi_def_cfa_register %rsp\n\t" RESTORE "ret\n\t" behind \
                      ".cfi_endproc\n\t.size " name ", . - " name "\n\t"

#ifdef TTP_AGENT
/* The agent's two hot hooks are told where the thread's state may be, and not called while nothing
 * is recorded: rcx is the control block, r8 that place. The clock would wait for them, so they are
 * asked for as soon as they have a register. */
#define NUMBER(number) #number
#define TEXT(name)     NUMBER(name)
#define IS_OFF                                                                                     \
    ".cfi_remember_state\n\tcmpl $1, ttp_arena + " TEXT(TTP_AGENT_MODE_AT) "(%rip)\n\tjne 9f\n\t"
#define BLOCK "movq %fs:0, %rcx\n\tleaq ttp_agent_states(%rip), %rax\n\t"
#define PLACE                                                                                      \
    "movl %ecx, %r8d\n\tshrl $9, %r8d\n\taddl %ecx, %r8d\n\tandl $" TEXT(                          \
        TTP_AGENT_HASHED) ", %r8d\n\taddq %rax, %r8\n\t"
#define WAY_BACK ".cfi_restore_state\n9:\n\t" RESTORE_RAX "ret\n\t"
#define HOT_ENTRY(name, hook, agent_hook)                                                          \
    ENTRY_BY(name, SAVE_AND(IS_OFF, BLOCK, PLACE), "", agent_hook, "", WAY_BACK)
#else
#define HOT_ENTRY(name, hook, agent_hook) ENTRY(name, hook)
#endif

#define KEEP(number, below) "movsd %xmm" #number ", -" #below "(%rbp)\n\t"
#define FLOATS                                                                                     \
    "subq $64, %rsp\n\t" KEEP(0, 64) KEEP(1, 56) KEEP(2, 48) KEEP(3, 40) KEEP(4, 32) KEEP(5, 24)   \
        KEEP(6, 16) KEEP(7, 8)

/* All that a mark's values may be in: xmm0 to xmm15, rbx, r12 to r15. */
#define KEEP_WORD(name, below) "movq %" #name ", -" #below "(%rbp)\n\t"
#define ALL                                                                                        \
    "subq $176, %rsp\n\t" KEEP(0, 128) KEEP(1, 120) KEEP(2, 112) KEEP(3, 104) KEEP(4, 96)          \
        KEEP(5, 88) KEEP(6, 80) KEEP(7, 72) KEEP(8, 64) KEEP(9, 56) KEEP(10, 48) KEEP(11, 40)      \
            KEEP(12, 32) KEEP(13, 24) KEEP(14, 16) KEEP(15, 8) KEEP_WORD(rbx, 136)                 \
                KEEP_WORD(r12, 144) KEEP_WORD(r13, 152) KEEP_WORD(r14, 160) KEEP_WORD(r15, 168)

__asm__(".text\n\t" HOT_ENTRY("ttp_probe_enter_entry", "ttp_probe_enter", "ttp_agent_enter")
            HOT_ENTRY("ttp_probe_exit_entry", "ttp_probe_exit",
                      "ttp_agent_exit") ENTRY("ttp_probe_joined_entry", "ttp_probe_joined")
                ENTRY("ttp_probe_inlined_entry",
                      "ttp_probe_inlined") ENTRY("ttp_library_enter_entry", "ttp_library_enter")
                    ENTRY("ttp_library_exit_entry", "ttp_library_exit")
                        ENTRY("ttp_probe_tail_entry", "ttp_probe_tail")
                            ENTRY("ttp_probe_joined_tail_entry", "ttp_probe_joined_tail")
                                ENTRY_WITH("ttp_probe_enter_valued_entry", FLOATS,
                                           "ttp_probe_enter_valued")
                                    ENTRY_WITH("ttp_probe_exit_valued_entry", FLOATS,
                                               "ttp_probe_exit_valued")
                                        ENTRY_WITH("ttp_probe_mark_entry", ALL, "ttp_probe_mark"));

#ifndef TTP_AGENT
__asm__(".text\n\t" ENTRY_WITH("ttp_library_enter_floats_entry", FLOATS, "ttp_library_enter")
            ENTRY_WITH("ttp_library_exit_floats_entry", FLOATS, "ttp_library_exit"));
#endif

#ifdef TTP_AGENT
/* What unwinders ask is answered in its place where the code is ours: as if it returned 0. */
__asm__(".text\n\t" ENTRY_THEN(
    "ttp_agent_answer_entry", "", "ttp_agent_answer",
    "testb %al, %al\n\tjnz ttp_agent_found\n\t") ".type ttp_agent_found, "
                                                 "@function\nttp_agent_found:\n\t.cfi_startproc\n\t"
                                                 ".cfi_def_cfa %rbp, 232\n\t.cfi_offset %rbp, "
                                                 "-232\n\t"
                                                 "movq %rbp, %rsp\n\tpopq %rbp\n\t"
                                                 ".cfi_def_cfa %rsp, 224\n\t.cfi_restore %rbp\n\t"
                                                 "leaq 216(%rsp), %rsp\n\t.cfi_def_cfa_offset 8\n\t"
                                                 "xorl %eax, %eax\n\tret\n\t.cfi_endproc\n\t"
                                                 ".size ttp_agent_found, . - ttp_agent_found\n");
#endif

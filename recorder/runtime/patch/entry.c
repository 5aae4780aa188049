/* Between a stub and our C code: all registers but rcx and r11, which a system call overwrites, and
 * the flags are as they were; the 128 bytes below the stack pointer are the program's. The vector
 * registers are not touched (the runtime is compiled so).
 *
 * A stub comes with where to go on in r11 (enter) or rcx (exit). Unwinders find their way from here
 * to the stub, and from there by the area's description (decide/call_stubs.c), which they get from
 * _dl_find_object: ours is in front of the loader's. */
#include "recorder/runtime/loader/lookup.h"
#include "recorder/runtime/patch/patch.h"

#define PUSH(name) "pushq %" name "\n\t.cfi_adjust_cfa_offset 8\n\t.cfi_rel_offset %" name ", 0\n\t"
#define POP(name)  "popq %" name "\n\t.cfi_adjust_cfa_offset -8\n\t.cfi_restore %" name "\n\t"

/* rsp + 128 is the program's; then: where to go on, rax, flags, and as in ttp_call_registers. Each
 * instruction says where the registers are: a signal may come at any. */
#define SAVE(way)                                                                                  \
    ".cfi_startproc simple\n\t.cfi_def_cfa %rsp, 0\n\t.cfi_register %rip, " way "\n\t"             \
    "leaq -128(%rsp), %rsp\n\t.cfi_adjust_cfa_offset 128\n\t"                                      \
    "pushq " way "\n\t.cfi_adjust_cfa_offset 8\n\t.cfi_rel_offset %rip, 0\n\t" PUSH(               \
        "rax") "lahf\n\tseto %al\n\tpushq %rax\n\t.cfi_adjust_cfa_offset 8\n\t"                    \
               "movq 8(%rsp), %rax\n\t.cfi_restore %rax\n\t" PUSH("rbp") PUSH("rax") PUSH("rdi")   \
                   PUSH("rsi") PUSH("rdx") PUSH("r10") PUSH("r8")                                  \
                       PUSH("r9") "leaq 56(%rsp), %rbp\n\t.cfi_def_cfa %rbp, 160\n\t"              \
                                  "leaq 160(%rbp), %rsi\n\t"                                       \
                                  "movq " way ", %rdx\n\tandq $-256, %rdx\n\t"

#define RESTORE(way)                                                                               \
    "leaq -56(%rbp), %rsp\n\t.cfi_def_cfa %rsp, 216\n\t" POP("r9") POP("r8") POP("r10") POP("rdx") \
        POP("rsi") POP("rdi") "popq %rax\n\t.cfi_adjust_cfa_offset -8\n\t"                         \
                              ".cfi_rel_offset %rax, 16\n\t" POP(                                  \
                                  "rbp") "popq %rax\n\t.cfi_adjust_cfa_offset -8\n\t"              \
                                         "addb $127, %al\n\tsahf\n\t" POP(                         \
                                             "rax") "popq " way                                    \
                                                    "\n\t.cfi_adjust_cfa_offset -8\n\t"            \
                                                    ".cfi_register %rip, " way "\n\t"              \
                                                    "leaq 128(%rsp), %rsp\n\t"                     \
                                                    ".cfi_adjust_cfa_offset -128\n\t"              \
                                                    "jmp *" way "\n\t.cfi_endproc\n\t"

__asm__(
    ".text\n\t.p2align 5\n\t"
    ".globl ttp_stub_enter\n\t.hidden ttp_stub_enter\n\t.type ttp_stub_enter, @function\n"
    "ttp_stub_enter:\n\t" SAVE(
        "%r11") "movq %rsp, %rdi\n\tandq $-16, %rsp\n\t"
                "call ttp_call_enter\n\t" RESTORE(
                    "%r11") ".size ttp_stub_enter, . - ttp_stub_enter\n\t"
                            ".p2align 5\n\t"
                            ".globl ttp_stub_exit\n\t.hidden ttp_stub_exit\n\t.type "
                            "ttp_stub_exit, @function\n"
                            "ttp_stub_exit:\n\t" SAVE(
                                "%rcx") "movq %rax, %rdi\n\tmovq %rsp, %rcx\n\tandq $-16, %rsp\n\t"
                                        "call ttp_call_exit\n\t" RESTORE(
                                            "%rcx") ".size ttp_stub_exit, . - ttp_stub_exit\n");

#if defined(TTP_RUNTIME_SHARED) && defined(DLFO_STRUCT_HAS_EH_DBASE)
static int (*real_find_object)(void *, struct dl_find_object *);

void ttp_unwind_begin(void) { *(void **)&real_find_object = ttp_next_function("_dl_find_object"); }

/* Before glibc 2.35 they look for nothing but what the loader has mapped. */
bool ttp_unwinders_ask(void) { return real_find_object != NULL; }

TTP_EXPORT int _dl_find_object(void *code, struct dl_find_object *result)
{
    ttp_doubt_frames((uintptr_t)__builtin_return_address(0));
    const struct ttp_area *area = ttp_area_of((uintptr_t)code);
    if (area == NULL) {
        int failed = real_find_object == NULL ? -1 : real_find_object(code, result);
        if (failed == 0)
            ttp_doubt_table((uintptr_t)result->dlfo_map_start, (uintptr_t)result->dlfo_map_end,
                            result->dlfo_eh_frame);
        return failed;
    }
    *result = (struct dl_find_object){.dlfo_map_start = (void *)area->start,
                                      .dlfo_map_end = (void *)area->end,
                                      .dlfo_eh_frame = (void *)(uintptr_t)area->unwind_head};
    return 0;
}
#else
void ttp_unwind_begin(void) {}
bool ttp_unwinders_ask(void) { return true; }
#endif

/* Between a stub and our C code: all registers but rcx and r11, which a system call overwrites, and
 * the flags are as they were; the 128 bytes below the stack pointer are the program's. The vector
 * registers are not touched (the runtime is compiled so).
 *
 * A stub comes with where to go on in r11 (enter) or rcx (exit). Unwinders find their way from here
 * to the stub, and from there by the area's description (stubs.c), which they get from
 * _dl_find_object: ours is in front of the loader's. */
#include "writer/runtime/loader/lookup.h"
#include "writer/runtime/patch/patch.h"

/* rsp + 128 is the program's; then: where to go on, rax, flags, and as in ttp_call_registers. */
#define SAVE(way)                                                                                  \
    ".cfi_startproc simple\n\t.cfi_def_cfa %rsp, 0\n\t.cfi_register %rip, " way "\n\t"             \
    "leaq -128(%rsp), %rsp\n\t.cfi_def_cfa_offset 128\n\t"                                         \
    "pushq " way "\n\t.cfi_def_cfa_offset 136\n\t.cfi_offset %rip, -136\n\t"                       \
    "pushq %rax\n\tlahf\n\tseto %al\n\tpushq %rax\n\tmovq 8(%rsp), %rax\n\t"                       \
    "pushq %rbp\n\t.cfi_def_cfa_offset 160\n\t.cfi_offset %rbp, -160\n\t"                          \
    "pushq %rax\n\tpushq %rdi\n\tpushq %rsi\n\tpushq %rdx\n\tpushq %r10\n\tpushq %r8\n\t"          \
    "pushq %r9\n\t"                                                                                \
    "leaq 56(%rsp), %rbp\n\t.cfi_def_cfa %rbp, 160\n\t"                                            \
    "leaq 160(%rbp), %rsi\n\t"                                                                     \
    "movq " way ", %rdx\n\tandq $-256, %rdx\n\t"

#define RESTORE(way)                                                                               \
    "leaq -56(%rbp), %rsp\n\t"                                                                     \
    "popq %r9\n\tpopq %r8\n\tpopq %r10\n\tpopq %rdx\n\tpopq %rsi\n\tpopq %rdi\n\tpopq %rax\n\t"    \
    "popq %rbp\n\t.cfi_def_cfa %rsp, 152\n\t.cfi_restore %rbp\n\t"                                 \
    "popq %rax\n\taddb $127, %al\n\tsahf\n\tpopq %rax\n\t"                                         \
    "popq " way "\n\t.cfi_def_cfa_offset 128\n\t.cfi_register %rip, " way "\n\t"                   \
    "leaq 128(%rsp), %rsp\n\t.cfi_def_cfa_offset 0\n\t"                                            \
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
    const struct ttp_area *area = ttp_area_of((uintptr_t)code);
    if (area == NULL)
        return real_find_object == NULL ? -1 : real_find_object(code, result);
    *result = (struct dl_find_object){.dlfo_map_start = (void *)area->start,
                                      .dlfo_map_end = (void *)area->end,
                                      .dlfo_eh_frame = (void *)(uintptr_t)area->unwind_head};
    return 0;
}
#else
void ttp_unwind_begin(void) {}
bool ttp_unwinders_ask(void) { return true; }
#endif

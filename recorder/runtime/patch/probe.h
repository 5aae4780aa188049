/* Functions that are entered and left at places that the runtime has patched, by the module's patch
 * plan (arena/patch_plan.h).
 *
 *     code:  jmp --> stub:  lea -128(%rsp); push %rdi; lea function; call *enter; pop; lea 128
 *                           moved instructions;  jmp --> code
 *
 *     area of a module, near its code:  a page of data | stubs of 128 bytes
 *
 * No return address is replaced, and the stub's call returns where it was made: who unwinds finds
 * the program's own addresses, and returns are predicted. */
#ifndef TTP_RUNTIME_PROBE_H
#define TTP_RUNTIME_PROBE_H

#include "recorder/arena/patch_plan.h"
#include "recorder/runtime/patch/code_put.h"
#include "recorder/runtime/patch/patch.h"

#define TTP_PROBE_BYTES    128u
#define TTP_PROBE_HEAD     16u
#define TTP_PROBE_CODE     (TTP_PROBE_BYTES - TTP_PROBE_HEAD)
#define TTP_PROBE_TARGET   (TTP_PROBE_CODE - 8u)
#define TTP_PROBE_HOOK     28u /* bytes of a stub in which the stack pointer may be lower */
#define TTP_PROBE_MIDDLE   TTP_PROBE_BYTES
#define TTP_PROBE_DISTANCE (2u * TTP_PROBE_MIDDLE)

/* The head is what unwinding reads: stubs are aligned to their size. The last word, behind all
 * code, is what a moved call pushes, or says where an exit's jump leads (frames/tail_target.c). */
struct ttp_probe_stub {
    uint64_t window; /* where the window is in memory, less TTP_PROBE_HEAD */
    uint8_t hook_at; /* in the stub: its bytes from there on are the hook's */
    uint8_t
        lower_at; /* from this byte on a return address has been pushed; TTP_PROBE_BYTES: none */
    uint8_t last; /* beyond this byte of the stub no place stands for one of the window */
    uint8_t hook_for;                      /* the byte that the hook stands for */
    uint32_t data_below : 31, is_used : 1; /* the area's data is that far below the stub */
    uint8_t code[TTP_PROBE_CODE];
};

/* By (place in the stub - hook_at + TTP_PROBE_MIDDLE): how far the hook's bytes have the stack
 * pointer below the program's, and how many bytes of the stub so far are none of the window's.
 * Read-only in use. */
struct ttp_probe_data {
    uint64_t enter, exit, tail, joined, joined_tail, inlined, enter_valued, exit_valued;
    uint64_t module_start, module_bytes; /* whose functions these are */
    uint64_t bias;
    const struct ttp_values_head *values; /* NULL: none */
    uint8_t lower[TTP_PROBE_DISTANCE], added[TTP_PROBE_DISTANCE];
    uint8_t debugger[TTP_DEBUGGER_BYTES] __attribute__((aligned(8)));
    uint8_t unwind_head[TTP_UNWIND_HEAD_BYTES], unwind[TTP_UNWIND_BYTES];
};

/* What there is to know of one probe. */
struct ttp_probe_site {
    const struct ttp_patch_probe *probe;
    struct ttp_moved moved;
    uint64_t function; /* its address in memory */
    uint64_t back;     /* where an entry or a conditional jump goes on */
    uint64_t target;   /* of a jump to another function */
    bool has_values;   /* of what it is given, or returns */
};

/* probe_stubs.c: false: it does not fit, or is too far away. */
bool ttp_probe_stub_make(struct ttp_probe_stub *stub, const struct ttp_probe_data *data,
                         const struct ttp_probe_site *site);
void ttp_probe_data_fill(struct ttp_probe_data *data, uintptr_t stubs, size_t stub_bytes,
                         bool is_library);
/* What was interrupted in a stub, as it would have been in the program's own code. */
void ttp_probe_origin(const struct ttp_area *area, uint64_t *pc, uint64_t *sp);
/* The program's rdi there. */
uint64_t ttp_probe_rdi(const struct ttp_area *area, uint64_t pc, uint64_t sp, uint64_t rdi);
/* Where the stub that has `in_stub` does what the program's code has at `pc`, if that lies within
 * its window; pc, where it goes on in the program's code. */
uint64_t ttp_probe_place(uint64_t in_stub, uint64_t pc);
uint64_t ttp_probe_place_any(const struct ttp_area *area, uint64_t pc); /* of all its stubs */

/* probe_entry.c: what stubs call; all registers and flags stay as they are. */
void ttp_probe_enter_entry(void);
void ttp_probe_exit_entry(void);
void ttp_probe_joined_entry(void);
void ttp_probe_inlined_entry(void);
void ttp_library_enter_entry(void);
void ttp_library_exit_entry(void);
void ttp_probe_tail_entry(void);
void ttp_probe_joined_tail_entry(void);
void ttp_probe_enter_valued_entry(void);
void ttp_probe_exit_valued_entry(void);

/* What they put aside, in words below the return address (probe_entry.c); vector registers where
 * functions have values only. */
enum ttp_probe_saved {
    TTP_SAVED_RDI = 17,
    TTP_SAVED_STUB, /* back into the stub */
    TTP_SAVED_RAX,
    TTP_SAVED_RCX = 21,
    TTP_SAVED_RDX,
    TTP_SAVED_RSI,
    TTP_SAVED_R8,
    TTP_SAVED_R9,
    TTP_SAVED_R10,
    TTP_SAVED_R11,
    TTP_SAVED_RBP,
    TTP_SAVED_XMM = 36 /* the first; the others lie above */
};
static inline uint64_t ttp_probe_saved(uintptr_t sp, uint32_t word)
{
    return ((const uint64_t *)sp)[-(int64_t)word];
}
/* The stub that has called the hook. */
static inline const struct ttp_probe_stub *ttp_probe_stub_of(uintptr_t sp)
{
    return (const struct ttp_probe_stub *)(ttp_probe_saved(sp, TTP_SAVED_STUB) &
                                           ~(uintptr_t)(TTP_PROBE_BYTES - 1));
}
static inline const struct ttp_probe_data *ttp_probe_data_of(uintptr_t sp)
{
    const struct ttp_probe_stub *stub = ttp_probe_stub_of(sp);
    return (const struct ttp_probe_data *)((uintptr_t)stub - stub->data_below);
}
/* frames/tail_target.c: of a jump of that module, which is the moved code [from, to): a word that
 * says how it is found where that leads. is_function: a function of the plan starts there, so that
 * it is none of the linker's stubs. 0: it is not known. */
uint64_t ttp_tail_target_of(const struct dl_phdr_info *info, const struct ttp_moved *moved,
                            uint32_t from, uint32_t to, bool is_function);
/* The address, by such a word, where the stub has called its hook. */
uintptr_t ttp_tail_target(uint64_t said, uintptr_t sp);
/* Where the jump leads that a function is left by; 0: it is not known. */
static inline uintptr_t ttp_probe_target(uintptr_t sp)
{
    const struct ttp_probe_stub *stub = ttp_probe_stub_of(sp);
    return ttp_tail_target(*(const uint64_t *)(stub->code + TTP_PROBE_TARGET), sp);
}

/* library_calls.c. What there is to see, by the executable, before anything is patched. */
void ttp_library_calls_look(const struct dl_phdr_info *program);
/* Patches what the executable calls of others, while there is one thread. */
void ttp_library_calls_begin(void);
/* What a module exports that begins there, before any of its code runs; whether any was patched. */
bool ttp_library_calls_loaded(uintptr_t start);

/* probe_plan.c: NULL: there is none that can be used. */
const struct ttp_patch_head *ttp_patch_plan_map(const uint8_t *content);
/* Of copies of inlined functions that are chosen. */
const struct ttp_patch_head *ttp_inlined_plan_map(const uint8_t *content, const char *path);
void ttp_patch_plan_unmap(const struct ttp_patch_head *plan);
/* The place of the function that an address is in, by its main piece; that starts there. The plan's
 * function_count: there is none. */
uint32_t ttp_patch_function_around(const struct ttp_patch_head *plan, uint64_t address);
uint32_t ttp_patch_function_at(const struct ttp_patch_head *plan, uint64_t start);
/* Behind its head a bit for each function, unless none is chosen. `path`: of the module. */
const struct ttp_chosen_head *ttp_chosen_map(const uint8_t *content, const char *path);
bool ttp_chosen_is_of(const struct ttp_chosen_head *chosen, const struct ttp_patch_head *plan);
void ttp_chosen_unmap(const struct ttp_chosen_head *chosen);
/* What chosen functions of the plan are given and return. */
const struct ttp_values_head *ttp_values_map(const uint8_t *content, const char *path,
                                             const struct ttp_patch_head *plan);
/* Of the function that starts there; NULL: it has none. */
const struct ttp_values_row *ttp_values_row_of(const struct ttp_values_head *values,
                                               uint32_t start);
void ttp_values_unmap(const struct ttp_values_head *values);

/* probes.c: of one module, while no thread can be in its code and no signal is taken.
 * Whether any function was patched. */
struct ttp_probe_wish {
    const struct dl_phdr_info *info;
    const struct ttp_module_seen *module;
    const struct ttp_patch_head *plan;
    const struct ttp_chosen_head *chosen;
    const char *path; /* of the module */
    bool is_library;  /* its functions are recorded where the executable calls them */
    const struct ttp_patch_head *inlined; /* or NULL */
    const struct ttp_values_head *values; /* or NULL; kept while the module's stubs are there */
    const struct ttp_plan_head *calls;    /* of system calls that were patched before; or NULL */
    long file;                            /* of the module */
};
bool ttp_probes_patch(const struct ttp_probe_wish *wish);

#endif

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
#include "recorder/runtime/patch/patch.h"

/* probe_places.c. What was interrupted in a stub, as it would have been in the program's code. */
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
void ttp_probe_mark_entry(void);
void ttp_library_enter_entry(void);
void ttp_library_exit_entry(void);
void ttp_library_enter_floats_entry(void); /* with xmm0 to xmm7 put aside, too */
void ttp_library_exit_floats_entry(void);
void ttp_probe_tail_entry(void);
void ttp_probe_joined_tail_entry(void);
void ttp_probe_enter_valued_entry(void);
void ttp_probe_exit_valued_entry(void);

/* probe_values.c. What a value of that type and size has of a register, as 64 bits. */
uint64_t ttp_value_narrow(uint64_t number, uint32_t type, uint32_t size_bytes);
/* What is in those places; `reads` as of ttp_value_places_read. */
void ttp_values_gather(struct ttp_call_values *values, const struct ttp_value_place *places,
                       uint32_t count, bool reads, uintptr_t sp);

/* What they put aside (enum ttp_probe_saved). */
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
/* frames/tail_target.c. The address, by a word of decide/tail_words.c, where the stub called its
 * hook. */
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

/* marks/marks.c. Static probes of a module's makers, which are patched as copies of inlined
 * functions are: each is a site of the API's, at the nop's address. NULL: there are none, or no
 * room. */
struct ttp_marks *ttp_marks_open(const struct ttp_marks_head *head, uint64_t bias);
void ttp_marks_close(struct ttp_marks *marks);
/* A jump is at that mark: the program is told that somebody looks. */
void ttp_marks_begin(struct ttp_marks *marks, const struct dl_phdr_info *info, uint32_t address);

/* probe_plan.c: NULL: there is none that can be used. */
const struct ttp_patch_head *ttp_patch_plan_map(const uint8_t *content);
void ttp_patch_plan_unmap(const struct ttp_patch_head *plan);
/* With its sections. `path`: of the module. */
const struct ttp_chosen_head *ttp_chosen_map(const uint8_t *content, const char *path);
bool ttp_chosen_is_of(const struct ttp_chosen_head *chosen, const struct ttp_patch_head *plan);
void ttp_chosen_unmap(const struct ttp_chosen_head *chosen);

/* probes.c: of one module, while no thread can be in its code and no signal is taken.
 * Whether any function was patched. */
struct ttp_probe_wish {
    const struct dl_phdr_info *info;
    const struct ttp_module_seen *module;
    const struct ttp_patch_head *plan;
    const struct ttp_chosen_head *chosen;
    const char *path;       /* of the module */
    const char *left_names; /* of chosen functions that have no window; or NULL */
    bool is_library;        /* its functions are recorded where the executable calls them */
    const struct ttp_patch_head *inlined; /* or NULL */
    const struct ttp_values_head *values; /* or NULL */
    const struct ttp_marks_head *marks;   /* or NULL */
    const struct ttp_plan_head *calls;    /* of system calls that were patched before; or NULL */
    long file;                            /* of the module */
    bool keeps_chosen; /* says the patching: stubs read the choice's values while they are there */
};
bool ttp_probes_patch(struct ttp_probe_wish *wish);

#endif

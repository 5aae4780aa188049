/* System calls, seen at their instructions: the runtime puts jumps into the code of the modules
 * that are mapped, by the plan that the tool has made of each (arena/plan.h).
 *
 *     code:  ... jmp --> stub: moved instructions | enter | syscall | exit | moved ... --> code
 *
 *     area of a module, near its code:  a page of data | stubs of 256 bytes
 *
 * A stub that has nothing to tell of its call's number does the same without enter and exit. */
#ifndef TTP_RUNTIME_PATCH_H
#define TTP_RUNTIME_PATCH_H

#include <link.h>

#include "recorder/arena/plan.h"
#include "recorder/runtime/decide/decide.h"
#include "recorder/runtime/slow.h"

#define TTP_AREAS 1024u

struct ttp_area {
    uintptr_t start, end; /* of stubs */
    uintptr_t module_start;
    uint64_t bias;
    const void *unwind_head;
    const struct ttp_plan_head *plan; /* of system calls; NULL: stubs of functions (probe.h) */
    uint64_t slot_distance; /* of slots (breakpoints/slots.h), which have no stubs; else 0 */
};

/* module_file.c. The file that a module is mapped from, and what its plans are called by. */
struct ttp_module_file {
    long file; /* open; negative: it cannot be had, as it was replaced or removed */
    struct ttp_plan_stamp stamp;
    uint8_t content[TTP_PLAN_CONTENT_BYTES]; /* where ttp_module_file_known */
};
void ttp_module_file_open(struct ttp_module_file *of, const struct ttp_module_seen *module,
                          const char *path);
void ttp_module_file_close(struct ttp_module_file *of);
/* False: it is the kernel's own. A name that is no path is looked up. path: of PATH_MAX bytes. */
bool ttp_module_path(const struct dl_phdr_info *info, const struct ttp_module_seen *module,
                     char *path);
/* Whether the folder of plans knows what is in it. */
bool ttp_module_file_known(struct ttp_module_file *of);

/* plan_map.c. The path of a file in the folder of plans, by bytes that name it; false: there is no
 * folder. */
#define TTP_PLAN_PATH_BYTES                                                                        \
    (TTP_ARENA_FOLDER_BYTES + sizeof("/" TTP_PLAN_FOLDER "/") +                                    \
     2 * sizeof(struct ttp_plan_stamp) + 32u)
bool ttp_plan_path(char *path, const uint8_t *bytes, uint32_t count, const char *suffix);
/* NULL: it is not there, not the recorder's, or too large. */
const void *ttp_plan_file_map(const char *path, uint64_t bytes_max, uint64_t *size_bytes);
void ttp_plan_file_unmap(const void *file, uint64_t size_bytes);
/* NULL: there is none that can be used. */
const struct ttp_plan_head *ttp_plan_map(const uint8_t content[TTP_PLAN_CONTENT_BYTES]);
/* Calls `is_there` with what is in the module's file until that has what it wants. The
 * recorder makes plans where there are none; flags: TTP_NOTE_* of what is wanted. Bounded:
 * plan_wait.c. */
bool ttp_plan_wait(struct ttp_module_file *of, const char *path, uint32_t flags,
                   bool (*is_there)(void *context, const uint8_t *content), void *context);
/* seen_modules.c: NULL, false: there is none, no room. */
struct ttp_seen_module {
    uint64_t start, end, bias;
    const struct ttp_plan_head *plan; /* NULL: there is none */
    bool is_gone;
    bool is_own;    /* the runtime's: its frames are in no path */
    bool is_missed; /* it was loaded, and not noticed; or it is just being loaded */
};
const struct ttp_seen_module *ttp_seen_module_at(uint64_t address);
bool ttp_seen_module_add(const struct ttp_module_seen *module, uint64_t bias,
                         const struct ttp_plan_head *plan, bool is_start);
void ttp_seen_module_own(uint64_t start);
bool ttp_seen_module_miss(const struct ttp_module_seen *module);
bool ttp_seen_module_unmiss(const struct ttp_module_seen *module); /* false: it was not missed */
/* The plan of a module that was gone, and is in the same place again, with that content. */
const struct ttp_plan_head *ttp_seen_module_again(const struct ttp_module_seen *module,
                                                  uint64_t bias,
                                                  const uint8_t content[TTP_PLAN_CONTENT_BYTES]);
void ttp_seen_modules_gone(uint64_t start, uint64_t bytes); /* that begin there */
uint32_t ttp_seen_modules_gone_count(void);

/* stub_places.c. What is at a place of a stub, as the program would have had it; and back, as
 * ttp_probe_place. */
uint64_t ttp_stub_origin(const struct ttp_area *area, uint64_t pc);
uint64_t ttp_stub_place(const struct ttp_area *area, uint64_t in_stub, uint64_t pc);
uint64_t ttp_stub_place_any(const struct ttp_area *area, uint64_t pc); /* of all the area's stubs */

/* entry.c */
void ttp_stub_enter(void);
void ttp_stub_exit(void);

/* calls.c: what a stub calls. */
struct ttp_call_registers {
    uint64_t r9, r8, r10, rdx, rsi, rdi, rax, rbp;
};
void ttp_call_enter(const struct ttp_call_registers *registers, uintptr_t sp,
                    const struct ttp_stub *stub);
void ttp_call_exit(uint64_t result, uintptr_t sp, const struct ttp_stub *stub,
                   const struct ttp_call_registers *registers);

/* Whether the thread waited in a call when it was attached to, which is its first frame then. */
#ifdef TTP_AGENT
bool ttp_call_was_open(uintptr_t sp); /* agent_threads.c */
#else
static inline bool ttp_call_was_open(uintptr_t sp)
{
    (void)sp;
    return false;
}
#endif

/* call_texts.c: what arguments point to. A thread has one; a handler that finds it in use does
 * without, and records addresses. */
struct ttp_call_texts {
    uint64_t user_sp; /* 0: nobody uses it */
    uint64_t call_sp; /* of the last call that fills a buffer, and which it is */
    uint32_t call_number;
    uint32_t used;                  /* of bytes */
    uint32_t types[TTP_VALUES_MAX]; /* of values with bytes; TTAPE_VALUE_UNSIGNED: none */
    uint32_t at[TTP_VALUES_MAX], sizes[TTP_VALUES_MAX];
    uint64_t numbers[TTP_VALUES_MAX]; /* of values that ttp_call_values has no room for */
    uint8_t kinds[TTP_VALUES_MAX];
    uint8_t area[TTP_STRUCTURE_BYTES]; /* a structure, while its fields are taken */
    uint8_t bytes[2 * TTP_CALL_STRING_MAX + TTP_CALL_DATA_MAX];
};
struct ttp_call_texts *ttp_texts_of_thread(void); /* NULL: it has none */
/* Sets values->texts where there is something to read. */
void ttp_call_texts_given(struct ttp_call_values *values, uint32_t number, uintptr_t sp);
void ttp_call_texts_filled(struct ttp_call_values *values, const struct ttp_call_registers *r,
                           uintptr_t sp);

/* values/value_texts.c: the thread has them for one use, which user_sp 0 ends; NULL: there are
 * none, or they are in use. */
struct ttp_call_texts *ttp_texts_take(uintptr_t sp);
/* Of those values whose bits are set, which are addresses of strings. */
void ttp_call_texts_strings(struct ttp_call_values *values, uint32_t strings, uintptr_t sp);
/* Sets values->texts for so many values, of no system call; false: there is none to be had. */
bool ttp_call_texts_begin(struct ttp_call_values *values, uint32_t count, uintptr_t sp);
/* Value i is a string of the program's, which ends with a zero, or has that size; it stays a number
 * where nothing can be read. */
void ttp_call_text_read(struct ttp_call_texts *texts, uint32_t i, uint64_t from);
void ttp_call_text_sized(struct ttp_call_texts *texts, uint32_t i, uint64_t from, uint64_t size);
/* Value i is these bytes, up to TTP_STRUCTURE_BYTES. */
void ttp_call_text_keep(struct ttp_call_texts *texts, uint32_t i, uint32_t type,
                        const uint8_t *bytes, uint32_t size);
/* Value i is what stands behind the bytes that are used. */
void ttp_call_text_add(struct ttp_call_texts *texts, uint32_t i, uint32_t type, uint32_t size);
uint32_t ttp_call_text_length(const uint8_t *text, uint32_t count);
/* How many bytes of the program's memory there were; the page that ends it is read, too. */
uint32_t ttp_call_bytes_read(uint8_t *into, uint64_t from, uint32_t count);
bool ttp_call_word_read(uintptr_t at, uint64_t *word); /* false: there is no memory */
void ttp_call_texts_done(struct ttp_call_values *values);

/* Up to `most` bytes from there, hashed as spec/context.md says (it begins with TTP_HASH_FIRST);
 * false: there is no memory, or a handler's call is reading. */
#define TTP_HASH_FIRST UINT64_C(0xCBF29CE484222325)
bool ttp_call_bytes_hash(uint64_t from, uint32_t bytes, uintptr_t sp, uint64_t *hash);

/* call_counters.c: what a counter (enum ttp_value_counter) stands at; false: it is not known. */
bool ttp_value_count(uint32_t counter, uint64_t *count);
/* What the call at that stack pointer costs; its last value. */
void ttp_call_count_begins(uintptr_t sp);
void ttp_call_count_ends(struct ttp_call_values *values, uintptr_t sp);

/* context/context_lines.c: what is written to chosen descriptors. True: values have it. */
void ttp_call_line_begins(const struct ttp_call_registers *r, uintptr_t sp);
bool ttp_call_line_ended(struct ttp_call_values *values, const struct ttp_call_registers *r,
                         uintptr_t sp);

/* stack_walk.c: frames of the stack that led to a call, from memory that is the stack's. */
#define TTP_WALK_FRAMES 256u
#define TTP_WALK_WORDS  512u
struct ttp_walk {
    uint32_t frame_count, word_count;
    bool is_cut;                       /* there are more frames further out */
    bool is_whole;                     /* all words that were read are there */
    uint64_t frames[TTP_WALK_FRAMES];  /* innermost first */
    uint64_t words[TTP_WALK_WORDS][2]; /* that were read: where, and what was there */
};
void ttp_walk_stack(struct ttp_walk *walk, uint64_t after, uintptr_t sp, uintptr_t rbp);

/* call_paths.c: a call over one stack. */
struct ttp_path_site {
    uint64_t hash, key;
    uint64_t serial; /* of a thread that has announced it */
    uint32_t number, count;
    uint32_t gone_count; /* of modules, when its frames were found */
    bool is_cut;
    uint64_t frames[];
};
/* One use at a time of memory that a thread has one of. False: what a handler has interrupted uses
 * it. A use that was left by a jump is over. 0 in *user_sp ends it. */
bool ttp_use_begin(uint64_t *user_sp, uintptr_t sp);
void ttp_path_prepare(void); /* makes room, while it can be had */
/* NULL: there is no more room. */
struct ttp_path_site *ttp_path_of(uint32_t number, uint64_t after, uintptr_t sp, uintptr_t rbp);

/* patch.c. The loader of libraries, whose calls of mprotect and munmap are looked at: it makes a
 * module's pages read-only once its code is ready, and before any of it runs. */
bool ttp_is_loader(const struct ttp_stub *stub);
void ttp_loader_protects(uintptr_t start);
void ttp_loader_unmaps(uintptr_t start, size_t bytes);
static inline bool ttp_patches_modules(void)
{
    return ttp_arena.head.patch_choice != 0 &&
           (ttp_arena.head.patch_flags & TTP_PATCH_MODULES) != 0;
}

/* debugger.c: what debuggers know of an area, by its number: written before it is sealed. */
void ttp_debugger_prepare(const struct ttp_area *area);
void ttp_debugger_add(uint32_t number, const struct ttp_area *area);
void ttp_debugger_drop(uint32_t number);

/* areas.c */
const struct ttp_area *ttp_area_of(uintptr_t code); /* that has this stub, or NULL */
/* The address in a stub that does what the program's code has at `pc`, if that lies within a
 * window; pc: it does not. Looks at all stubs of the module. */
uint64_t ttp_area_place(uint64_t pc);
/* Its data cannot be written any more, and its stubs can be executed. */
bool ttp_area_seal(const struct ttp_area *area);
struct ttp_area *ttp_area_add(const struct ttp_area *area); /* NULL: no room */
void ttp_area_drop(struct ttp_area *area);                  /* its memory is the caller's */
/* The area of a module that begins there; plan: as the area has it. NULL: there is none. */
const struct ttp_area *ttp_area_with(uintptr_t module_start, const struct ttp_plan_head *plan);
/* Areas of functions' stubs, and their memory, of modules that begin there. */
void ttp_probe_areas_gone(uintptr_t start, size_t bytes);
/* Of a plan: what its stubs reach. */
struct ttp_reach {
    uint64_t bias;
    uint32_t code_start, code_end, fixup_count;
    const struct ttp_plan_fixup *fixups;
};
uintptr_t ttp_map_near(const struct ttp_module_seen *module, const struct ttp_reach *reach,
                       size_t bytes); /* 0: nowhere */

/* What plans of system calls are for here. */
struct ttp_calls_wanted ttp_calls_wanted_here(void);

/* apply.c: byte changes of a module's code, while no other thread can be in it; false: all is as it
 * was. file: of the module. */
struct ttp_code_change {
    const struct dl_phdr_info *info;
    long file;
    const struct ttp_changes *changes;
};
bool ttp_code_change(const struct ttp_code_change *change);
/* A module of this process, as its changes are decided. */
struct ttp_code_view ttp_view_of(const struct dl_phdr_info *info);
/* Room for so many changes; false: there is none. */
bool ttp_changes_begin(struct ttp_changes *changes, uint32_t capacity);
void ttp_changes_end(struct ttp_changes *changes);

static inline void ttp_count_more(uint32_t *counter, uint32_t count)
{
    __atomic_add_fetch(counter, count, __ATOMIC_RELAXED);
}

#endif

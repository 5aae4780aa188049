/* What plans change in a process, decided without changing it.
 *
 *     plans and the choice, the module's bytes  --decide-->  stubs, and changes of the code's bytes
 *     stubs, changes  --apply (patch/apply.c)-->  the process itself, at its start
 *
 * Deciding is pure: it reads plans and a view of the module, writes the stubs and the list that it
 * is given, and asks and keeps nothing else. What it reads and writes may lie elsewhere than in the
 * process that is changed: all addresses in it are that process's. So whoever stops another process
 * decides as that would at its own start. */
#ifndef TTP_RUNTIME_DECIDE_H
#define TTP_RUNTIME_DECIDE_H

#include <link.h>
#include <stdbool.h>

#include "recorder/runtime/decide/code_put.h"
#include "recorder/runtime/decide/stub_layout.h"

/* A module in a process. */
struct ttp_code_view {
    const ElfW(Phdr) * segments;
    uint32_t segment_count;
    uint64_t bias;
    uint64_t distance; /* its bytes are read so far above where that process has them */
};
static inline const uint8_t *ttp_view_at(const struct ttp_code_view *view, uint64_t address)
{
    return (const uint8_t *)(uintptr_t)(address + view->distance);
}
/* The segment with code that holds a window and cannot be written, or NULL. */
const ElfW(Phdr) *
    ttp_view_segment(const struct ttp_code_view *view, uint32_t window, uint32_t window_bytes);

/* Bytes of the code that change, and what they were: whoever applies it looks for that first. Both
 * in the order of memory, the first byte lowest. */
struct ttp_change {
    uint64_t at, was, becomes;
    uint32_t count, reserved; /* of bytes: 2, or 4 to 8 */
};
struct ttp_changes {
    struct ttp_change *list;
    uint32_t count, capacity; /* what finds no room is left out */
};
/* That many bytes as a number, and back. */
static inline uint64_t ttp_bytes_read(const uint8_t *at, uint32_t count)
{
    uint32_t low = 0, high = 0;
    uint16_t two = 0;
    if (count < sizeof low) {
        __builtin_memcpy(&two, at, sizeof two);
        return two;
    }
    __builtin_memcpy(&low, at, sizeof low);
    __builtin_memcpy(&high, at + count - sizeof high, sizeof high);
    return low | (uint64_t)high << 8 * (count - sizeof high);
}
static inline void ttp_bytes_write(uint8_t *at, uint32_t count, uint64_t bytes)
{
    uint32_t low = (uint32_t)bytes, high;
    uint16_t two = (uint16_t)bytes;
    if (count < sizeof low) {
        __builtin_memcpy(at, &two, sizeof two);
        return;
    }
    high = (uint32_t)(bytes >> 8 * (count - sizeof high));
    __builtin_memcpy(at, &low, sizeof low);
    __builtin_memcpy(at + count - sizeof high, &high, sizeof high);
}
static inline void ttp_change_add(struct ttp_changes *changes, const struct ttp_code_view *view,
                                  uint64_t at, uint64_t bytes, uint32_t count)
{
    if (changes->count != changes->capacity)
        changes->list[changes->count++] =
            (struct ttp_change){.at = at,
                                .was = ttp_bytes_read(ttp_view_at(view, at), count),
                                .becomes = bytes,
                                .count = count};
}
/* A jump of five bytes, which stands at `at`. */
static inline uint64_t ttp_jump_bytes(uint64_t at, uint64_t target)
{
    return 0xe9 | (uint64_t)(uint32_t)(target - (at + TTP_PLAN_WINDOW_MIN)) << 8;
}

/* A table of a plan of either kind. */
static inline const void *ttp_plan_at(const void *plan, uint64_t offset)
{
    return (const uint8_t *)plan + offset;
}
static inline bool ttp_is_same(const uint8_t *a, const uint8_t *b, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (a[i] != b[i])
            return false;
    return true;
}

/* -- system calls -- */

/* What they are patched for: that they are recorded, by the program itself or by a tracer first;
 * else those that the runtime minds. */
struct ttp_calls_wanted {
    bool are_recorded, are_traced;
};
/* Whether these bytes are a plan of that content, with all its tables. */
bool ttp_plan_check(const struct ttp_plan_head *head, uint64_t size, const uint8_t *content);
/* Whether that system call is left as it is, whatever the plan says. */
bool ttp_call_is_left(struct ttp_calls_wanted wanted, const struct ttp_plan_site *site);
uint32_t ttp_calls_count_left(struct ttp_calls_wanted wanted, const struct ttp_plan_head *plan);

struct ttp_call_decision {
    const struct ttp_code_view *view;
    const struct ttp_plan_head *plan;
    struct ttp_calls_wanted wanted;
    struct ttp_area_data *data; /* and the stubs, one for each site of the plan, */
    struct ttp_stub *stubs;
    uint64_t shift; /* so far below their place in the process */
};
/* The page in front of the stubs: what they call, and which calls are of interest. */
struct ttp_call_hooks {
    uint64_t enter, exit;
    const uint64_t *chosen; /* bits of system calls */
    bool is_loader;
};
void ttp_decide_call_data(const struct ttp_call_decision *d, const struct ttp_call_hooks *hooks,
                          size_t stub_bytes);
/* Stubs of all sites that can have one; the others' `after` is 0. Returns how many. */
uint32_t ttp_decide_call_stubs(const struct ttp_call_decision *d);
/* The jumps to them, where the code is as planned. */
void ttp_decide_call_jumps(const struct ttp_call_decision *d, struct ttp_changes *changes);
/* call_stubs.c: false: it does not fit, or is too far away. */
bool ttp_stub_make(const struct ttp_call_decision *d, struct ttp_stub *stub,
                   const struct ttp_plan_site *site);
/* The CIE stands at `entries`: puts behind it that it holds for the stubs, and an end. Both are
 * written `shift` below their place. */
void ttp_unwind_put(uint8_t *head, uint8_t *entries, uint32_t cie_bytes, uint64_t shift,
                    uint64_t stubs, size_t stub_bytes);

/* -- slots of jumps over lines (breakpoints/slots.h) -- */

#define TTP_SLOT_IMAGES 2u /* of jumps without a prefix, with one */
struct ttp_slot_image {
    uintptr_t memory; /* in the process; 0: there is none */
    size_t bytes;
    uint64_t shift;    /* it is written so far below */
    uint64_t distance; /* from where a jump begins to its slot */
    bool keeps_all;    /* else the distance's last byte is not cc */
    bool was_tried;
};

/* A jump to a stub, and the lines that begin within it: bit 0 at its second byte. */
struct ttp_slot_jump {
    uint64_t at;
    uint32_t room; /* bytes that it may have */
    uint8_t lines;
};
/* Whether one needs an image, by its lines; whether one with a prefix, where the other keeps not
 * all of them. */
bool ttp_lines_need_slot(uint8_t lines);
bool ttp_lines_need_prefix(uint8_t lines);
/* Writes the slot that a jump needs. False: there is no place for it. */
bool ttp_slot_make(const struct ttp_slot_image *images, const struct ttp_slot_jump *jump,
                   uint64_t stub);
/* The jump's bytes, to its slot where it has one; *count: how many there are. */
uint64_t ttp_slot_jump_bytes(const struct ttp_slot_image *images, const struct ttp_slot_jump *jump,
                             uint64_t stub, uint32_t *count);

/* -- functions -- */

/* The place of the function that an address is in, by its main piece; that starts there. The plan's
 * function_count: there is none. */
uint32_t ttp_patch_function_around(const struct ttp_patch_head *plan, uint64_t address);
uint32_t ttp_patch_function_at(const struct ttp_patch_head *plan, uint64_t start);
/* Adds functions that chosen ones jump to, to return in their place. `bits`: of the plan's. */
void ttp_choose_jumped_to(const struct ttp_patch_head *plan, uint64_t *bits);
/* plan_check.c: whether these bytes are a plan of functions (or of copies, by its magic), or a
 * choice with all its sections. */
bool ttp_patch_check(const struct ttp_patch_head *head, uint64_t size, uint64_t magic,
                     const uint8_t *content);
bool ttp_chosen_check(const struct ttp_chosen_head *head, uint64_t size, uint64_t choice,
                      const uint8_t *content);
/* Of the function that starts there; NULL: it has none. */
const struct ttp_values_row *ttp_values_row_of(const struct ttp_values_head *values,
                                               uint32_t start);
/* What stubs of functions call, in the process. */
struct ttp_probe_hooks {
    uint64_t enter, exit, tail, joined, joined_tail, inlined, enter_valued, exit_valued, mark;
};

struct ttp_probe_decision {
    const struct ttp_code_view *view;
    const struct ttp_patch_head *plan;
    const struct ttp_chosen_head *chosen; /* NULL: all functions */
    const struct ttp_values_head *values; /* NULL: none */
    const struct ttp_plan_head *calls;    /* that were patched before; NULL: none */
    struct ttp_calls_wanted wanted;
    bool has_shadow_stack; /* the process: nothing may push return addresses */
    uint32_t answers;      /* 1 + a function whose entry has the hook of copies; 0: none */
    uint64_t *taken;       /* a bit for each byte of code: a window has it */
    struct ttp_probe_data *data;
    struct ttp_probe_stub *stubs; /* of chosen functions' probes, in the plan's order */
    uint64_t shift;               /* data and stubs are written so far below their place */
    struct ttp_slot_image images[TTP_SLOT_IMAGES];
    /* ttp_decide_probes_begin: */
    const struct ttp_patch_function *functions;
    const struct ttp_patch_probe *probes;
    uint32_t chosen_count, hooked, stub_count;
    uint8_t lines; /* of all jumps there may be */
    /* ttp_decide_probe_stubs: */
    uint32_t entries, exits, exits_left;
};
/* How much room it takes. */
void ttp_decide_probes_begin(struct ttp_probe_decision *d);
/* Windows of system calls are taken. */
void ttp_decide_take_calls(const struct ttp_probe_decision *d);
/* One more window is. */
void ttp_decide_take(const struct ttp_probe_decision *d, uint32_t window, uint32_t window_bytes);
void ttp_decide_probe_data(const struct ttp_probe_decision *d, const struct ttp_probe_hooks *hooks,
                           size_t stub_bytes);
void ttp_decide_probe_stubs(struct ttp_probe_decision *d);
void ttp_decide_probe_jumps(struct ttp_probe_decision *d, struct ttp_changes *changes);

/* What there is to know of one probe. */
struct ttp_probe_site {
    const struct ttp_patch_probe *probe;
    struct ttp_moved moved;
    uint64_t function; /* its address in memory */
    uint64_t back;     /* where an entry or a conditional jump goes on */
    uint64_t target;   /* of a jump to another function */
    bool has_values;   /* of what it is given, or returns */
    bool answers;      /* it is the entry of ttp_probe_decision.answers */
};

/* probe_stubs.c: false: it does not fit, or is too far away. */
bool ttp_probe_stub_make(const struct ttp_probe_decision *d, struct ttp_probe_stub *stub,
                         const struct ttp_probe_site *site);
#define TTP_TAIL_REGISTER ((uint64_t)1 << 63) /* a word of ttp_probe_saved holds it */
#define TTP_TAIL_MEMORY   ((uint64_t)1 << 62) /* the word there does */
#define TTP_TAIL_LINKED   ((uint64_t)1 << 61) /* and was not filled yet, when it ended so: */
#define TTP_TAIL_EMPTY    48u                 /* from this bit on, as many: */
#define TTP_TAIL_EMPTY_IS 0x1fffu
/* tail_words.c: of a jump of that module, which is the moved code [from, to): a word that
 * says how it is found where that leads. is_function: a function of the plan starts there, so that
 * it is none of the linker's stubs. 0: it is not known. */
uint64_t ttp_tail_target_of(const struct ttp_code_view *view, const struct ttp_moved *moved,
                            uint32_t from, uint32_t to, bool is_function);

#endif

/* The patch plan of a module: the windows at which its functions are entered and left. The command
 * makes it (program/binary), of the ELF file alone, for all functions; which are patched is a
 * choice, made apart, so that one plan serves all recordings.
 *
 *     head        struct ttp_patch_head
 *     functions   struct ttp_patch_function, sorted by start
 *     probes      struct ttp_patch_probe: of each function its entry, then its exits by address,
 *                 then those of its pieces
 *     fixups      struct ttp_plan_fixup (plan.h), of all probes
 *     bytes       code
 *
 * Addresses are ELF addresses; the load bias moves all of them. Native byte order, natural
 * alignment, each table at a multiple of 8. Name: CONTENT.patch, beside CONTENT.plan. As with
 * plans, who maps it checks it, and compares the bytes in memory before it changes any. */
#ifndef TTP_WRITER_PATCH_PLAN_H
#define TTP_WRITER_PATCH_PLAN_H

#include <stdbool.h>
#include <stddef.h>

#include <tracetape/types.h>

#include "recorder/arena/plan.h"
#include "recorder/arena/record.h"

#define TTP_PATCH_MAGIC         0x6863746170747461ull /* "attptach"; not a plan's */
#define TTP_INLINED_MAGIC       0x656e696c6e697474ull /* "ttinline": of inlined functions */
#define TTP_PATCH_VERSION       16u
#define TTP_PATCH_SUFFIX        ".patch"
#define TTP_PATCH_BYTES_MAX     (512u * 1024u * 1024u)
#define TTP_PATCH_FUNCTIONS_MAX TTP_PLAN_FUNCTIONS_MAX
#define TTP_PATCH_PROBES_MAX    4000000u
#define TTP_PATCH_SHORT_MIN     2u /* bytes of a window whose jump is in a host */
#define TTP_PATCH_HOST_MIN      10u
#define TTP_PATCH_MOVED_MAX     48u /* bytes of moved code of one probe, before and after */

/* A window is whole instructions, and what fills up behind the last one, 5 bytes or more; a jump to
 * the stub is put over its first five. Nothing leads to behind its first byte. Windows are within
 * their function or its pieces, or in the padding behind them, and none overlaps another one,
 * except that a short function is entered and left in one:
 *
 *     lea 1(%rdi),%eax ; ret ; nop
 *
 * Then its entry and the exit behind it in the table have the same window and the same original
 * bytes. The entry has no moved code, and its stub goes on with the exit's stub, not in the window.
 *
 * Where the hook is called in a stub, rsp is at the return address of the function: CFA = rsp + 8,
 * what callees save is the caller's, and flags are of no use to who follows the ABI.
 *
 *     entry:        jmp stub                    stub: enter;  moved;  jmp window + window_bytes
 *     return:       [before...] ret             stub: before;  exit;  after (a ret)
 *     tail jump:    [before...] jmp elsewhere   stub: before;  exit;  after (a jump)
 *     conditional:  [before...] jCC elsewhere   stub: before;  jump if not CC to L;  exit;
 *                                                     after (a jump);  L: jmp window + window_bytes
 *
 * An entry's moved code is `after`, but for calls (below). The jump of a conditional one is in no
 * moved bytes but by its code `condition` (as in 0f 8X) and by `after`, a jump to where it leads.
 *
 * A return without a window, as one byte that branches lead to, with another function behind it, is
 * seen where it is come to: windows of each branch to it, and of what stands in front of it. These
 * do not have it; their moved code ends with a copy of it.
 *
 *     front:        instructions, then the ret  stub: before;  exit;  after (a ret)
 *     branch:       [before...] jCC ret         stub: before;  jump if not CC to L;  exit;
 *                                                     after (a ret);  L: jmp window + window_bytes
 *
 * An exit without room for five bytes may have a window of two to four. A jump of two bytes in it
 * leads to the jump to its stub, which stands in the window of a host, behind the host's own jump:
 *
 *     leave ; ret                               jmp host + 5
 *     host:  ten bytes of instructions          jmp stub of host ; jmp stub of the exit
 *
 * A host has no hook. It is of the same function and has the same frame there (row of plan.h). Its
 * moved code is `after`. Without it none of its exits can be patched.
 *
 * A call may be the last instruction of an entry's window. The return address that it would push,
 * window + window_bytes, is pushed by the stub, between the moved instructions in front of it
 * (`before`) and a jump to the callee (`after`): who unwinds finds the program's own address, and a
 * processor that keeps shadow stacks would not let the callee return (TTP_PATCH_PUSHES).
 *
 *     entry:        [before...] call f          stub: enter;  before;  push;  after (a jump) */
enum ttp_patch_kind {
    TTP_PATCH_ENTRY = 0,
    TTP_PATCH_RETURN = 1,
    TTP_PATCH_TAIL = 2,
    TTP_PATCH_TAIL_IF = 3,
    TTP_PATCH_HOST = 4,      /* behind the exits of its range */
    TTP_PATCH_INLINED = 5,   /* of a plan of copies; no other kind but the last is there */
    TTP_PATCH_RETURN_IF = 6, /* a branch to a return that has no window */
    TTP_PATCH_MARK = 7       /* of a plan of copies: a static probe */
};

/* A plan of copies has these kinds. */
static inline bool ttp_is_copy(uint32_t kind)
{
    return kind == TTP_PATCH_INLINED || kind == TTP_PATCH_MARK;
}

/* Why there is no window. A probe that has none says where it would be, and nothing else. */
enum ttp_patch_reason {
    TTP_PATCH_CAN = 0,
    TTP_PATCH_BRANCHED = 1,  /* branches lead to between the bytes that the jump needs */
    TTP_PATCH_NO_ROOM = 2,   /* the function, or what cannot be decoded, is too near */
    TTP_PATCH_IMMOVABLE = 3, /* an instruction works at its own place only, or is a call */
    TTP_PATCH_SHARED = 4,    /* another window is too near */
    TTP_PATCH_COMPUTED = 5,  /* its function has a jump whose targets are not known */
    TTP_PATCH_NO_FRAME = 6,  /* where the return address lies is not known, or not at rsp */
    TTP_PATCH_HOOKED = 7,    /* of an entry: the function has compiled-in hooks, which record it */
    TTP_PATCH_FAR = 8,       /* moved code would be too long */
    TTP_PATCH_SPECIAL = 9, /* it is no function: a signal's trampoline, code that saves or restores
                              * contexts. The linker's stubs are not listed at all */
    TTP_PATCH_LOOPED = 10, /* its own code branches to its start: each turn would be a call */
    TTP_PATCH_LINES = 11,  /* a line begins within the jump's distance, so that a breakpoint there
                            * would send it elsewhere */
    TTP_PATCH_ELSEWHERE = 12,  /* of an exit: a jump to where no function starts */
    TTP_PATCH_UNDECODED = 13,  /* something in the function is no instruction */
    TTP_PATCH_FAULTS = 14,     /* where an instruction has faulted could not be told */
    TTP_PATCH_RESTARTABLE = 15 /* the kernel looks where in a restartable sequence a thread is */
};
#define TTP_PATCH_REASONS 16u

struct ttp_patch_head {
    uint64_t magic;
    uint32_t version, head_bytes; /* head_bytes: of this struct */
    uint8_t build_id[32];         /* zero-padded */
    uint32_t build_id_bytes;      /* 0: none */
    uint32_t machine;             /* of the ELF file: 62 is x86-64 */
    uint32_t function_count, probe_count, fixup_count;
    uint32_t code_start, code_end; /* of executable segments: windows are within */
    uint32_t reserved_word;
    uint32_t entry_reasons[TTP_PATCH_REASONS]; /* functions, by the reason of their entry */
    uint32_t exit_reasons[TTP_PATCH_REASONS];  /* exits (all kinds), by reason */
    uint64_t functions_at, probes_at, fixups_at, bytes_at; /* offsets */
    uint64_t byte_count;                                   /* of the last table */
    uint64_t total_bytes;                                  /* of the file */
    uint8_t content[TTP_PLAN_CONTENT_BYTES];               /* of the ELF file that it was made of */
    uint64_t reserved[2];
};

/* A function that can be entered; pieces (.cold) are of the function they belong to, and have their
 * exits there. Without an entry probe that can be patched, none of it is. */
struct ttp_patch_function {
    uint32_t start, end; /* [start, end) of its main piece */
    uint32_t first_probe;
    uint32_t probe_count;
};

/* In `bytes`, one behind another from `bytes` on: the window's original bytes (window_bytes), then
 * moved instructions (before_bytes, then after_bytes). Fixups count as those of a site do. */
struct ttp_patch_probe {
    uint32_t window;
    uint32_t function; /* index */
    uint32_t bytes;    /* offset in the table of bytes */
    uint32_t first_fixup;
    uint32_t jump; /* where the jump of five bytes to the stub is: `window`, or in a host's window;
                    * of TTP_PATCH_ELSEWHERE: where it leads */
    uint8_t window_bytes;
    uint8_t kind;   /* enum ttp_patch_kind */
    uint8_t reason; /* enum ttp_patch_reason */
    uint8_t before_bytes, after_bytes;
    uint8_t fixup_count;
    uint8_t condition; /* of TTP_PATCH_TAIL_IF: 0 to 15 */
    uint8_t flags;     /* enum ttp_patch_probe_flags */
    /* Who unwinds takes moved code for the window's, byte for byte, but for what is behind this
     * one: where branches have grown, the frame of all that is behind them is that of this byte.
     * Where the stub goes on behind the window, window_bytes. */
    uint8_t last;
    /* Of the four bytes of the jump's distance, and the next one, those at which a line begins, a
     * bit each: who puts a breakpoint there must not change the jump. */
    uint8_t lines;
    uint8_t reserved[2];
};
enum ttp_patch_probe_flags {
    TTP_PATCH_PAD = 1,      /* a pad for this purpose: nothing that does anything is moved */
    TTP_PATCH_PUSHES = 2,   /* a return address is pushed: not where there are shadow stacks */
    TTP_PATCH_JOINED_BY = 4 /* of an exit: other functions, which jump into the middle, leave by it,
                             * too: it is of whose frame is open there */
};

/* What is patched of a module: CONTENT-CHOICE.chosen, where CHOICE is 16 hexadecimal digits:
 * ttp_chosen_number of the arena's patch_choice and the module's path, as names and the choice of
 * modules go by that. One file, which is there whole or not at all:
 *
 *     head | a bit for each function of the plan | section: copies | section: values | : marks
 *
 * Where none is chosen there are no bits and no sections, and the plan need not be there. The words
 * of bits have 64 each. Sections begin at multiples of 8; the last one ends where the file does. */
#define TTP_CHOSEN_MAGIC     0x6563696f68637474ull /* "ttchoice" */
#define TTP_CHOSEN_SUFFIX    ".chosen"
#define TTP_CHOSEN_NONE      1u /* none of its functions: function_count and plan_bytes are 0 */
#define TTP_CHOSEN_LEFT      2u /* with it: the module is not one of those that are chosen */
#define TTP_CHOSEN_CALLED    4u /* of what is attached to: only where other chosen modules call */
#define TTP_CHOSEN_BYTES_MAX (1u << 30)
struct ttp_chosen_section {
    uint64_t at, bytes; /* 0: there is none */
};
struct ttp_chosen_head {
    uint64_t magic, choice;
    uint32_t patch_version, function_count; /* of the plan */
    uint64_t plan_bytes;                    /* its total_bytes */
    uint64_t total_bytes;                   /* of this file */
    uint32_t flags;
    uint32_t finds; /* of what is attached to: 1 + the function that unwinders ask; 0: none */
    uint8_t content[TTP_PLAN_CONTENT_BYTES];   /* as the plan's */
    struct ttp_chosen_section inlined, values; /* ttp_patch_head; ttp_values_head */
    struct ttp_chosen_section marks;           /* ttp_marks_head */
};

static inline uint64_t ttp_chosen_bits_bytes(uint32_t function_count)
{
    return ((uint64_t)function_count + 63) / 64 * 8;
}

/* FNV-1a, gone on with. */
static inline uint64_t ttp_chosen_number(uint64_t choice, const char *path)
{
    for (; *path != '\0'; path++)
        choice = (choice ^ (uint8_t)*path) * UINT64_C(0x100000001b3);
    return choice;
}

/* Which copies of inlined functions are patched: a section of the choice. A patch plan, but for its
 * magic: each of its functions is a copy, and has one probe, whose stub is as an entry's. Its
 * window is where debug information says that the copy is entered; that may be where a function
 * starts, too, so `start`, which stands for the copy in a trace, is 1 above.
 *
 *     inlined:      jmp stub                    stub: inlined;  moved;  jmp window + window_bytes
 *
 * Where the hook is called rsp is anywhere in the frame of the function that the copy is in, and
 * flags are in use.
 *
 * Static probes are copies, too: of each `start` is the nop's address. Its window begins there;
 * where that has no room, the nop is its last instruction, and what is in front of it is `before`:
 *
 *     mark:         [before...] nop             stub: before;  mark;  after;  jmp window + bytes */
#define TTP_INLINED_ABOVE 1u

/* What chosen functions are given and return: a section of the choice. Behind the head a row for
 * each function of the plan that has any, by its start; behind them the places of all rows. Of a
 * row first those of what it is given, each with fields behind all that have none; then those of
 * what it returns, the same. */
#define TTP_VALUES_MAX      48u  /* of a call, and of a return, with their fields */
#define TTP_VALUES_FEW      12u  /* as many can be recorded without the thread's texts */
#define TTP_STRUCTURE_BYTES 512u /* of one that has fields; what is behind them is not read */
struct ttp_values_head {
    uint64_t at; /* of this section in its file */
    uint32_t row_count, place_count;
};
struct ttp_values_row {
    uint32_t start; /* of the function */
    uint32_t first; /* place */
    uint8_t given, returned;
    uint8_t reads; /* some place is not a number in a register or on the stack */
    uint8_t reserved;
};

/* Where a value is when the function is entered, or left, and what it is made of. */
enum ttp_value_at {
    TTP_AT_RDI = 0, /* rdi, rsi, rdx, rcx, r8, r9 */
    TTP_AT_RDX = 2,
    TTP_AT_RAX = 6,
    TTP_AT_XMM = 8,           /* eight of them */
    TTP_AT_STACK = 16,        /* so many words above the return address's word and one */
    TTP_AT_STACK_WORDS = 112, /* behind that: the address of such a word */
    TTP_AT_COUNTER = 240,     /* enum ttp_value_counter, as the thread asks the kernel */
    TTP_AT_CALL_SITE = 254,   /* the return address, less 1: TTP_VALUE_CALL_SITE */
    TTP_AT_VARIABLE = 255     /* memory of the module, at ttp_value_variable */
};
enum ttp_value_counter {
    TTP_VALUE_CPU_TIME,         /* of the thread, ns */
    TTP_VALUE_PAGE_FAULTS,      /* of the thread */
    TTP_VALUE_CONTEXT_SWITCHES, /* of the thread */
    TTP_VALUE_MAX_RSS,          /* of the process, bytes: the most so far */
    TTP_VALUE_CPU,              /* the number of the processor */
    TTP_VALUE_COUNTERS
};
/* Types beside those of the file. What they are made of is a string there. */
enum ttp_value_made {
    TTP_VALUE_TEXT = 16, /* of a field: characters in the structure itself */
    TTP_VALUE_STRING_AT, /* what there is has the address of {address, size}, std::string's, */
    TTP_VALUE_VIEW_AT,   /* or of {size, address}, std::string_view's, */
    TTP_VALUE_VIEW,      /* which is in two places */
    TTP_VALUE_TYPES_END
};
struct ttp_value_place {
    uint8_t type; /* ttape_value_type, or the above: bytes are those of one or two places */
    uint8_t size_bytes;
    uint8_t at, then; /* the second one's, of bytes and views only; of a field that is bits, the
                       * lowest one's number, and how many there are (0: it is none) */
    uint8_t base;     /* 0, or of a field the number + 1 of the value that it is in, or that points
                       * there: one of its row's, that is given with it, and no field */
    uint8_t is_pointed; /* of a field: what it is in is not passed itself */
    uint16_t offset;    /* of a field */
};

/* The address of a variable in its module is in the parts that only fields have. */
static inline uint32_t ttp_value_variable(const struct ttp_value_place *place)
{
    return place->offset | (uint32_t)place->then << 16 | (uint32_t)place->is_pointed << 24;
}

/* Fields are behind what they are in, and not further in it than is read. */
static inline bool ttp_value_places_check(const struct ttp_value_place *places, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const struct ttp_value_place *place = &places[i];
        bool is_field = place->base != 0;
        if (place->type >= TTP_VALUE_TYPES_END ||
            (is_field && (place->at + place->then > 64 || place->base > i ||
                          places[place->base - 1].base != 0 ||
                          place->offset + place->size_bytes > TTP_STRUCTURE_BYTES)))
            return false;
    }
    return true;
}

/* Whether some of them are not numbers in registers or on the stack, or are too many. */
static inline bool ttp_value_places_read(const struct ttp_value_place *places, uint32_t count)
{
    bool reads = count > TTP_VALUES_FEW;
    for (uint32_t i = 0; i < count; i++)
        reads |= places[i].base != 0 || places[i].size_bytes > 8 ||
                 (places[i].type > TTAPE_VALUE_FLOAT && places[i].type != TTP_VALUE_CALL_SITE);
    return reads;
}

/* What there is to know of each mark (static probe) among the copies: a section of the choice.
 * Behind the head the values of all rows, a row for each, by its address, then their names, each
 * with a zero behind it. */
#define TTP_MARK_VALUES_MAX 12u
struct ttp_marks_head {
    uint32_t row_count, value_count;
    uint32_t name_bytes, reserved; /* of all names */
};
struct ttp_marks_row {
    uint32_t address;   /* of the nop */
    uint32_t semaphore; /* the address of 16 bits that are counted up; 0: none */
    uint32_t first;     /* value */
    uint32_t name;      /* its first byte */
    uint8_t value_count, reserved[3];
};
enum ttp_mark_kind {
    TTP_MARK_UNKNOWN = 0,
    TTP_MARK_REGISTER = 1, /* base */
    TTP_MARK_NUMBER = 2,   /* number */
    TTP_MARK_ADDRESS = 3,  /* number, of the module */
    TTP_MARK_MEMORY = 4    /* at base + index * scale + number */
};
enum ttp_mark_register { /* as instructions number them */
                         TTP_MARK_RAX = 0,
                         TTP_MARK_RBX = 3,
                         TTP_MARK_RSP,
                         TTP_MARK_RBP,
                         TTP_MARK_RSI,
                         TTP_MARK_RDI,
                         TTP_MARK_R8,
                         TTP_MARK_XMM = 16,        /* sixteen of them, their low halves */
                         TTP_MARK_RIP = 32,        /* the module's bias */
                         TTP_MARK_NO_REGISTER = 33 /* 0 */
};
struct ttp_mark_value {
    int64_t number;
    uint8_t kind, type; /* enum ttp_mark_kind, ttape_value_type */
    uint8_t size_bytes; /* 1, 2, 4, 8 */
    uint8_t base, index, scale;
    uint8_t shift; /* of a register: 8, of its second byte */
    uint8_t reserved;
};

/* The sections of a choice; NULL: it has none. And the choice that a section of values is of. */
static inline const struct ttp_patch_head *ttp_chosen_inlined(const struct ttp_chosen_head *chosen)
{
    const void *at = (const char *)chosen + chosen->inlined.at;
    return chosen->inlined.bytes == 0 ? NULL : at;
}
static inline const struct ttp_values_head *ttp_chosen_values(const struct ttp_chosen_head *chosen)
{
    const void *at = (const char *)chosen + chosen->values.at;
    return chosen->values.bytes == 0 ? NULL : at;
}
static inline const struct ttp_marks_head *ttp_chosen_marks(const struct ttp_chosen_head *chosen)
{
    const void *at = (const char *)chosen + chosen->marks.at;
    return chosen->marks.bytes == 0 ? NULL : at;
}
static inline const struct ttp_mark_value *ttp_marks_values(const struct ttp_marks_head *marks)
{
    return (const struct ttp_mark_value *)(const void *)(marks + 1);
}
static inline const struct ttp_marks_row *ttp_marks_rows(const struct ttp_marks_head *marks)
{
    return (const struct ttp_marks_row *)(const void *)(ttp_marks_values(marks) +
                                                        marks->value_count);
}
static inline const char *ttp_marks_names(const struct ttp_marks_head *marks)
{
    return (const char *)(ttp_marks_rows(marks) + marks->row_count);
}
static inline const struct ttp_chosen_head *ttp_values_chosen(const struct ttp_values_head *values)
{
    const void *at = (const char *)values - values->at;
    return at;
}

_Static_assert(sizeof(struct ttp_patch_head) == 288, "no hidden padding");
_Static_assert(sizeof(struct ttp_patch_function) == 16, "no hidden padding");
_Static_assert(sizeof(struct ttp_patch_probe) == 32, "no hidden padding");
_Static_assert(sizeof(struct ttp_marks_head) == 16, "no hidden padding");
_Static_assert(sizeof(struct ttp_marks_row) == 20, "no hidden padding");
_Static_assert(sizeof(struct ttp_mark_value) == 16, "no hidden padding");
_Static_assert(sizeof(struct ttp_chosen_head) == 112, "no hidden padding");
_Static_assert(sizeof(struct ttp_values_head) == 16, "no hidden padding");
_Static_assert(sizeof(struct ttp_values_row) == 12, "no hidden padding");
_Static_assert(sizeof(struct ttp_value_place) == 8, "no hidden padding");

#endif

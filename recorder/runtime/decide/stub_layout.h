/* Areas of stubs, as they lie in the memory of a program: patch/patch.h draws those of system
 * calls, patch/probe.h those of functions. */
#ifndef TTP_RUNTIME_STUB_LAYOUT_H
#define TTP_RUNTIME_STUB_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>

#include "recorder/arena/arena.h"
#include "recorder/arena/patch_plan.h"
#include "recorder/arena/plan.h"

#define TTP_STUB_BYTES        256u
#define TTP_STUB_HEAD         16u
#define TTP_AREA_DATA         4096u
#define TTP_UNWIND_BYTES      256u
#define TTP_UNWIND_HEAD_BYTES 20u
#define TTP_DEBUGGER_BYTES    352u
#define TTP_FDE_BYTES         20u
#define TTP_NUMBERS_PAGE      256u
#define TTP_STUB_CODE         (TTP_STUB_BYTES - TTP_STUB_HEAD)

/* The first words are what unwinding reads: stubs are aligned to their size. */
struct ttp_stub {
    uint64_t after; /* behind the `syscall` instruction, where the code had it */
    uint64_t bias;  /* of the module */
    uint8_t code[TTP_STUB_CODE];
};

/* What stubs use: read-only when they run. */
struct ttp_area_data {
    uint64_t enter, exit;
    uint64_t pages[TTP_NUMBERS_PAGE];  /* by bits 8 to 15 of a number, where it is not known */
    uint8_t is_seen[TTP_CALL_NUMBERS]; /* by number: not 0: enter and exit are called */
    uint8_t others[TTP_NUMBERS_PAGE];  /* of all numbers beyond */
    uint8_t debugger[TTP_DEBUGGER_BYTES] __attribute__((aligned(8)));
    uint8_t unwind_head[TTP_UNWIND_HEAD_BYTES], unwind[TTP_UNWIND_BYTES];
};

/* Bytes of a stub, in front of what is moved behind the call: call_stubs.c draws them. */
enum ttp_stub_parts {
    TTP_STUB_TEST_KNOWN = 7,
    TTP_STUB_TEST_UNKNOWN = 22,
    TTP_STUB_WAYS = 30, /* with jrcxz, to enter, the call, to exit */
    TTP_STUB_CALL = 2,
    TTP_STUB_JUMP = 5
};
static inline bool ttp_stub_knows(const struct ttp_plan_site *site)
{
    return site->number_known && site->number < TTP_CALL_NUMBERS;
}

/* -- functions -- */

#define TTP_PROBE_BYTES    128u
#define TTP_PROBE_HEAD     16u
#define TTP_PROBE_CODE     (TTP_PROBE_BYTES - TTP_PROBE_HEAD)
#define TTP_PROBE_TARGET   (TTP_PROBE_CODE - 8u)
#define TTP_PROBE_HOOK     28u /* bytes of a stub in which the stack pointer may be lower */
#define TTP_PROBE_MIDDLE   TTP_PROBE_BYTES
#define TTP_PROBE_DISTANCE (2u * TTP_PROBE_MIDDLE)
#define TTP_RED_ZONE       128u
#define TTP_PUSHED_BYTES   8u /* a return address */

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
    uint64_t enter, exit, tail, joined, joined_tail, inlined, enter_valued, exit_valued, mark;
    uint64_t module_start, module_bytes; /* whose functions these are */
    uint64_t bias;
    const struct ttp_values_head *values; /* NULL: none */
    struct ttp_marks *marks;              /* NULL: none; marks/marks.c */
    uint8_t lower[TTP_PROBE_DISTANCE], added[TTP_PROBE_DISTANCE];
    uint8_t debugger[TTP_DEBUGGER_BYTES] __attribute__((aligned(8)));
    uint8_t unwind_head[TTP_UNWIND_HEAD_BYTES], unwind[TTP_UNWIND_BYTES];
};

/* What they put aside, in words below the return address (probe_entry.c); vector registers where
 * functions have values only; of marks all, and those that a callee keeps. */
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
    TTP_SAVED_XMM = 36,      /* the first; the others lie above */
    TTP_SAVED_MARK_XMM = 44, /* the first of sixteen */
    TTP_SAVED_RBX = 45,
    TTP_SAVED_R12, /* to r15 */
    TTP_SAVED_R15 = TTP_SAVED_R12 + 3
};

/* tools/attach/gdb/ has these numbers, too. */
_Static_assert(offsetof(struct ttp_probe_data, unwind_head) == 976 &&
                   offsetof(struct ttp_area_data, unwind_head) == 3184,
               "as gdb's file reads it");
#endif

/* The plan of an executable or a library: what the runtime needs to put jumps into its code, made
 * by the tool, which decodes instructions, and kept by build id. The runtime maps it and decodes
 * nothing: it compares the bytes that are mapped with the plan's before it changes any.
 *
 *     head | sites | rows | functions | bytes
 *
 * All this is memory of one machine: native byte order, natural alignment. Addresses are those of
 * the file (what is mapped less the load bias). A reader checks every offset and count before it
 * uses them. */
#ifndef TTP_WRITER_PLAN_H
#define TTP_WRITER_PLAN_H

#include <stdint.h>

#define TTP_PLAN_MAGIC          0x6e616c7074746174ull /* "tattplan" */
#define TTP_PLAN_VERSION        1u
#define TTP_PLAN_MACHINE        62u /* EM_X86_64 */
#define TTP_PLAN_BUILD_ID_BYTES 32u
#define TTP_PLAN_REASONS        8u
#define TTP_PLAN_BYTES_MAX      (256u << 20)
#define TTP_PLAN_JUMP_BYTES     5u
#define TTP_PLAN_WINDOW_MAX     32u
#define TTP_PLAN_SUFFIX         ".plan"
#define TTP_PLAN_FOLDER         "plans" /* in the recording's folder */
#define TTP_PLAN_NO_NUMBER      UINT32_MAX

struct ttp_plan_head {
    uint64_t magic;
    uint32_t version, head_bytes;
    uint8_t build_id[TTP_PLAN_BUILD_ID_BYTES];
    uint32_t build_id_bytes, machine;
    uint64_t text_checksum_unused;
    uint32_t site_count, row_count, function_count, reserved;
    uint32_t reason_counts[TTP_PLAN_REASONS]; /* sites by their kind */
    uint64_t sites_at, rows_at, functions_at, bytes_at, total_bytes;
};

/* Why a site cannot be patched; 0: it can. */
enum ttp_plan_site_kind {
    TTP_PLAN_SITE_PATCHABLE = 0,
    TTP_PLAN_SITE_BRANCH_TARGET = 1, /* one lies in the window */
    TTP_PLAN_SITE_NO_ROOM = 2,
    TTP_PLAN_SITE_FIXED = 3,  /* an instruction of the window cannot be moved */
    TTP_PLAN_SITE_UNSURE = 4, /* jumps of the function are not all known */
    TTP_PLAN_SITE_LEFT = 5 /* on purpose: signal return, calls whose place the C library compares */
};

struct ttp_plan_site {
    uint32_t address; /* of the `syscall` instruction */
    uint32_t window;  /* where the jump goes: window <= address, address + 2 <= its end */
    uint8_t window_bytes, kind, number_known, reserved;
    uint32_t number; /* of the call, where an instruction of the window says it */
    uint32_t bytes;  /* offset in bytes: the window's, then those of the instructions before the
                      * `syscall` and behind it, as they are in the stub */
    uint8_t before_bytes, after_bytes, reserved2[2];
};

/* How a frame's caller is found from here on, up to the next row. Sorted by address. */
enum ttp_plan_cfa {
    TTP_PLAN_CFA_NONE = 0, /* not expressible, or no code */
    TTP_PLAN_CFA_RSP = 1,  /* rsp + cfa_offset */
    TTP_PLAN_CFA_RBP = 2,
    TTP_PLAN_CFA_PLT = 3,    /* rsp + 8, and 8 more from 11 bytes on into each 16 */
    TTP_PLAN_CFA_SIGNAL = 4, /* the frame that the kernel made for a handler */
    TTP_PLAN_CFA_OUTERMOST = 5
};

enum ttp_plan_rbp {
    TTP_PLAN_RBP_SAME = 0,
    TTP_PLAN_RBP_SAVED = 1, /* at CFA + rbp_offset */
    TTP_PLAN_RBP_LOST = 2
};

struct ttp_plan_row {
    uint32_t address;
    uint8_t cfa_kind, rbp_kind;
    int16_t cfa_offset, rbp_offset;
    uint16_t reserved;
};

#define TTP_PLAN_FUNCTION_COLD      1u
#define TTP_PLAN_FUNCTION_NO_UNWIND 2u
#define TTP_PLAN_FUNCTION_ENTRY     4u

struct ttp_plan_function {
    uint32_t start, end;
    uint32_t flags, reserved;
};

_Static_assert(sizeof(struct ttp_plan_head) == 152, "no padding");
_Static_assert(sizeof(struct ttp_plan_site) == 24, "no padding");
_Static_assert(sizeof(struct ttp_plan_row) == 12, "no padding");
_Static_assert(sizeof(struct ttp_plan_function) == 16, "no padding");

#endif

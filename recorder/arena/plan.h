/* The plan of a module: where its `syscall` instructions are, what to put in their place, and how
 * to walk its stack frames. The command makes it (program/binary), of the ELF file; the runtime
 * maps it read-only. Decoding needs a decoder, so none of it happens in a traced program.
 *
 *     head        struct ttp_plan_head
 *     sites       struct ttp_plan_site, sorted by address
 *     fixups      struct ttp_plan_fixup, of all sites
 *     rows        struct ttp_plan_row, sorted by address
 *     row index   u32, row_index_count + 1
 *     functions   struct ttp_plan_function, sorted by start
 *     bytes       code, and unwind rules for it
 *
 * Addresses are ELF addresses (as symbols give them); the load bias moves all of them. A module
 * whose parts reach to 2 KiB below 4 GiB, or that has more than 64 of them, has no plan. Memory of
 * one machine: native byte order, natural alignment, each table at a multiple of 8.
 *
 * Name: CONTENT.plan: a hash of all bytes of the ELF file, in lower-case hexadecimal, as is each
 * name here. Beside it lies STAMP.file (struct ttp_plan_file), which says the hash of a file by
 * what the kernel says of that. A plan is what another process left in a folder: whoever maps it
 * checks what it says before use, and compares the bytes in memory with those of the plan before
 * it changes any.
 *
 * Bounds of the maker: it reads the ELF file, of 1 GiB at most, into memory; what it makes of it
 * takes at most 8 MiB and 64 times the file's size, never more than 512 MiB; the plan at most
 * TTP_PLAN_BYTES_MAX. What has more has no plan. */
#ifndef TTP_WRITER_PLAN_H
#define TTP_WRITER_PLAN_H

#include <stdint.h>

#define TTP_PLAN_MAGIC         0x6e616c7074746174ull /* "tattplan" */
#define TTP_PLAN_VERSION       7u
#define TTP_PLAN_SUFFIX        ".plan"
#define TTP_PLAN_BYTES_MAX     (64u * 1024u * 1024u)
#define TTP_PLAN_SITES_MAX     65536u
#define TTP_PLAN_ROWS_MAX      4000000u
#define TTP_PLAN_FUNCTIONS_MAX 1000000u
#define TTP_PLAN_WINDOW_MIN    5u  /* a jump: e9 and a 32-bit distance */
#define TTP_PLAN_WINDOW_MAX    64u /* bytes that may be moved for one site */
#define TTP_PLAN_NO_NUMBER     UINT32_MAX
#define TTP_PLAN_REASONS       8u
#define TTP_PLAN_CONTENT_BYTES 16u

/* What the kernel says of a file: whoever changes a byte of it changes its times, and no call sets
 * the last one. */
struct ttp_plan_stamp {
    uint64_t device, inode, size_bytes;
    uint64_t written_ns, changed_ns; /* times of the data, and of the inode */
};

/* STAMP.file, where STAMP is that, byte by byte: the file whose stamp was this has that content. */
#define TTP_PLAN_FILE_MAGIC 0x656c696670747474ull /* "tttpfile" */
#define TTP_FILE_VERSION    1u
#define TTP_FILE_SUFFIX     ".file"
struct ttp_plan_file {
    uint64_t magic;
    uint32_t version, head_bytes; /* head_bytes: of this struct */
    struct ttp_plan_stamp stamp;
    uint8_t content[TTP_PLAN_CONTENT_BYTES];
};

/* Whether a site can take a jump; the least is the reason that is counted. */
enum ttp_plan_kind {
    TTP_PLAN_CAN = 0,
    TTP_PLAN_BRANCHED = 1,   /* branches lead to between the bytes that the jump needs */
    TTP_PLAN_NO_ROOM = 2,    /* the function, or what cannot be decoded, is too near */
    TTP_PLAN_IMMOVABLE = 3,  /* an instruction beside it works at its own place only */
    TTP_PLAN_SHARED = 4,     /* another site is too near */
    TTP_PLAN_COMPUTED = 5,   /* its function has a jump whose targets are not known */
    TTP_PLAN_COMPARED = 6,   /* the C library compares addresses with its place */
    TTP_PLAN_RESTARTABLE = 7 /* the kernel compares addresses with it: a restartable sequence */
};

struct ttp_plan_head {
    uint64_t magic;
    uint32_t version, head_bytes; /* head_bytes: of this struct */
    uint8_t build_id[32];         /* zero-padded */
    uint32_t build_id_bytes;      /* 0: none. One of more than 32 bytes counts as none */
    uint32_t machine;             /* of the ELF file: 62 is x86-64 */
    uint32_t site_count, fixup_count, row_count, function_count;
    uint32_t reason_counts[TTP_PLAN_REASONS]; /* sites by kind; [0]: that can be patched */
    /* of executable segments; rows are within */
    uint32_t code_start, code_end;
    /* Row index: entry i is the first row whose address is at or above
     * code_start + (i << row_index_shift); the entry behind the last is row_count. */
    uint32_t row_index_count, row_index_shift;
    uint64_t sites_at, fixups_at, rows_at, row_index_at, functions_at, bytes_at; /* offsets */
    uint64_t byte_count;                     /* of the last table */
    uint64_t total_bytes;                    /* of the file */
    uint8_t content[TTP_PLAN_CONTENT_BYTES]; /* of the ELF file that it was made of */
    uint64_t reserved[2];
};

/* A `syscall` instruction (two bytes at `address`). For the others than TTP_PLAN_CAN, all behind
 * `kind` but the number is 0.
 *
 *     window:     [before...] syscall [after...]      window_bytes of whole instructions, 5 or more
 *     becomes:    jmp stub (5 bytes), the rest is not executed (nobody jumps into it)
 *     stub:       before; ours; syscall; ours; after; jmp window + window_bytes
 *
 * In `bytes`, one behind another from `bytes` on: the window's original bytes (window_bytes); the
 * moved instructions (before_bytes, then after_bytes), which may be longer than the original; the
 * unwind rules (rule_bytes). Moved instructions are as they are anywhere, but for the fixups.
 *
 * Around the syscall instruction rcx and r11 are free, in the middle of the stub only: `before` may
 * still read them. The stub may not use the stack above rsp - 128 (leaf functions), nor any of it
 * where the call is vfork. Where flags_dead is 0 the flags must be what they were. */
struct ttp_plan_site {
    uint32_t address;
    uint32_t window;
    uint8_t window_bytes;
    uint8_t kind;         /* enum ttp_plan_kind */
    uint8_t number_known; /* each way to the instruction within its function sets `number` */
    uint8_t flags_dead;   /* flags are set before they are read, once the call is back */
    uint32_t number;      /* of the call, or TTP_PLAN_NO_NUMBER */
    uint32_t bytes;       /* offset in the table of bytes */
    uint8_t before_bytes; /* moved instructions in front of the syscall instruction */
    uint8_t after_bytes;  /* and behind it */
    uint8_t fixup_count;  /* of first_fixup and following */
    uint8_t rule_bytes;   /* unwind rules at the syscall instruction; 0: they are not known */
    uint32_t first_fixup;
    uint32_t function; /* index: the range that holds it */
};

/* A 32-bit distance in moved code, to a place in the module. Where `before` is put at memory
 * address P (and `after` at Q), the distance at `at` is
 *
 *     load bias + target - (P + at + tail)               at < before_bytes
 *     load bias + target - (Q + at - before_bytes + tail) otherwise
 *
 * which must fit 32 bits, signed: a stub that is too far away cannot be used for the site. */
struct ttp_plan_fixup {
    uint32_t target;
    uint8_t at;   /* offset in the moved code (before, then after): 4 bytes there */
    uint8_t tail; /* from `at` to the end of its instruction: 4, more with an immediate behind */
    uint16_t reserved;
};

/* Unwind rules of a site are a program of DWARF call frame instructions, as it stands in an FDE
 * with factors 1 (code) and -8 (data) and return address column 16. It gives the whole state where
 * the syscall instruction is: whoever registers an FDE for the stub copies it. */

/* How to find the caller's frame for addresses from this row's to the next row's. "CFA" is the
 * value of rsp in the caller once the call has returned. The return address is at CFA - 8. Look a
 * return address up at address - 1. */
enum ttp_plan_cfa {
    TTP_PLAN_CFA_NONE = 0,      /* nothing is known of these bytes: the walk ends, cut */
    TTP_PLAN_CFA_RSP = 1,       /* CFA = rsp + cfa_offset */
    TTP_PLAN_CFA_RBP = 2,       /* CFA = rbp + cfa_offset */
    TTP_PLAN_CFA_AT_RBP = 3,    /* CFA = word at rbp + cfa_offset (realigned stacks) */
    TTP_PLAN_CFA_AT_RSP = 4,    /* CFA = word at rsp + cfa_offset */
    TTP_PLAN_CFA_PLT = 5,       /* linker stub: CFA = rsp + cfa_offset + 8 * ((pc & 15) >= 11) */
    TTP_PLAN_CFA_SIGNAL = 6,    /* signal frame: rsp, rbp and pc are the words at rsp + 160, + 120,
                                 * + 168; pc is looked up as it is, not at address - 1 */
    TTP_PLAN_CFA_OUTERMOST = 7, /* the thread begins here: the walk ends, whole */
    TTP_PLAN_CFA_RDI = 8,       /* CFA = rsp + cfa_offset, return address in rdi: vfork. Only of the
                                 * innermost frame */
    TTP_PLAN_CFA_HARD = 9       /* has rules that no row can say: the walk ends, cut */
};
enum ttp_plan_rbp {
    TTP_PLAN_RBP_SAME = 0,   /* the caller's rbp is rbp */
    TTP_PLAN_RBP_CFA = 1,    /* it is the word at CFA + rbp_offset */
    TTP_PLAN_RBP_AT_RBP = 2, /* it is the word at rbp + rbp_offset */
    TTP_PLAN_RBP_GONE = 3    /* it is not known: rows that need it end the walk, cut */
};
struct ttp_plan_row {
    uint32_t address;
    int32_t cfa_offset;
    int16_t rbp_offset;
    uint8_t cfa_kind, rbp_kind;
};

/* A range of code: one for each FDE. Pieces that the compiler moved away (.cold, .part) are of the
 * function that they belong to. */
enum ttp_plan_function_flags {
    TTP_PLAN_FUNCTION_COLD = 1,     /* a piece: parent is another one */
    TTP_PLAN_FUNCTION_SIGNAL = 2,   /* signal frame */
    TTP_PLAN_FUNCTION_LANDING = 4,  /* it has landing pads */
    TTP_PLAN_FUNCTION_COMPUTED = 8, /* it has a jump whose targets are not known */
    TTP_PLAN_FUNCTION_LOOKED = 16   /* its code was decoded: only where sites are, or are near */
};
struct ttp_plan_function {
    uint32_t start, end; /* [start, end) */
    uint32_t parent;     /* index: itself where it is whole */
    uint32_t flags;
};

_Static_assert(sizeof(struct ttp_plan_stamp) == 40, "no hidden padding");
_Static_assert(sizeof(struct ttp_plan_file) == 72, "no hidden padding");
_Static_assert(sizeof(struct ttp_plan_head) == 216, "no hidden padding");
_Static_assert(sizeof(struct ttp_plan_site) == 32, "no hidden padding");
_Static_assert(sizeof(struct ttp_plan_fixup) == 8, "no hidden padding");
_Static_assert(sizeof(struct ttp_plan_row) == 12, "no hidden padding");
_Static_assert(sizeof(struct ttp_plan_function) == 16, "no hidden padding");

#endif

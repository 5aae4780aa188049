/* What is in this binary: functions, where branches lead, system call instructions. Made of an
 * image, within a bound of memory; pure.
 *
 *     image --code_functions.c--> functions, sorted and apart from each other
 *           --code_rows.c-------> rows: how to find each caller's frame
 *           --code_look.c-------> instructions of the functions that are looked at
 *           --code_marks.c------> places that something leads to
 *           --ways/-------------> those that no branch shows, and functions that may be led into
 *                                 anywhere
 *           --code_sites.c------> system call instructions, and what can be moved beside them
 *           --plan_make.c-------> a plan (recorder/arena/plan.h)
 *
 * Memory: at most 8 MiB and 64 times the file's size, and never more than 512 MiB.
 * Time: each byte of code is decoded once at most, as functions do not overlap. */
#ifndef TOOL_CODE_H
#define TOOL_CODE_H

#include "program/binary/code/bounded.h"
#include "program/binary/code/decode.h"
#include "program/binary/frames/call_frames.h"
#include "program/binary/frames/image.h"
#include "recorder/arena/plan.h"

/* Memory for all of it: some for any file, and so much for each byte of the file (an instruction of
 * one byte takes 16, doubled as its table grows). */
#define TOOL_CODE_BYTES_MAX   ((size_t)512u * 1024u * 1024u)
#define TOOL_CODE_BYTES_MIN   ((size_t)8u * 1024u * 1024u)
#define TOOL_CODE_BYTES_EACH  64u
#define TOOL_CODE_ENTRIES_MAX (1u << 24) /* of tables of branch targets, in all */
#define TOOL_CODE_WANTED      (1u << 31) /* a flag of functions, beside the plan's */
#define TOOL_CODE_PIECE       (1u << 30) /* it begins with a frame on the stack already */
#define TOOL_CODE_TABLES      (1u << 29) /* it takes the address of a table of places */
#define TOOL_CODE_UNKNOWN     (1u << 28) /* a jump or call of its own leads to who knows where */
#define TOOL_CODE_ENDLESS     (1u << 27) /* nothing in it returns */
#define TOOL_CODE_OWN_FLAGS                                                                        \
    (TOOL_CODE_WANTED | TOOL_CODE_PIECE | TOOL_CODE_TABLES | TOOL_CODE_UNKNOWN | TOOL_CODE_ENDLESS)
#define TOOL_CODE_NO_FRAME SIZE_MAX

struct tool_function {
    uint32_t start, end, parent;
    uint32_t flags;      /* enum ttp_plan_function_flags */
    size_t frame_at;     /* of its FDE; TOOL_CODE_NO_FRAME: it is known by its symbol only */
    const char *name;    /* in the image; NULL: none is known */
    size_t first, count; /* of its instructions, where it was looked at */
};

/* A site: what the plan has, and the bytes that go into its table. */
struct tool_site {
    struct ttp_plan_site plan;
    uint8_t moved[2 * TTP_PLAN_WINDOW_MAX]; /* before, then after */
    uint8_t rules[TOOL_FRAMES_RULE_MAX];
};

/* Bytes that no window may touch. */
struct tool_closed {
    uint32_t start, end;
    uint8_t
        why; /* enum ttp_plan_kind: RESTARTABLE, or NO_ROOM: what is executed there is not known */
};

/* What may be a table of distances from itself, and the function that takes its address, or
 * function_count. */
struct tool_table_seen {
    uint32_t place, taker;
};

struct tool_code {
    const struct tool_image *image;
    struct tool_bounded memory;
    struct tool_function *functions;
    size_t function_count, function_capacity;
    struct ttp_plan_row *rows;
    size_t row_count, row_capacity;
    struct tool_instruction *instructions;
    size_t instruction_count, instruction_capacity;
    struct tool_site *sites;
    size_t site_count, site_capacity;
    struct ttp_plan_fixup *fixups;
    size_t fixup_count, fixup_capacity;
    uint64_t *marks; /* a bit for each byte of code: something may lead there */
    /* a bit for each byte of code: something else than a branch of its function, or of one that is
     * joined with it, may lead there; code takes its address */
    uint64_t *entered, *taken;
    /* a bit for each byte of the file: something takes its address; it is a table that a jump goes
     * by, all of whose entries are known */
    uint64_t *bases, *claimed;
    struct tool_table_seen *tables;
    size_t table_count, table_capacity;
    struct tool_closed *closed; /* sorted, apart from each other */
    size_t closed_count, closed_capacity;
    uint32_t entries_left;
    uint32_t bad_frames; /* FDEs that cannot be read, or whose rules are damaged */
};

/* All of it, for a plan. Returns NULL, or why not (static text). Close it in any case. */
const char *tool_code_open(struct tool_code *code, const struct tool_image *image);
/* The same for a patch plan: every function is looked at, and has a name; sites are left out. */
const char *tool_code_open_whole(struct tool_code *code, const struct tool_image *image);
void tool_code_close(struct tool_code *code);

/* The steps, in order. False: memory is short, or a table would be too large. */
bool tool_code_functions(struct tool_code *code);
bool tool_code_rows(struct tool_code *code);
/* Which functions a plan looks at: with system calls, which are counted, or beside them. */
bool tool_code_want(struct tool_code *code, size_t *wanted);
void tool_code_want_all(struct tool_code *code);
/* Marks where long branches lead, of all code; wants functions that jump into wanted ones. */
bool tool_code_mark_far(struct tool_code *code);
bool tool_code_look(struct tool_code *code);
/* Marks what else may be led to: by short branches, tables, landing pads, symbols, relocations. */
bool tool_code_mark_near(struct tool_code *code);
/* The ways that no branch shows. Of code that was marked. */
bool tool_code_find_ways(struct tool_code *code);
bool tool_code_sites(struct tool_code *code);

/* Code takes an address; or what may be one, of a file at fixed places. */
bool tool_code_take(struct tool_code *code, uint32_t taker, uint32_t address);

/* Why no window may touch [start, start + bytes); TTP_PLAN_CAN: one may. */
enum ttp_plan_kind tool_code_closed(const struct tool_code *code, uint32_t start, uint32_t bytes);

/* As many bits as are wanted, all 0, in memory of malloc; NULL: memory is short. */
uint64_t *tool_code_new_bits(struct tool_code *code, uint64_t count);

/* Do code or data hold the address of this place? Of code that was marked. */
bool tool_code_is_taken(const struct tool_code *code, uint32_t address);

/* The function that holds an address; function_count: none does. */
size_t tool_code_function_at(const struct tool_code *code, uint32_t address);
/* Names of functions, of symbols, and which pieces (.cold, .part) belong to which: for people and
 * patch plans; a plan has no names. */
bool tool_code_names(struct tool_code *code);

/* The row that holds for an address; NULL: none. */
const struct ttp_plan_row *tool_code_row_at(const struct tool_code *code, uint32_t address);

static inline bool tool_code_holds(const struct tool_code *code, uint64_t address)
{
    return address >= code->image->code_start && address < code->image->code_end;
}
static inline void tool_code_set_mark(struct tool_code *code, uint64_t address)
{
    uint64_t bit = address - code->image->code_start;
    if (tool_code_holds(code, address))
        code->marks[bit / 64] |= (uint64_t)1 << bit % 64;
}
static inline bool tool_code_bit(const struct tool_code *code, const uint64_t *bits,
                                 uint32_t address)
{
    uint64_t bit = (uint64_t)address - code->image->code_start;
    return tool_code_holds(code, address) && (bits[bit / 64] >> bit % 64 & 1) != 0;
}
static inline bool tool_code_begins_line(const struct tool_code *code, uint32_t address)
{
    return code->image->lines != NULL && tool_code_bit(code, code->image->lines, address);
}
static inline bool tool_code_is_entered(const struct tool_code *code, uint32_t address)
{
    return tool_code_bit(code, code->entered, address);
}
/* Something that is no branch leads to an address. */
static inline void tool_code_set_entered(struct tool_code *code, uint64_t address)
{
    uint64_t bit = address - code->image->code_start;
    tool_code_set_mark(code, address);
    if (tool_code_holds(code, address))
        code->entered[bit / 64] |= (uint64_t)1 << bit % 64;
}
static inline bool tool_code_is_marked(const struct tool_code *code, uint32_t address)
{
    return tool_code_bit(code, code->marks, address);
}

#endif

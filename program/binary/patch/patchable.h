/* How the functions of a binary can be traced that was not built for it. Pure.
 *
 *     code --patch_parts.c----> which ranges are functions, which are pieces of others
 *          --patch_exits.c----> where functions are left: returns and tail jumps
 *          --patch_windows.c--> where a jump can be put
 *          --patch_probes.c---> what is moved for it
 *          --patch_make.c-----> a patch plan (recorder/arena/patch_plan.h)
 *          --patch_inlined.c--> a plan of copies of inlined functions, beside that
 *
 * Whatever is not known costs a probe, or its function, and never the program. */
#ifndef TOOL_PATCHABLE_H
#define TOOL_PATCHABLE_H

#include "program/binary/code/code.h"
#include "program/binary/code/code_links.h"
#include "program/binary/code/code_move.h"
#include "program/binary/patch/patch_copy.h"
#include "recorder/arena/patch_plan.h"

#define TOOL_PATCH_NOBODY UINT32_MAX

/* What a range of code (code->functions) is. */
struct tool_patch_part {
    uint32_t owner;       /* the range that it is a piece of, itself where it is a function; or
                           * TOOL_PATCH_NOBODY: stubs, or a piece of who knows what */
    uint32_t first_piece; /* pieces of it; a list, by address; TOOL_PATCH_NOBODY: its end */
    uint32_t next_piece;
    uint32_t
        jumper;    /* the range that jumps to its start; itself: none; TOOL_PATCH_NOBODY: several */
    bool is_stubs; /* of the linker */
    bool is_piece;
    bool is_called;  /* something calls its start */
    bool is_joined;  /* others jump into its middle */
    bool is_looped;  /* its code jumps to its own start */
    bool is_hooked;  /* it calls the hooks */
    bool is_torn;    /* not all of it are instructions */
    bool has_labels; /* addresses of places within it are held somewhere */
    bool is_special; /* it saves or restores contexts */
};

struct tool_patch {
    struct tool_code *code;
    struct tool_code_links links;
    struct tool_patch_part *parts; /* one for each of code->functions */
    struct ttp_patch_function *functions;
    size_t function_count, function_capacity;
    struct ttp_patch_probe *probes;
    size_t probe_count, probe_capacity;
    struct ttp_plan_fixup *fixups;
    size_t fixup_count, fixup_capacity;
    uint8_t *bytes;
    size_t byte_count, byte_capacity;
    uint64_t *taken;     /* a bit for each byte of code: it is in a window */
    uint64_t split_work; /* instructions that were looked at for ways to returns */
    bool is_inlined;     /* it is of copies of inlined functions */
};

static inline bool tool_patch_is_taken(const struct tool_patch *patch, uint32_t address)
{
    uint64_t bit = (uint64_t)address - patch->code->image->code_start;
    return !tool_code_holds(patch->code, address) || (patch->taken[bit / 64] >> bit % 64 & 1) != 0;
}

/* Of code that was opened whole. Returns NULL, or why not (static text). Close it in any case. */
const char *tool_patch_open(struct tool_patch *patch, struct tool_code *code);
void tool_patch_close(struct tool_patch *patch);

/* A patch plan in memory of malloc, of a file with that content. Returns NULL, or why there is none
 * (static text). */
const char *tool_patch_make(const struct tool_patch *patch,
                            const uint8_t content[TTP_PLAN_CONTENT_BYTES], uint8_t **plan,
                            size_t *size_bytes);

/* Makes of a patch that was opened one of copies, beside chosen functions of it (bits): then it has
 * no others. Sorts the copies; several at one place are one. Returns NULL, or why not (static
 * text). */
const char *tool_patch_inlined(struct tool_patch *patch, const uint64_t *chosen,
                               struct tool_patch_copy *copies, size_t count);

/* The steps. False: memory is short, or a table would be too large. */
bool tool_patch_parts(struct tool_patch *patch);
bool tool_patch_probes(struct tool_patch *patch);

/* Where the code of a function begins that may be changed: behind an endbr64. */
uint32_t tool_patch_body(const struct tool_code *code, const struct tool_function *function);

enum tool_patch_exit {
    TOOL_EXIT_NONE, /* it stays in the function, or goes where nobody knows within it */
    TOOL_EXIT_RETURN,
    TOOL_EXIT_TAIL,
    TOOL_EXIT_TAIL_IF,
    TOOL_EXIT_LOST /* it leaves the function for no start of another one */
};
/* Whether an instruction of a range leaves its function. */
enum tool_patch_exit tool_patch_exit_of(const struct tool_patch *patch, size_t range,
                                        const struct tool_instruction *instruction);
/* Is the return address at rsp, as far as call frame information says? */
bool tool_patch_is_framed(const struct tool_code *code, uint32_t address);

#endif

/* `context --branches-of`: a function's blocks by its code, and what a branch value says of them.
 *
 *   branch_code.c   the binary's code -> blocks that tell, and which may come next
 *   branch_walk.c   a value -> ways through them
 *   branch_print.c  ways, or counts -> text, JSON */
#ifndef TOOL_BRANCH_VIEW_H
#define TOOL_BRANCH_VIEW_H

#include <tracetape/branch.h>

#include "tools/command/output.h"
#include "tools/context/branches/branch_walk.h"

#define TOOL_BRANCH_NO_NUMBER UINT32_MAX

struct tool_branch_block {
    uint32_t id;     /* of the callback's call, the last byte's address */
    uint32_t number; /* in the function, or TOOL_BRANCH_NO_NUMBER */
    char *place;     /* file and line, escaped; NULL: not known */
    bool is_unsure;  /* a jump behind it may lead anywhere in the function */
};

struct tool_branch_function {
    char *name; /* escaped */
    struct tool_branch_block *blocks;
    struct tool_branch_graph graph; /* its ids and lists are of this function's memory */
    bool has_unsure;                /* jumps that may lead anywhere in it; */
    bool starts_unsure;             /* one before the first block */
    bool moves_stack;               /* behind an alloca, blocks are not counted */
};

/* Reads the function of that name (or 0xADDRESS) of a file. Returns a tool_exit; what failed has
 * been reported. Close it in any case. */
int tool_branch_open(struct tool_branch_function *function, const char *path, const char *name);
void tool_branch_close(struct tool_branch_function *function);

struct tool_branch_wanted {
    const char *text; /* as it was given */
    ttape_branch value;
    uint32_t blocks; /* or TOOL_BRANCH_ANY_BLOCKS */
};
/* VALUE, VALUE/BLOCKS, and + behind it. */
bool tool_branch_parse(const char *text, ttape_branch_operation operation,
                       struct tool_branch_wanted *wanted);

/* Both return a tool_exit: a finding where a value has not one way. */
int tool_branch_print(const struct tool_branch_function *function,
                      const struct tool_branch_wanted *wanted, size_t count, bool json,
                      struct tool_output *out);

#endif

/* Which ways through a function's blocks give a value. Pure.
 *
 *     start -> blocks -> ... -> any of them     a way: the blocks in the order they run
 *
 * Forwards: what each block can be reached with, one block more at a time, as far as memory goes.
 * Backwards: from the value, which each operation can be undone of, to what was reached. */
#ifndef TOOL_BRANCH_WALK_H
#define TOOL_BRANCH_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tracetape/branch.h>

#define TOOL_BRANCH_ANY_BLOCKS UINT32_MAX

/* Blocks that count, and which may come next. */
struct tool_branch_graph {
    ttape_branch_operation operation; /* affine, xor or add */
    const uint64_t *ids;
    uint32_t count;
    const uint32_t *first; /* of `next`, of each block; count + 1 */
    const uint32_t *next;
    const uint32_t *starts; /* blocks that may be the first */
    uint32_t start_count;
};

struct tool_branch_bounds {
    uint32_t blocks_most; /* of a way */
    size_t states_most;   /* blocks with the values that they are reached with */
    uint64_t steps_most;  /* of going back */
};

/* A way: numbers of blocks, outermost loop included. */
typedef void (*tool_branch_take)(void *context, const uint32_t *blocks, uint32_t count);

struct tool_branch_found {
    uint64_t ways;
    bool is_whole;   /* every way of that many blocks was looked at */
    uint32_t blocks; /* the longest ways that were looked at */
};

/* Ways with that value; `blocks` of them, or any number (of XOR then the shortest ones only: a loop
 * that runs twice more has the same value). Calls `take` for each. */
struct tool_branch_found tool_branch_walk(const struct tool_branch_graph *graph, uint64_t value,
                                          uint32_t blocks, const struct tool_branch_bounds *bounds,
                                          tool_branch_take take, void *context);

#endif

/* Distinct stacks with what they weigh, exactly, in bounded memory: a tree of stacks that goes to
 * sorted runs in a temporary file when it grows too large, and is merged from them at the end. */
#ifndef TOOL_EXPORT_STACKS_H
#define TOOL_EXPORT_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/io/scratch_file.h"

#define TOOL_STACKS_NODES 524288u /* before the tree is written out; about 24 MiB */
#define TOOL_STACKS_RUNS  16u     /* before runs are merged into one */
#define TOOL_STACKS_ROOT  0u

struct tool_stacks_node {
    uint32_t parent, label;
    uint64_t weight;
};

struct tool_stacks_run {
    uint64_t offset, end; /* of its records */
};

struct tool_stacks {
    struct tool_stacks_node *nodes; /* 0 is the root */
    uint32_t node_count;
    size_t node_capacity;
    uint32_t *slots; /* (parent, label) -> node, 0: empty */
    size_t slot_count;
    uint64_t secret; /* of their places */
    uint32_t limit;  /* nodes before a spill */
    struct tool_scratch scratch;
    struct tool_stacks_run runs[TOOL_STACKS_RUNS];
    unsigned run_count;
    bool failed; /* reported */
};

void tool_stacks_open(struct tool_stacks *stacks);
void tool_stacks_close(struct tool_stacks *stacks);

/* The node of a stack: that of `parent` with a label on top. Made when it is new. */
uint32_t tool_stacks_child(struct tool_stacks *stacks, uint32_t parent, uint32_t label);

static inline void tool_stacks_add(struct tool_stacks *stacks, uint32_t node, uint64_t weight)
{
    stacks->nodes[node].weight += weight;
}

/* Too large: call tool_stacks_spill, after which all nodes but the root are gone; then make those
 * of the open frames again and call tool_stacks_settle. */
static inline bool tool_stacks_is_full(const struct tool_stacks *stacks)
{
    return stacks->node_count >= stacks->limit && !stacks->failed;
}
void tool_stacks_spill(struct tool_stacks *stacks);
void tool_stacks_settle(struct tool_stacks *stacks);

/* Visits every stack once, in the order of labels, each before those on top of it; depth 0 is a
 * stack of one. False: failed, reported. */
typedef void (*tool_stacks_visitor)(void *context, uint32_t depth, uint32_t label, uint64_t weight);
bool tool_stacks_visit(struct tool_stacks *stacks, tool_stacks_visitor visit, void *context);

/* Labels of folded stacks that are no sites. */
#define TOOL_FOLDED_SIGNAL  UINT32_C(0x80000000) /* with its number */
#define TOOL_FOLDED_UNKNOWN TTAPE_NONE           /* frames further out that are not known */

struct tool_export;

/* Visits each distinct stack of what is selected: labels are sites, weights nanoseconds; a
 * tool_exit. In formats/export_folded.c. */
int tool_export_fold(struct tool_export *export, tool_stacks_visitor visit, void *context);

#endif

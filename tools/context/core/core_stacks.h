/* The open calls of a core dump's threads, as the runtime keeps them (spec/context.md, 7). */
#ifndef TOOL_CORE_STACKS_H
#define TOOL_CORE_STACKS_H

#include <tracetape/branch.h>
#include <tracetape/context.h>

#include "recorder/arena/context_layout.h"
#include "tools/context/core/core_file.h"

enum tool_core_kind {
    TOOL_CORE_CALL,
    TOOL_CORE_SIGNAL,     /* function: its number */
    TOOL_CORE_SYSTEM_CALL /* that is recorded */
};

struct tool_core_frame {
    uint64_t sp, function;
    uint64_t value; /* of the context that it is the last call of; */
    uint32_t depth, flags;
    enum tool_core_kind kind;
    bool has_branch;
    ttape_branch branch;
    uint32_t first_local; /* core_locals.h: what is known of its locals, or TOOL_CORE_NONE */
};

/* One stack of a thread, outermost call first. */
struct tool_core_stack {
    struct tool_core_frame *frames;
    size_t count;
    bool is_running;
    const char *why; /* the dump does not have it all; NULL: it does */
};

struct tool_core_calls {
    uint32_t thread, runtime; /* numbers */
    struct tool_core_stack *stacks;
    size_t count, capacity;
    const char *why; /* nothing is known of its calls; NULL: it is */
    bool has_branch; /* of the whole thread */
    ttape_branch branch;
    uint32_t first_local; /* what is to be said of the thread's locals */
};

/* One that is in the process. */
struct tool_core_runtime {
    struct ttp_context_layout layout;
    uint64_t address;
    const char *why; /* it cannot be read */
    ttape_context_operation operation;
    ttape_context_ids ids;
    bool has_branches;
    ttape_branch_operation branch_operation;
    ttape_branch_scope branch_scope;
};
#define TOOL_CORE_RUNTIMES 8u

struct tool_core_state {
    struct tool_core *core;
    struct tool_core_runtime runtimes[TOOL_CORE_RUNTIMES];
    uint32_t runtime_count;
    struct tool_core_calls *calls; /* of threads that have some */
    size_t call_count, call_capacity;
    uint64_t frames_left, stacks_left; /* bounds for forged dumps */
    bool is_partial; /* something is not in the dump, or is more than is looked at */
};

/* core_runtime.c */
void tool_core_find_runtimes(struct tool_core_state *state);
/* core_stacks.c: calls of all threads, as all runtimes have them. */
void tool_core_read_calls(struct tool_core_state *state);
void tool_core_state_close(struct tool_core_state *state);

#endif

/* Where the runtime keeps open calls in a process, for who reads its memory from outside: a core
 * dump, or a debugger. spec/context.md, 7, says what it means.
 *
 *     thread pointer + thread --> state --> stacks --> stack: base ... top ... end
 *                                   top ------------------------^     cells, one for each frame
 *
 * It lies in the runtime's data, aligned to 16 bytes, and begins with words that are found there.
 * Offsets are in it, so only a runtime that keeps calls in another way is of another version. */
#ifndef TTP_WRITER_CONTEXT_LAYOUT_H
#define TTP_WRITER_CONTEXT_LAYOUT_H

#include <stdint.h>

#define TTP_LAYOUT_MAGIC       "ttape contexts\n"
#define TTP_LAYOUT_MAGIC_BYTES 16u
#define TTP_LAYOUT_VERSION     2u
#define TTP_LAYOUT_AWAITS      ((uint64_t)1 << 60) /* in a frame's sp: its function has jumped */
#define TTP_LAYOUT_SP          (((uint64_t)1 << 56) - 1)
#define TTP_LAYOUT_ALONE       1u /* kinds of runtime: libtracetape-context, */
#define TTP_LAYOUT_RECORDING   2u /* libtracetape-rt */

struct ttp_context_layout {
    char magic[TTP_LAYOUT_MAGIC_BYTES];
    uint32_t version, bytes; /* of all this */
    uint32_t kind;
    uint32_t mode_on; /* calls are kept where *mode is this */
    int64_t thread;   /* of a thread's state, from its thread pointer; 0: it has not begun */
    /* Addresses. */
    uint64_t mode, no_state; /* the page of threads that have no calls yet */
    uint64_t operation, ids; /* of context values, each 4 bytes */
    uint64_t branch_is_on;   /* 1 byte */
    uint64_t branch_operation, branch_scope;
    /* What the function of a frame may be instead: of a mark, from 1 on; of a system call. */
    uint64_t function_mask, mark_end, key_first, key_end;
    /* Offsets in a thread's state, of pointers; in its page; in its stacks. */
    uint32_t thread_top, thread_page, thread_stacks, thread_branch;
    uint32_t page_gate, page_deep; /* 4 bytes, and 8; gates gate_first to gate_last have calls */
    uint32_t gate_first, gate_last;
    uint32_t stacks_count, stacks_current, stacks_list;
    uint32_t stacks_alternate_low, stacks_alternate_high;
    /* In a stack, in a frame, in a cell. */
    uint32_t stack_bytes, stack_base, stack_top, stack_end, stack_branches, stack_stale;
    uint32_t frame_bytes, frame_sp, frame_function, frame_call_site, frames_spare;
    uint32_t cell_bytes, cell_value, cell_blocks, cell_flags, cell_counts;
};

#endif

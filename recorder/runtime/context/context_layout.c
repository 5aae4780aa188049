/* The table by which open calls are found from outside the process: see
 * recorder/arena/context_layout.h. Nothing here reads it. */
#include <stddef.h>

#include "recorder/arena/context_layout.h"
#include "recorder/runtime/branch/branch_state.h"
#include "recorder/runtime/context/context_state.h"

#define THREAD(member) offsetof(struct ttp_thread_state, member)
#define PAGE(member)   offsetof(struct ttp_thread_page, member)
#define STACKS(member) offsetof(struct ttp_stacks, member)
#define STACK(member)  offsetof(struct ttp_runtime_stack, member)
#define FRAME(member)  offsetof(struct ttp_runtime_frame, member)
#define CELL(member)   offsetof(ttape_branch, member)

/* In data that is written to, so that each core dump has it. Under its name for debuggers a process
 * may have two. */
static struct ttp_context_layout layout __attribute__((aligned(16))) = {
    .magic = TTP_LAYOUT_MAGIC,
    .version = TTP_LAYOUT_VERSION,
    .bytes = sizeof(struct ttp_context_layout),
    .mode_on = TTP_MODE_ON,
    .function_mask = TTP_FRAME_ADDRESS,
    .mark_end = TTP_FRAME_MARK + TTP_MARKS,
    .key_first = TTP_CALL_KEYS,
    .key_end = TTP_CALL_KEYS_END,
    .thread_top = THREAD(top),
    .thread_page = THREAD(page),
    .thread_stacks = THREAD(stacks),
    .thread_branch = THREAD(branch),
    .page_gate = PAGE(gate),
    .page_deep = PAGE(deep_frames),
    .gate_first = TTP_GATE_NO_STATE, /* a forked child, whose page is not no_state */
    .gate_last = TTP_GATE_DROP,
    .stacks_count = STACKS(count),
    .stacks_current = STACKS(current),
    .stacks_list = STACKS(list),
    .stacks_alternate_low = STACKS(alternate_low),
    .stacks_alternate_high = STACKS(alternate_high),
    .stack_bytes = sizeof(struct ttp_runtime_stack),
    .stack_base = STACK(base),
    .stack_top = STACK(top),
    .stack_end = STACK(end),
    .stack_branches = STACK(branches),
    .stack_stale = STACK(is_stale),
    .frame_bytes = sizeof(struct ttp_runtime_frame),
    .frame_sp = FRAME(sp),
    .frame_function = FRAME(function),
    .frame_call_site = FRAME(call_site),
    .frames_spare = TTP_FRAMES_SPARE,
    .cell_bytes = sizeof(ttape_branch),
    .cell_value = CELL(value),
    .cell_blocks = CELL(blocks),
    .cell_flags = CELL(flags),
    .cell_counts = CELL(counts),
};

extern struct ttp_context_layout ttp_context_layout
    __attribute__((alias("layout"), visibility("default")));

void ttp_context_show(uint32_t kind)
{
    layout.kind = kind;
    layout.mode = (uintptr_t)&ttp_arena.head.mode;
    layout.no_state = (uintptr_t)&ttp_page_no_state;
    layout.operation = (uintptr_t)&ttp_context_settings.operation;
    layout.ids = (uintptr_t)&ttp_context_settings.ids;
    layout.branch_is_on = (uintptr_t)&ttp_branch_settings.is_on;
    layout.branch_operation = (uintptr_t)&ttp_branch_settings.operation;
    layout.branch_scope = (uintptr_t)&ttp_branch_settings.scope;
    TTP_SIGNAL_FENCE();
    layout.thread = (int64_t)((uintptr_t)&ttp_thread - ttp_thread_block());
}

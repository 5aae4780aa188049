/* What the hooks ask for in a program that was started for recording, and what the answer is where
 * it was attached to: its blocks are all mapped, it has no further memory, and nothing is patched
 * for faults or branches. */
#include <string.h>

#include "recorder/runtime/agent/agent.h"
#include "recorder/runtime/branch/branch_state.h"
#include "recorder/runtime/faults/faults.h"
#include "recorder/runtime/library/library_values.h"
#include "recorder/runtime/patch/probe.h"

struct ttp_branch_settings ttp_branch_settings;

/* -- what compilers call where structures are set or copied; by loops that they do not see
 * through, as the program may have the direction flag set -- */

void *memset(void *to, int value, size_t bytes)
{
    volatile uint8_t *at = to;
    for (size_t i = 0; i < bytes; i++)
        at[i] = (uint8_t)value;
    return to;
}

void *memcpy(void *restrict to, const void *restrict from, size_t bytes)
{
    volatile uint8_t *at = to;
    const uint8_t *byte = from;
    for (size_t i = 0; i < bytes; i++)
        at[i] = byte[i];
    return to;
}

/* -- blocks -- */

struct ttp_block_head *ttp_arena_block(uint32_t index)
{
    return (struct ttp_block_head *)(ttp_agent_shared.blocks + (uint64_t)index * TTP_BLOCK_BYTES);
}

uint32_t ttp_arena_mapped(void) { return ttp_agent_shared.block_count; }

bool ttp_arena_holds(uint64_t address)
{
    return address - ttp_agent_shared.blocks <
           (uint64_t)ttp_agent_shared.block_count * TTP_BLOCK_BYTES;
}

uint32_t ttp_arena_index(const struct ttp_block_head *block)
{
    uint64_t offset = (uintptr_t)block - ttp_agent_shared.blocks;
    return ttp_arena_holds((uintptr_t)block) ? (uint32_t)(offset / TTP_BLOCK_BYTES) : 0;
}

/* Who has attached adds some. Where that is gone, nothing is recorded any more: each call costs one
 * comparison then. */
bool ttp_arena_grow(void)
{
    if (ttp_recorder_is_gone())
        __atomic_store_n(&ttp_arena.head.mode, TTP_MODE_STOPPED, __ATOMIC_RELAXED);
    return false;
}

/* -- memory -- */

long ttp_room_map(size_t bytes)
{
    (void)bytes;
    return -12; /* ENOMEM */
}

void ttp_room_unmap(void *memory, size_t bytes)
{
    (void)memory;
    (void)bytes;
}

bool ttp_mapping_find(uintptr_t address, uintptr_t *low, uintptr_t *high, uintptr_t *before)
{
    (void)address;
    *low = *high = *before = 0;
    return false;
}

/* -- the process -- */

uint32_t ttp_process_number(void) { return ttp_process.page->process_id; }
uint32_t ttp_thread_number(void) { return ttp_thread.page->thread_id; }
bool ttp_write_pending_process(void) { return true; }
bool ttp_kept_write(void) { return true; }
void ttp_fact_write_start(void) {}
void ttp_fact_write_fault(uint32_t number, uint64_t address)
{
    (void)number;
    (void)address;
}
uint64_t ttp_clock_monotonic(void) { return 0; }
uintptr_t ttp_fault_handler(uintptr_t front) { return front; }
bool ttp_is_fault_return(uintptr_t call_site)
{
    (void)call_site;
    return false;
}
bool ttp_is_in_stubs(uintptr_t code)
{
    const struct ttp_agent_area *areas = ttp_agent_shared.areas;
    bool is_in = code - ttp_agent_shared.region < ttp_agent_shared.region_bytes;
    for (uint32_t i = 1; i < TTP_AGENT_AREAS && areas[i].bytes != 0 && !is_in; i++)
        is_in = code - areas[i].at < areas[i].bytes;
    return is_in;
}

/* -- values of libraries' functions -- */

/* Nothing is patched for marks. */
void ttp_probe_mark(uintptr_t address, uintptr_t unused, uintptr_t sp)
{
    (void)address;
    (void)unused;
    (void)sp;
}

bool ttp_library_is_other(uintptr_t call_site, uintptr_t sp)
{
    (void)call_site;
    (void)sp;
    return false;
}

/* Whether this is a function of a library of which only calls are recorded, and has a row of values
 * there: not in another module, which has jumped here. */
static bool has_called_values(uintptr_t function, uintptr_t sp)
{
    const struct ttp_probe_data *data = ttp_probe_data_of(sp);
    return data->enter == (uintptr_t)ttp_library_enter_entry &&
           function - data->module_start < data->module_bytes && data->values != NULL;
}

void ttp_library_enter_valued(uintptr_t function, uintptr_t call_site, uintptr_t sp)
{
    if (has_called_values(function, sp))
        ttp_probe_enter_valued(function, call_site, sp);
    else
        ttp_probe_enter(function, call_site, sp);
}

void ttp_library_exit_valued(uintptr_t function, uintptr_t call_site, uintptr_t sp)
{
    if (has_called_values(function, sp))
        ttp_probe_exit_valued(function, call_site, sp);
    else
        ttp_probe_exit(function, call_site, sp);
}

void ttp_branch_close(struct ttp_runtime_stack *stack) { (void)stack; }
void ttp_branch_entered(const struct ttp_runtime_frame *frame) { (void)frame; }
bool ttp_branch_end_values(struct ttp_call_values *values)
{
    (void)values;
    return false;
}

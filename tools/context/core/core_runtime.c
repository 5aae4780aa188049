/* Runtimes in a core dump: the table that each has in its data is looked for, first in what is
 * mapped from files. */
#include <stdlib.h>
#include <string.h>

#include "tools/command/tool.h"
#include "tools/context/core/core_stacks.h"

#define CHUNK      (1u << 20)
#define ALIGNMENT  16u
#define ITEM_MOST  4096u /* bytes of a stack, a frame or a cell of which offsets make sense */
#define HEAD_BYTES 24u   /* magic, version, size */

static bool fits_whole(uint32_t offset, uint32_t size, uint32_t whole)
{
    return whole <= ITEM_MOST && offset <= whole && size <= whole - offset;
}

static bool makes_sense(const struct ttp_context_layout *layout)
{
    uint32_t stack = layout->stack_bytes, frame = layout->frame_bytes, cell = layout->cell_bytes;
    return fits_whole(layout->stack_base, 8, stack) && fits_whole(layout->stack_top, 8, stack) &&
           fits_whole(layout->stack_end, 8, stack) &&
           fits_whole(layout->stack_branches, 8, stack) &&
           fits_whole(layout->stack_stale, 1, stack) && fits_whole(layout->frame_sp, 8, frame) &&
           fits_whole(layout->frame_function, 8, frame) &&
           fits_whole(layout->frame_call_site, 8, frame) &&
           fits_whole(layout->cell_value, 8, cell) && fits_whole(layout->cell_blocks, 4, cell) &&
           fits_whole(layout->cell_flags, 4, cell) &&
           fits_whole(layout->cell_counts, TTAPE_BRANCH_COUNTERS, cell) &&
           layout->frames_spare <= ITEM_MOST;
}

static uint32_t setting(struct tool_core *core, uint64_t address, uint32_t bytes, uint32_t most,
                        const char **why)
{
    uint8_t read[4];
    uint32_t number = 0;
    if (!tool_core_read(core, address, read, bytes))
        *why = "its settings are not in the dump";
    else
        number = (uint32_t)tool_core_number(read, bytes);
    if (number > most)
        *why = "its settings make no sense";
    return number;
}

static void read_settings(struct tool_core *core, struct tool_core_runtime *runtime)
{
    const struct ttp_context_layout *layout = &runtime->layout;
    const char *why = NULL;
    if (layout->version - 1 >= TTP_LAYOUT_VERSION || layout->bytes != sizeof *layout)
        why = "it keeps calls in another way than this tracetape knows";
    else if (layout->thread == 0)
        why = "it had not begun, or was not the one in use";
    else if (!makes_sense(layout))
        why = "its table makes no sense";
    runtime->why = why;
    if (why != NULL)
        return;
    runtime->operation = (ttape_context_operation)setting(core, layout->operation, 4,
                                                          TTAPE_CONTEXT_MULTIPLY, &runtime->why);
    runtime->ids =
        (ttape_context_ids)setting(core, layout->ids, 4, TTAPE_CONTEXT_IDS_ADDRESS, &runtime->why);
    runtime->has_branches = setting(core, layout->branch_is_on, 1, 1, &runtime->why) != 0;
    runtime->branch_operation = (ttape_branch_operation)setting(core, layout->branch_operation, 4,
                                                                TTAPE_BRANCH_COUNTS, &runtime->why);
    runtime->branch_scope = (ttape_branch_scope)setting(core, layout->branch_scope, 4,
                                                        TTAPE_BRANCH_THREAD, &runtime->why);
}

static void add_address(struct tool_core_state *state, uint64_t address)
{
    struct tool_core_runtime *runtime = &state->runtimes[state->runtime_count];
    *runtime = (struct tool_core_runtime){.address = address};
    if (!tool_core_read(state->core, address, &runtime->layout, sizeof runtime->layout) &&
        !tool_core_read(state->core, address, &runtime->layout, HEAD_BYTES))
        return;
    read_settings(state->core, runtime);
    state->runtime_count++;
}

static void scan_chunk(struct tool_core_state *state, const uint8_t *bytes, uint64_t size,
                       uint64_t address)
{
    for (uint64_t at = 0; at + TTP_LAYOUT_MAGIC_BYTES <= size; at += ALIGNMENT)
        if (bytes[at] == 't' && state->runtime_count < TOOL_CORE_RUNTIMES &&
            memcmp(bytes + at, TTP_LAYOUT_MAGIC, TTP_LAYOUT_MAGIC_BYTES) == 0)
            add_address(state, address + at);
}

/* A dump's segments do not share bytes of its file: of more than it has, some are forged. */
static void scan(struct tool_core_state *state, bool is_of_files, uint8_t *chunk)
{
    struct tool_core *core = state->core;
    uint64_t budget = core->file_bytes;
    for (size_t i = 0; i < core->load_count; i++) {
        const struct tool_core_load *load = &core->loads[i];
        bool is_mapped = tool_core_mapping(core, load->start) != NULL;
        if (is_mapped != is_of_files || load->file_bytes > budget)
            continue;
        budget -= load->file_bytes;
        for (uint64_t at = 0; at < load->file_bytes; at += CHUNK) {
            uint64_t size = load->file_bytes - at < CHUNK ? load->file_bytes - at : CHUNK;
            if (tool_elf_read_exactly(core->fd, load->offset + at, chunk, (size_t)size))
                scan_chunk(state, chunk, size, load->start + at);
        }
    }
}

void tool_core_find_runtimes(struct tool_core_state *state)
{
    uint8_t *chunk = tool_allocate(CHUNK, 1);
    scan(state, true, chunk);
    if (state->runtime_count == 0)
        scan(state, false, chunk);
    free(chunk);
}

/* Frames of each thread, with the value and the branch value of each: what ttape_context() would
 * have said there. */
#include <stdlib.h>
#include <string.h>

#include "tools/command/tool.h"
#include "tools/context/core/core_stacks.h"

#define STACKS_MOST 32768u
#define FRAMES_MOST (UINT64_C(1) << 20) /* of one stack */
#define FRAMES_ALL  (UINT64_C(1) << 20)
#define STACKS_ALL  (UINT64_C(1) << 20)
#define PATH_MOST   256u /* of a name that is an id's seed */

/* A thread's state, as far as it is needed. */
struct state {
    struct tool_core_state *all;
    struct tool_core *core;
    const struct tool_core_runtime *runtime;
    const struct tool_core_thread *thread;
    uint64_t top, stacks, page;
    uint64_t alternate_low, alternate_high;
};

struct bounds {
    uint64_t base, top, end, branches;
    bool is_stale;
};

static bool word(struct state *state, uint64_t address, uint32_t offset, uint64_t *into)
{
    return tool_core_word(state->core, address + offset, into);
}

static bool short_word(struct state *state, uint64_t address, uint32_t offset, uint32_t *into)
{
    uint8_t bytes[4];
    bool is_there = tool_core_read(state->core, address + offset, bytes, sizeof bytes);
    *into = is_there ? (uint32_t)tool_core_number(bytes, 4) : 0;
    return is_there;
}

/* -- ids -- */

static uint64_t seed_of(struct tool_core *core, struct tool_core_module *module)
{
    (void)tool_core_find_file(core, module);
    if (module->build_id_bytes != 0)
        return ttape_context_seed(module->build_id, module->build_id_bytes);
    if (!module->has_head && module->fd >= 0 && module->head.build_id_bytes != 0)
        return ttape_context_seed(module->head.build_id, module->head.build_id_bytes);
    char name[5 + PATH_MOST] = "file:";
    const char *slash = strrchr(module->path, '/'),
               *last = slash == NULL ? module->path : slash + 1;
    size_t size = strnlen(last, PATH_MOST);
    memcpy(name + 5, last, size);
    return ttape_context_seed(name, 5 + size);
}

static uint64_t id_of(struct state *state, uint64_t function)
{
    struct tool_core_module *module = tool_core_module_at(state->core, function);
    if (module != NULL)
        module->has_calls = true;
    if (state->runtime->ids == TTAPE_CONTEXT_IDS_ADDRESS)
        return function;
    if (module == NULL)
        return ttape_context_id(0, function);
    return ttape_context_id(seed_of(state->core, module), function - module->start);
}

/* -- one stack -- */

static enum tool_core_kind kind_of(const struct ttp_context_layout *layout, uint64_t function)
{
    if (function - 1 < layout->mark_end - 1)
        return TOOL_CORE_SIGNAL;
    return function - layout->key_first < layout->key_end - layout->key_first
               ? TOOL_CORE_SYSTEM_CALL
               : TOOL_CORE_CALL;
}

static bool read_cell(struct state *state, uint64_t address, ttape_branch *cell)
{
    const struct ttp_context_layout *layout = &state->runtime->layout;
    uint8_t *bytes = tool_allocate(layout->cell_bytes, 1);
    bool is_there = tool_core_read(state->core, address, bytes, layout->cell_bytes);
    if (is_there) {
        cell->value = tool_core_number(bytes + layout->cell_value, 8);
        cell->blocks = (uint32_t)tool_core_number(bytes + layout->cell_blocks, 4);
        cell->flags = (uint32_t)tool_core_number(bytes + layout->cell_flags, 4);
        memcpy(cell->counts, bytes + layout->cell_counts, sizeof cell->counts);
        if (cell->blocks == 0)
            cell->value = ttape_branch_first(state->runtime->branch_operation).value;
    }
    free(bytes);
    return is_there;
}

static bool is_on_alternate(const struct state *state, uint64_t address)
{
    return address - state->alternate_low < state->alternate_high - state->alternate_low;
}

/* Its function has ended with a jump to another one that is not recorded. As long as that runs, its
 * return address is where it was; the word may be left from then, too. */
static bool is_past(struct state *state, const uint8_t *frame)
{
    const struct ttp_context_layout *layout = &state->runtime->layout;
    uint64_t function = tool_core_number(frame + layout->frame_function, 8), there;
    uint64_t sp = tool_core_number(frame + layout->frame_sp, 8);
    return kind_of(layout, function) == TOOL_CORE_CALL && (sp & TTP_LAYOUT_AWAITS) != 0 &&
           (!tool_core_word(state->core, sp & TTP_LAYOUT_SP, &there) ||
            there != tool_core_number(frame + layout->frame_call_site, 8));
}

/* What a jump has left lies below the stack pointer. */
static bool is_gone(const struct state *state, const struct ttp_context_layout *layout,
                    const uint8_t *frame)
{
    uint64_t sp = state->thread->registers[TOOL_CORE_RSP];
    uint64_t function = tool_core_number(frame + layout->frame_function, 8);
    uint32_t where =
        kind_of(layout, function) == TOOL_CORE_SIGNAL ? layout->frame_call_site : layout->frame_sp;
    uint64_t at = tool_core_number(frame + where, 8) & TTP_LAYOUT_SP;
    return at < sp && is_on_alternate(state, at) == is_on_alternate(state, sp);
}

/* The next frame, of what is around it. */
static void take_frame(struct state *state, const uint8_t *bytes,
                       const struct tool_core_frame *around, struct tool_core_frame *frame)
{
    const struct ttp_context_layout *layout = &state->runtime->layout;
    ttape_context_operation operation = state->runtime->operation;
    uint64_t function = tool_core_number(bytes + layout->frame_function, 8);
    *frame = *around;
    frame->has_branch = false;
    frame->sp = tool_core_number(bytes + layout->frame_sp, 8) & TTP_LAYOUT_SP;
    frame->kind = kind_of(layout, function);
    frame->first_local = TOOL_CORE_NONE;
    frame->function = frame->kind == TOOL_CORE_CALL     ? function & layout->function_mask
                      : frame->kind == TOOL_CORE_SIGNAL ? function - 1
                                                        : function - layout->key_first;
    if (frame->kind != TOOL_CORE_CALL)
        return;
    frame->value = ttape_context_enter(operation, around->value, id_of(state, frame->function));
    frame->depth = around->depth + 1;
    if (operation == TTAPE_CONTEXT_ADD && frame->value < around->value)
        frame->flags |= TTAPE_CONTEXT_OVERFLOW;
}

static void take_all(struct state *state, const struct bounds *bounds, const uint8_t *bytes,
                     size_t count, struct tool_core_stack *stack)
{
    const struct tool_core_runtime *runtime = state->runtime;
    const struct ttp_context_layout *layout = &runtime->layout;
    struct tool_core_frame around = {.value = ttape_context_first(runtime->operation)};
    bool has_cells = runtime->has_branches && bounds->branches != 0 &&
                     runtime->branch_scope == TTAPE_BRANCH_CALL;
    stack->frames = tool_allocate(count + 1, sizeof *stack->frames);
    for (size_t i = 0; i < count; i++) {
        struct tool_core_frame *frame = &stack->frames[stack->count];
        if (is_past(state, bytes + i * layout->frame_bytes))
            continue;
        stack->count++;
        take_frame(state, bytes + i * layout->frame_bytes, &around, frame);
        if (has_cells && frame->kind == TOOL_CORE_CALL)
            frame->has_branch =
                read_cell(state, bounds->branches + (i + 1) * layout->cell_bytes, &frame->branch);
        around = *frame;
    }
}

static const char *read_frames(struct state *state, const struct bounds *bounds,
                               struct tool_core_stack *stack)
{
    const struct ttp_context_layout *layout = &state->runtime->layout;
    uint64_t bytes = bounds->top - bounds->base, count = bytes / layout->frame_bytes;
    if (bounds->top < bounds->base || bytes % layout->frame_bytes != 0 || count > FRAMES_MOST)
        return "its list of calls makes no sense";
    if (count > state->all->frames_left)
        return "the dump has more calls than are looked at";
    if (count == 0)
        return NULL;
    state->all->frames_left -= count;
    uint8_t *frames = tool_allocate((size_t)count, layout->frame_bytes);
    const char *why = "its calls are not in the dump";
    if (tool_core_read(state->core, bounds->base + layout->frame_bytes, frames,
                       count * layout->frame_bytes)) {
        why = NULL;
        while (stack->is_running && count != 0 &&
               is_gone(state, layout, frames + (count - 1) * layout->frame_bytes))
            count--;
        take_all(state, bounds, frames, (size_t)count, stack);
    }
    free(frames);
    return why;
}

/* -- a thread -- */

static void add_stack(struct state *state, struct tool_core_calls *calls,
                      const struct bounds *bounds, bool is_running)
{
    struct tool_core_stack stack = {.is_running = is_running};
    stack.why = read_frames(state, bounds, &stack);
    state->all->is_partial |= stack.why != NULL;
    if (stack.count == 0 && stack.why == NULL && !is_running) {
        free(stack.frames);
        return;
    }
    tool_grow((void **)&calls->stacks, &calls->capacity, calls->count + 1, sizeof stack);
    calls->stacks[calls->count++] = stack;
}

static bool read_stack(struct state *state, uint64_t address, struct bounds *bounds)
{
    const struct ttp_context_layout *layout = &state->runtime->layout;
    uint8_t stale;
    if (!word(state, address, layout->stack_base, &bounds->base) ||
        !word(state, address, layout->stack_top, &bounds->top) ||
        !word(state, address, layout->stack_end, &bounds->end) ||
        !word(state, address, layout->stack_branches, &bounds->branches) ||
        !tool_core_read(state->core, address + layout->stack_stale, &stale, 1))
        return false;
    bounds->is_stale = stale != 0;
    return true;
}

/* Of all, the one that the thread is on, or the others. */
static const char *read_listed(struct state *state, struct tool_core_calls *calls, uint64_t list,
                               uint32_t count, bool wants_running)
{
    const struct ttp_context_layout *layout = &state->runtime->layout;
    uint64_t spare = (uint64_t)layout->frames_spare * layout->frame_bytes;
    for (uint32_t i = 0; i < count; i++) {
        struct bounds bounds;
        if (!read_stack(state, list + (uint64_t)i * layout->stack_bytes, &bounds))
            return "one of its stacks is not in the dump";
        bool is_running = state->top >= bounds.base && bounds.end >= bounds.base &&
                          state->top - bounds.base <= bounds.end - bounds.base + spare;
        if (is_running != wants_running || (bounds.is_stale && !is_running))
            continue;
        if (is_running)
            bounds.top = state->top; /* the list has it as it was when the thread left the stack */
        add_stack(state, calls, &bounds, is_running);
    }
    return NULL;
}

static const char *read_stacks(struct state *state, struct tool_core_calls *calls)
{
    const struct ttp_context_layout *layout = &state->runtime->layout;
    uint64_t list;
    uint32_t count;
    if (!word(state, state->stacks, layout->stacks_list, &list) ||
        !short_word(state, state->stacks, layout->stacks_count, &count) ||
        !word(state, state->stacks, layout->stacks_alternate_low, &state->alternate_low) ||
        !word(state, state->stacks, layout->stacks_alternate_high, &state->alternate_high))
        return "its list of stacks is not in the dump";
    if (count > STACKS_MOST)
        return "its list of stacks makes no sense";
    if (count > state->all->stacks_left)
        return "the dump has more stacks than are looked at";
    state->all->stacks_left -= count;
    const char *why = read_listed(state, calls, list, count, true);
    return why != NULL ? why : read_listed(state, calls, list, count, false);
}

static const char *read_thread(struct state *state, struct tool_core_calls *calls)
{
    const struct ttp_context_layout *layout = &state->runtime->layout;
    uint64_t address = state->thread->registers[TOOL_CORE_FS_BASE] + (uint64_t)layout->thread;
    uint64_t deep, own;
    uint32_t gate, mode;
    if (!word(state, address, layout->thread_top, &state->top) ||
        !word(state, address, layout->thread_page, &state->page) ||
        !word(state, address, layout->thread_stacks, &state->stacks) ||
        !word(state, address, layout->thread_branch, &own))
        return "what the runtime keeps of it is not in the dump";
    if (state->page == layout->no_state || state->stacks == 0)
        return NULL;
    if (!short_word(state, state->page, layout->page_gate, &gate) ||
        !word(state, state->page, layout->page_deep, &deep))
        return "what the runtime keeps of it is not in the dump";
    if (gate < layout->gate_first || gate > layout->gate_last)
        return "nothing kept its calls";
    if (deep != 0)
        return "more calls were open than the runtime keeps";
    /* The recorder's memory is seldom in a dump. */
    if (short_word(state, layout->mode, 0, &mode) && mode != layout->mode_on)
        return "recording was off";
    if (state->runtime->has_branches && own != 0)
        calls->has_branch = read_cell(state, own, &calls->branch);
    return read_stacks(state, calls);
}

void tool_core_read_calls(struct tool_core_state *state)
{
    struct tool_core *core = state->core;
    state->frames_left = FRAMES_ALL;
    state->stacks_left = STACKS_ALL;
    for (uint32_t r = 0; r < state->runtime_count; r++)
        for (size_t i = 0; i < core->thread_count && state->runtimes[r].why == NULL; i++) {
            struct tool_core_calls calls = {
                .thread = (uint32_t)i, .runtime = r, .first_local = TOOL_CORE_NONE};
            struct state one = {.all = state,
                                .core = core,
                                .runtime = &state->runtimes[r],
                                .thread = &core->threads[i]};
            calls.why = read_thread(&one, &calls);
            state->is_partial |= calls.why != NULL;
            if (calls.why == NULL && calls.count == 0)
                continue;
            tool_grow((void **)&state->calls, &state->call_capacity, state->call_count + 1,
                      sizeof calls);
            state->calls[state->call_count++] = calls;
        }
}

void tool_core_state_close(struct tool_core_state *state)
{
    for (size_t i = 0; i < state->call_count; i++) {
        for (size_t s = 0; s < state->calls[i].count; s++)
            free(state->calls[i].stacks[s].frames);
        free(state->calls[i].stacks);
    }
    free(state->calls);
}

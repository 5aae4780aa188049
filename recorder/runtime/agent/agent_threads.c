/* Threads of a program that was attached to: each gets a state at its first event, out of those
 * that were made ahead.
 *
 *     %fs:0 --hash--> slot {control block, thread id} --> state | stacks | frames, and a page
 *
 * A thread that ends says nothing. Where another one has the same control block later, its id there
 * is another one: that thread takes over the state, and a stream of its own begins. */
#include "recorder/runtime/agent/agent.h"
#include "recorder/runtime/hot.h"
#include "recorder/runtime/patch/patch.h"

#define LOOKS     64u        /* for a slot */
#define LEFT_OUT  1u         /* the number of threads that were not named */
#define STACKS_AT 64u        /* in a thread's memory, behind where its state is */
#define OWN_MOST  (8u << 20) /* of a thread's stack */

struct ttp_agent_shared ttp_agent_shared __attribute__((aligned(64)));
struct ttp_agent_wiped ttp_agent_wiped __attribute__((aligned(4096)));
struct ttp_thread_page ttp_page_unusable = {.gate = TTP_GATE_UNUSABLE};
static struct ttp_thread_page page_left_out = {.gate = TTP_GATE_RECORDER_THREAD};
struct ttp_agent_own ttp_agent_states[TTP_AGENT_SLOTS] __attribute__((aligned(4096)));
static struct ttp_thread_state nobody, left_out; /* without memory */
struct ttp_runtime_process ttp_process = {.state = TTP_PROCESS_ON, .avoids_system_calls = 1};
union ttp_arena_page ttp_arena
    __attribute__((aligned(TTP_ARENA_HEAD_BYTES))) = {.head = {.mode = TTP_MODE_STOPPED}};

_Static_assert(STACKS_AT + sizeof(struct ttp_stacks) <= TTP_AGENT_FRAMES_AT, "they have a page");
_Static_assert(sizeof(struct ttp_thread_page) <= TTP_AGENT_PAGE, "and so has the thread's page");
_Static_assert(offsetof(struct ttp_thread_state, top) == TTP_AGENT_TOP_AT &&
                   offsetof(struct ttp_thread_page, thread_id) == TTP_AGENT_ID_AT &&
                   sizeof(struct ttp_runtime_frame) == TTP_AGENT_FRAME_BYTES &&
                   offsetof(struct ttp_runtime_frame, function) == TTP_AGENT_FUNCTION_AT &&
                   TTP_FRAME_ADDRESS == TTP_AGENT_FUNCTION,
               "who attaches reads them");
_Static_assert(sizeof(struct ttp_agent_wiped) % TTP_AGENT_PAGE == 0, "whole pages are wiped");
_Static_assert(sizeof(struct ttp_agent_own) == TTP_AGENT_PAGE &&
                   offsetof(struct ttp_arena_head, mode) == TTP_AGENT_MODE_AT && TTP_MODE_ON == 1,
               "as the hooks' entries have it");

static uint8_t *memory_at(uint32_t number)
{
    return (uint8_t *)(ttp_agent_shared.states + (uint64_t)number * ttp_agent_shared.state_bytes);
}

static uint64_t read_clock(void) { return ttp_tsc(); }

/* Whose calls of libraries are recorded. */
static void take_callers(const struct ttp_agent_module *modules)
{
    for (uint32_t i = 0; i < TTP_AGENT_MODULES && modules[i].high != 0; i++) {
        const struct ttp_caller caller = {modules[i].low, modules[i].high - modules[i].low};
        if (modules[i].is_caller == 0)
            continue;
        if (ttp_process.caller_bytes == 0) {
            ttp_process.caller_low = caller.low;
            ttp_process.caller_bytes = caller.bytes;
        } else if (ttp_process.caller_count < TTP_CALLERS_MAX)
            ttp_process.callers[ttp_process.caller_count++] = caller;
    }
}

void ttp_agent_ready(void)
{
    const struct ttp_agent_shared *shared = &ttp_agent_shared;
    nobody.page = &ttp_page_unusable;
    left_out.page = &page_left_out;
    ttp_agent_shared.next_state = LEFT_OUT;
    ttp_process.page = &ttp_agent_wiped.process;
    ttp_process.page->process_id = shared->process_id;
    ttp_process.page->image = ttp_process.last_image = shared->image;
    ttp_process.block_capacity = shared->block_count;
    ttp_process.block_states =
        (uint32_t *)((uint8_t *)shared->blocks - shared->blocks_offset + TTP_ARENA_HEAD_BYTES);
    ttp_process.clock = read_clock;
    ttp_process.tid_offset = shared->thread_id_at;
    ttp_process.libc_low = shared->libc_low;
    ttp_process.libc_high = shared->libc_high;
    ttp_process.library.count = shared->calls_have_values; /* hooks ask for no more than that */
    for (uint32_t i = 0; i < shared->known_count && i < TTP_AGENT_KNOWN; i++)
        if (shared->known[i].thread_id == shared->process_id)
            ttp_process.executed = (const char *)shared->known[i].stack_high;
    take_callers(shared->modules);
}

/* -- finding a state -- */

static inline __attribute__((always_inline)) uint32_t id_in(uint64_t block)
{
    return *(const uint32_t *)(block + ttp_agent_shared.thread_id_at);
}

static bool is_filled_by(const struct ttp_block_head *block, const struct ttp_thread_state *state)
{
    return __atomic_load_n(&block->serial, __ATOMIC_ACQUIRE) == state->serial;
}

/* The stream of the thread before has ended, with what it has recorded. The recorder may have seen
 * that it is gone: then its block is free, or another thread's. */
static void end_stream(struct ttp_thread_state *state)
{
    uint64_t at = state->cursor;
    if ((at & TTP_NO_BLOCK) != 0 || at == 0)
        return;
    struct ttp_block_head *block =
        (struct ttp_block_head *)((ttp_has_room(at) ? at : at - TTP_BLOCK_HEAD_BYTES) &
                                  ~TTP_BLOCK_MASK);
    uint32_t filling = state->process_id << 2 | TTP_BLOCK_FILLING;
    uint32_t done = state->process_id << 2 | TTP_BLOCK_DONE;
    if (!ttp_arena_holds((uint64_t)block) || !is_filled_by(block, state))
        return;
    uint32_t *block_state = &ttp_process.block_states[ttp_arena_index(block)];
    bool is_ended = __atomic_compare_exchange_n(block_state, &filling, done, false,
                                                __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
    if (is_ended && !is_filled_by(block, state)) /* it became another's just now */
        (void)__atomic_compare_exchange_n(block_state, &done,
                                          state->process_id << 2 | TTP_BLOCK_FILLING, false,
                                          __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}

static void begin_state(struct ttp_thread_state *state, uint32_t number)
{
    struct ttp_thread_page *page =
        (struct ttp_thread_page *)(ttp_agent_shared.pages + (uint64_t)number * TTP_AGENT_PAGE);
    *(struct ttp_thread_state **)memory_at(number) = state;
    if (state->page != NULL)
        end_stream(state);
    *state = (struct ttp_thread_state){.page = page, .cursor = TTP_NO_BLOCK};
    *page = (struct ttp_thread_page){.gate = TTP_GATE_NO_STATE};
}

static bool is_left_out(uint32_t thread_id)
{
    uint32_t count = ttp_agent_shared.thread_count;
    for (uint32_t i = 0; i < count && i < TTP_AGENT_THREADS; i++)
        if (ttp_agent_shared.threads[i] == thread_id)
            return false;
    return count != 0;
}

static struct ttp_thread_state *state_of(const struct ttp_agent_slot *slot)
{
    return &ttp_agent_states[slot - ttp_agent_wiped.slots].state;
}

/* Of one that was just taken for the thread; another thread cannot have its control block. */
static struct ttp_thread_state *begin_slot(struct ttp_agent_slot *slot, uint32_t thread_id)
{
    struct ttp_thread_state *state = state_of(slot);
    if (is_left_out(thread_id)) {
        slot->number = LEFT_OUT;
        state->page = &page_left_out;
    } else if (slot->number <= LEFT_OUT) {
        uint64_t number = __atomic_add_fetch(&ttp_agent_shared.next_state, 1, __ATOMIC_RELAXED);
        if (number >= ttp_agent_shared.state_count)
            return &nobody;
        begin_state(state, (uint32_t)number);
        slot->number = (uint32_t)number;
    } else {
        begin_state(state, slot->number);
    }
    TTP_SIGNAL_FENCE();
    slot->thread_id = thread_id;
    TTP_SIGNAL_FENCE();
    slot->key = slot->taken_by;
    return state;
}

/* Each child counts once: how many they are is said at the end. */
static void count_child(void)
{
    if (ttp_agent_wiped.is_counted == 0 &&
        __atomic_exchange_n(&ttp_agent_wiped.is_counted, 1, __ATOMIC_RELAXED) == 0)
        __atomic_add_fetch(&ttp_arena.head.children_left, 1, __ATOMIC_RELAXED);
}

/* Until the last of the first jumps is there, everybody is left out, as calls would be recorded
 * without their callers. A forked child's table is empty, and stays so. What is not its own address
 * is no control block of a C library's, and whoever has it is nobody. */
static __attribute__((noinline)) struct ttp_thread_state *find_slowly(void)
{
    uint64_t block;
    __asm__("rdfsbase %0" : "=r"(block));
    uint64_t key = block + 1;
    if (ttp_agent_wiped.process.image == 0)
        count_child();
    if (ttp_agent_wiped.process.image == 0 || ttp_thread_block() != block)
        return &nobody;
    if (ttp_agent_shared.has_begun == 0)
        return &left_out;
    uint64_t first = (uint64_t)(ttp_agent_own_of(block) - ttp_agent_states);
    for (uint32_t i = 0; i < LOOKS; i++) {
        struct ttp_agent_slot *slot = &ttp_agent_wiped.slots[(first + i) % TTP_AGENT_SLOTS];
        uint64_t seen = 0;
        if (slot->taken_by != key &&
            (slot->taken_by != 0 ||
             !__atomic_compare_exchange_n(&slot->taken_by, &seen, key, false, __ATOMIC_ACQ_REL,
                                          __ATOMIC_RELAXED)))
            continue;
        uint32_t thread_id = id_in(block);
        return slot->key == key && slot->thread_id == thread_id ? state_of(slot)
                                                                : begin_slot(slot, thread_id);
    }
    return &nobody;
}

struct ttp_thread_state *ttp_agent_thread(void)
{
    struct ttp_thread_state *found = ttp_agent_find();
    return TTP_LIKELY(found != NULL) ? found : find_slowly();
}

/* -- beginnings -- */

static struct ttp_agent_known *find_known(uint32_t thread_id)
{
    uint32_t count = ttp_agent_shared.known_count;
    for (uint32_t i = 0; i < count && i < TTP_AGENT_KNOWN; i++)
        if (ttp_agent_shared.known[i].thread_id == thread_id)
            return &ttp_agent_shared.known[i];
    return NULL;
}

/* Whether it is one that has begun: once. */
static bool draw_stream(struct ttp_agent_known *known)
{
    struct ttp_thread_state *own = &ttp_thread;
    own->process_id = ttp_process.page->process_id;
    if (known != NULL && known->serial != 0) {
        own->serial = known->serial;
        own->sequence = known->sequence;
        own->started = known->started;
        known->serial = 0;
        return true;
    }
    own->started = ttp_tsc();
    own->serial = __atomic_add_fetch(&ttp_arena.head.next_serial, 1, __ATOMIC_RELAXED);
    return false;
}

static void begin_page(struct ttp_thread_page *page, const struct ttp_agent_known *known)
{
    uint32_t id = id_in(ttp_thread_block());
    *page = (struct ttp_thread_page){.gate = TTP_GATE_UNUSABLE};
    page->thread_id = ttp_agent_shared.thread_id_at != 0 ? id : ttp_thread.process_id;
    page->frames_end = page->hot_end = ttp_thread.stacks->list[0].end;
    page->period = __atomic_load_n(&ttp_arena.head.periods, __ATOMIC_RELAXED);
    page->epoch_start = ttp_tsc() & ~(uint64_t)TTP_RECORD_TIME_MASK;
    page->freed_seen = __atomic_load_n(&ttp_arena.head.freed, __ATOMIC_RELAXED) - 1;
    for (uint32_t i = 0; known != NULL && i < sizeof page->name; i++)
        page->name[i] = known->name[i];
}

/* The first event may be a handler's on a stack of its own: it says nothing of the thread's. One
 * that was there when we attached is known; others end at the control block. */
static void set_bounds(struct ttp_runtime_stack *own, uintptr_t sp,
                       const struct ttp_agent_known *known)
{
    uintptr_t block = ttp_thread_block();
    bool is_main = id_in(block) == ttp_agent_shared.process_id;
    if (known != NULL && known->stack_low < known->stack_high) {
        own->low = known->stack_low;
        own->high = known->stack_high;
        own->exact = true;
    } else if (!is_main && ttp_agent_shared.thread_id_at != 0) {
        own->low = (sp < block && block - sp < OWN_MOST ? sp : block) - TTP_STACK_GUESS;
        own->high = block;
    }
    own->base->sp = own->high;
}

/* A thread's stack ends at its control block, but for the first one's. */
static void begin_memory(uint64_t at, const struct ttp_agent_known *known)
{
    uint64_t block = ttp_thread_block();
    struct ttp_agent_range stack = {0, 0};
    if (known != NULL && known->is_stack_whole != 0)
        stack = (struct ttp_agent_range){known->stack_low, known->stack_high};
    if (block >= stack.low && block < stack.high)
        stack.high = block;
    ttp_agent_memory_begin(at, &stack);
}

static void open_stacks(uintptr_t sp, const struct ttp_agent_known *known)
{
    struct ttp_thread_state *own = &ttp_thread;
    const struct ttp_agent_own *home =
        (struct ttp_agent_own *)((uint8_t *)own - offsetof(struct ttp_agent_own, state));
    uint8_t *memory = memory_at(ttp_agent_wiped.slots[home - ttp_agent_states].number);
    struct ttp_stacks *stacks = (struct ttp_stacks *)(memory + STACKS_AT);
    stacks->frame_count = ttp_agent_shared.frame_count;
    ttp_stacks_open(stacks, sp, (struct ttp_runtime_frame *)(memory + TTP_AGENT_FRAMES_AT),
                    stacks->frame_count);
    set_bounds(&stacks->list[0], sp, known);
    if (ttp_agent_shared.memory_at != 0)
        begin_memory((uint64_t)(uintptr_t)memory + ttp_agent_shared.memory_at, known);
    own->stacks = stacks;
    own->top = stacks->list[0].base;
}

/* What was open is in the stream already, in a block that the thread goes on in. */
static void go_on_with(const struct ttp_agent_known *known)
{
    struct ttp_thread_state *own = &ttp_thread;
    const struct ttp_agent_call *calls =
        (const struct ttp_agent_call *)ttp_agent_shared.calls + known->first_call;
    if (known->place == 0)
        return;
    own->cursor = ttp_agent_shared.blocks + known->place;
    own->page->epoch_start = known->epoch << TTP_RECORD_TIME_BITS;
    for (uint32_t i = 0; i < known->call_count; i++)
        *++own->top =
            (struct ttp_runtime_frame){calls[i].sp, calls[i].function, calls[i].call_site};
}

bool ttp_thread_start(uintptr_t sp)
{
    struct ttp_thread_state *own = &ttp_thread;
    struct ttp_thread_page *page = own->page;
    if (ttp_process.page == NULL || ttp_process.page->image == 0)
        return false;
    if (own->is_starting) {
        own->lost_before_state++;
        return false;
    }
    own->is_starting = true;
    TTP_SIGNAL_FENCE();
    struct ttp_agent_known *known = find_known(id_in(ttp_thread_block()));
    bool has_begun = draw_stream(known);
    open_stacks(sp, known);
    begin_page(page, known);
    own->cursor = ttp_no_block(own->sequence);
    if (has_begun)
        go_on_with(known);
    (void)ttp_gate_open(page);
    TTP_SIGNAL_FENCE();
    own->is_starting = false;
    page->dropped += own->lost_before_state;
    own->lost_before_state = 0;
    ttp_drop_write_gap();
    return true;
}

bool ttp_call_was_open(uintptr_t sp)
{
    const struct ttp_agent_known *known = find_known(id_in(ttp_thread_block()));
    return known != NULL && known->place != 0 && known->call_count != 0 && ttp_thread_ready(sp);
}

/* In a forked child nothing is counted: nobody has promised anything of it. */
bool ttp_ready(uintptr_t sp)
{
    uint32_t gate = ttp_thread.page->gate;
    if (gate == TTP_GATE_RECORDER_THREAD ||
        (gate == TTP_GATE_VFORK_CHILD && (ttp_thread.shared_with_vfork || ttp_sharing_stays())))
        return false;
    gate = ttp_thread.page->gate;
    if (gate == TTP_GATE_UNUSABLE) {
        if (ttp_thread.is_starting)
            ttp_thread.lost_before_state++;
        else if (ttp_process.page->image != 0)
            ttp_event_lost();
        return false;
    }
    if (gate == TTP_GATE_NO_STATE && !ttp_thread_start(sp))
        return false;
    ttp_period_check();
    return true;
}

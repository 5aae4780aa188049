/* The stacks that a thread runs on: its own, those of coroutines, the alternate signal stack.
 *
 * Ranges come, best first, from makecontext and the API (exact), from sigaltstack, from the
 * kernel's list of mappings when an address fits none that is known, and at last from a guess
 * around what was seen. Only called where a stack pointer does not fit. */
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "recorder/runtime/branch/branch_state.h"
#include "recorder/runtime/slow.h"

#define REGISTERED_MAX 4096u
#define END_OF_MAPPING 4096u
#define GROWTH_MAX     (1ull << 30) /* that the main thread's stack is taken to grow down */

/* Ranges that were announced; written by any thread, read by all. A slot is in use while high is
 * not 0; while a thread writes it, its version is odd. */
static struct registered {
    uint64_t version;
    uintptr_t low, high;
    uint64_t generation;
    uintptr_t thread; /* pointer of the thread that last came to it: a fork's child has it, too */
} registered[REGISTERED_MAX];
static uint32_t registered_count;
static uint64_t generations;

static bool hold_slot(struct registered *slot)
{
    uint64_t version = __atomic_load_n(&slot->version, __ATOMIC_RELAXED);
    return (version & 1) == 0 &&
           __atomic_compare_exchange_n(&slot->version, &version, version + 1, false,
                                       __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

static void release(struct registered *slot)
{
    __atomic_add_fetch(&slot->version, 1, __ATOMIC_RELEASE);
}

/* False: it is being written. */
static bool read_slot(const struct registered *slot, struct registered *copy)
{
    copy->version = __atomic_load_n(&slot->version, __ATOMIC_ACQUIRE);
    copy->low = __atomic_load_n(&slot->low, __ATOMIC_RELAXED);
    copy->high = __atomic_load_n(&slot->high, __ATOMIC_RELAXED);
    copy->generation = __atomic_load_n(&slot->generation, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    return (copy->version & 1) == 0 &&
           __atomic_load_n(&slot->version, __ATOMIC_RELAXED) == copy->version;
}

static uint32_t slot_count(void)
{
    uint32_t count = __atomic_load_n(&registered_count, __ATOMIC_ACQUIRE);
    return count < REGISTERED_MAX ? count : REGISTERED_MAX;
}

/* Takes away what overlaps, and returns a slot that is free or was of the same memory, held. */
static struct registered *clear_range(uintptr_t low, uintptr_t high)
{
    struct registered *found = NULL;
    uint32_t count = slot_count();
    for (uint32_t i = 0; i < count; i++) {
        struct registered *slot = &registered[i];
        bool is_free = slot->high == 0, overlaps = slot->low < high && slot->high > low;
        if ((!overlaps && !(is_free && found == NULL)) || !hold_slot(slot))
            continue;
        if (overlaps)
            slot->high = 0;
        if (found == NULL) {
            found = slot;
        } else if (overlaps && slot->low == low) {
            release(found);
            found = slot;
        } else {
            release(slot);
        }
    }
    return found;
}

void ttp_stack_register(uintptr_t low, uintptr_t high)
{
    if (low >= high)
        return;
    struct registered *slot = clear_range(low, high);
    if (slot == NULL) {
        uint32_t index = slot_count();
        if (index < REGISTERED_MAX)
            index = __atomic_fetch_add(&registered_count, 1, __ATOMIC_ACQ_REL);
        if (index >= REGISTERED_MAX || !hold_slot(&registered[index]))
            return;
        slot = &registered[index];
    }
    __atomic_add_fetch(&ttp_process.stack_changes, 1, __ATOMIC_RELEASE);
    slot->low = low;
    slot->generation = __atomic_add_fetch(&generations, 1, __ATOMIC_RELAXED);
    __atomic_store_n(&slot->high, high, __ATOMIC_RELAXED);
    release(slot);
    __atomic_add_fetch(&ttp_process.stack_changes, 1, __ATOMIC_RELEASE);
}

bool ttp_stack_is_other_within(uintptr_t low, uintptr_t high)
{
    const struct ttp_stacks *stacks = ttp_thread.stacks;
    const struct ttp_runtime_stack *own = ttp_stack_current();
    uint32_t count = slot_count();
    for (uint32_t i = 0; i < count; i++)
        if (registered[i].low <= high && registered[i].high > low &&
            (own->generation == 0 || own->low != registered[i].low))
            return true;
    return (stacks->alternate_low <= high && stacks->alternate_high > low) ||
           ttp_loose_is_within(low, high);
}

/* found->thread: who came to it before this thread does. */
static bool find_registered(uintptr_t sp, struct registered *found)
{
    uint32_t count = slot_count();
    for (uint32_t i = 0; i < count; i++)
        if (sp < registered[i].high && sp >= registered[i].low &&
            read_slot(&registered[i], found) && sp < found->high && sp >= found->low) {
            found->thread =
                __atomic_exchange_n(&registered[i].thread, ttp_thread_block(), __ATOMIC_RELAXED);
            return true;
        }
    return false;
}

static long map_memory(size_t bytes) { return ttp_room_map(bytes); }

static void release_list(const struct ttp_stacks *stacks)
{
    if (stacks->list != stacks->first)
        ttp_room_unmap(stacks->list, stacks->capacity * sizeof(struct ttp_runtime_stack));
}

static bool grow_stacks(struct ttp_stacks *stacks)
{
    if (stacks->count < stacks->capacity)
        return true;
    uint32_t capacity = stacks->capacity * 8;
    if (stacks->capacity == TTP_STACKS_MAX)
        return false;
    capacity = capacity < TTP_STACKS_MAX ? capacity : TTP_STACKS_MAX;
    long memory = map_memory(capacity * sizeof(struct ttp_runtime_stack));
    if (ttp_failed(memory))
        return false;
    struct ttp_runtime_stack *grown = (struct ttp_runtime_stack *)memory;
    for (uint32_t i = 0; i < stacks->count; i++)
        grown[i] = stacks->list[i];
    release_list(stacks);
    stacks->list = grown;
    stacks->capacity = capacity;
    return true;
}

/* The first entry stands below all frames: its function is none. */
static struct ttp_runtime_stack new_stack(uintptr_t low, uintptr_t high,
                                          struct ttp_runtime_frame *frames, uint32_t frame_count)
{
    frames[0] = (struct ttp_runtime_frame){high, TTP_FRAME_NONE, 0};
    return (struct ttp_runtime_stack){.low = low,
                                      .high = high,
                                      .base = frames,
                                      .top = frames,
                                      .end = frames + frame_count - 1 - TTP_FRAMES_SPARE};
}

uint32_t ttp_stack_add(uintptr_t low, uintptr_t high, uint64_t generation, bool exact)
{
    struct ttp_stacks *stacks = ttp_thread.stacks;
    if (!grow_stacks(stacks))
        return stacks->current;
    long memory = map_memory(TTP_FRAMES_OTHER * sizeof(struct ttp_runtime_frame));
    if (ttp_failed(memory))
        return stacks->current;
    struct ttp_runtime_stack stack =
        new_stack(low, high, (struct ttp_runtime_frame *)memory, TTP_FRAMES_OTHER);
    stack.generation = generation;
    stack.exact = exact;
    stacks->list[stacks->count] = stack;
    return stacks->count++;
}

void ttp_stacks_open(struct ttp_stacks *stacks, uintptr_t sp, struct ttp_runtime_frame *frames,
                     uint32_t frame_count)
{
    uintptr_t block = ttp_thread_block();
    bool is_below_block = block > sp && block - sp < TTP_STACK_GUESS;
    stacks->list = stacks->first;
    stacks->capacity = TTP_STACKS_INLINE;
    stacks->count = 1;
    stacks->current = 0;
    stacks->alternate_low = stacks->alternate_high = 0;
    stacks->first_sp = sp;
    stacks->has_marks = stacks->has_loose = false;
    stacks->near = NULL;
    stacks->first[0] =
        new_stack(sp > TTP_STACK_GUESS ? sp - TTP_STACK_GUESS : 0,
                  is_below_block ? block : sp + TTP_STACK_GUESS, frames, frame_count);
}

void ttp_stacks_close(struct ttp_stacks *stacks)
{
    for (uint32_t i = 0; i < stacks->count; i++)
        ttp_branch_close(&stacks->list[i]);
    for (uint32_t i = 1; i < stacks->count; i++)
        ttp_room_unmap(stacks->list[i].base, TTP_FRAMES_OTHER * sizeof(struct ttp_runtime_frame));
    ttp_loose_close(stacks);
    release_list(stacks);
}

static bool is_on_known_alternate(uintptr_t sp)
{
    const struct ttp_stacks *stacks = ttp_thread.stacks;
    return sp >= stacks->alternate_low && sp < stacks->alternate_high;
}

static bool ask_alternate(uintptr_t sp)
{
    struct ttp_stacks *stacks = ttp_thread.stacks;
    stack_t stack;
    if (ttp_process.avoids_system_calls ||
        ttp_syscall(SYS_sigaltstack, 0, (long)&stack, 0, 0, 0, 0) != 0 ||
        (stack.ss_flags & SS_ONSTACK) == 0 || sp - (uintptr_t)stack.ss_sp >= stack.ss_size)
        return false;
    ttp_far_forget();
    stacks->alternate_low = (uintptr_t)stack.ss_sp;
    stacks->alternate_high = (uintptr_t)stack.ss_sp + stack.ss_size;
    return true;
}

/* A registered range: the thread's stack for it, emptied where the memory was given a new use. */
static uint32_t enter_registered(const struct registered *range)
{
    struct ttp_stacks *stacks = ttp_thread.stacks;
    for (uint32_t i = 0; i < stacks->count; i++) {
        struct ttp_runtime_stack *stack = &stacks->list[i];
        if (stack->generation == 0 || stack->low != range->low)
            continue;
        stack->high = range->high;
        stack->is_stale |= stack->generation != range->generation;
        stack->is_lent |= range->thread != ttp_thread_block();
        stack->generation = range->generation;
        return i;
    }
    return ttp_stack_add(range->low, range->high, range->generation, true);
}

/* The main thread's stack grows down into what nothing else is mapped in. */
static void set_exact(struct ttp_runtime_stack *own, uintptr_t low, uintptr_t high,
                      uintptr_t before)
{
    bool is_main = ttp_thread.page->thread_id == ttp_thread.process_id;
    own->low = !is_main ? low : low - before < GROWTH_MAX ? before : low - GROWTH_MAX;
    own->high = high;
    own->exact = true;
}

/* The only loose one of a mapping may be all of it, if it lies at its end. */
static uint32_t find_alone(uintptr_t low, uintptr_t high)
{
    const struct ttp_stacks *stacks = ttp_thread.stacks;
    uint32_t found = TTP_STACK_NONE, count = 0;
    for (uint32_t i = 1; i < stacks->count; i++) {
        const struct ttp_runtime_stack *stack = &stacks->list[i];
        if (!stack->is_loose || stack->high - 1 < low || stack->high - 1 >= high)
            continue;
        found = i;
        count++;
    }
    return count == 1 && high - stacks->list[found].high < END_OF_MAPPING ? found : TTP_STACK_NONE;
}

static uint32_t discover(uintptr_t sp)
{
    struct ttp_stacks *stacks = ttp_thread.stacks;
    struct ttp_runtime_stack *own = &stacks->list[0];
    uintptr_t low, high, before;
    if (ttp_process.avoids_system_calls)
        return stacks->current;
    if (ttp_thread_number() != ttp_thread.page->thread_id)
        return UINT32_MAX;
    if (!ttp_mapping_find(sp, &low, &high, &before))
        return stacks->current;
    if (stacks->first_sp >= low && stacks->first_sp < high && own->generation == 0) {
        set_exact(own, low, high, before);
        return 0;
    }
    if (!own->exact)
        ttp_stack_exact();
    uint32_t alone = find_alone(low, high);
    return alone != TTP_STACK_NONE
               ? alone
               : ttp_loose_begin(sp, high - sp < TTP_LARGE_FRAME ? high : sp + TTP_LARGE_FRAME);
}

void ttp_stack_exact(void)
{
    struct ttp_stacks *stacks = ttp_thread.stacks;
    struct ttp_runtime_stack *own = &stacks->list[0];
    uintptr_t low, high, before;
    if (own->exact || own->generation != 0 || ttp_process.avoids_system_calls ||
        !ttp_mapping_find(stacks->first_sp, &low, &high, &before))
        return;
    set_exact(own, low, high, before);
}

uint32_t ttp_stack_locate(uintptr_t sp, const struct operation *op, bool *is_alternate)
{
    struct ttp_stacks *stacks = ttp_thread.stacks;
    const struct ttp_runtime_stack *current = &stacks->list[stacks->current];
    struct registered range;
    *is_alternate = false;
    if (registered_count != 0 && find_registered(sp, &range))
        return enter_registered(&range);
    *is_alternate = is_on_known_alternate(sp);
    if (*is_alternate)
        return stacks->current;
    uint32_t loose = ttp_loose_find(sp, op);
    if (loose != TTP_STACK_NONE)
        return loose;
    if (!current->is_loose && ttp_stack_holds(current, sp))
        return stacks->current;
    for (uint32_t i = 0; i < stacks->count; i++)
        if (!stacks->list[i].is_loose && ttp_stack_holds(&stacks->list[i], sp))
            return i;
    loose = ttp_loose_claim(sp);
    if (loose != TTP_STACK_NONE)
        return loose;
    *is_alternate = ask_alternate(sp);
    return *is_alternate ? stacks->current : discover(sp);
}

static void set_end(const struct ttp_runtime_stack *stack)
{
    ttp_thread.page->frames_end = stack->end;
    ttp_thread.page->hot_end = ttp_branch_settings.is_on ? NULL : stack->end;
}

void ttp_stack_switch(uint32_t index)
{
    struct ttp_stacks *stacks = ttp_thread.stacks;
    struct ttp_runtime_stack *to = &stacks->list[index];
    ttp_stack_current()->top = ttp_thread.top;
    ttp_thread.top = to->top;
    TTP_SIGNAL_FENCE();
    stacks->current = index;
    set_end(to);
    ttp_far_forget();
}

static bool holds_frame(const struct ttp_runtime_stack *stack,
                        const struct ttp_runtime_frame *frame)
{
    return frame >= stack->base && frame <= stack->end + TTP_FRAMES_SPARE;
}

/* A handler may come in the middle of a switch, or switch itself, and what it interrupted then goes
 * on with its own frames: these say what the stack is. */
void ttp_stack_verify(void)
{
    struct ttp_stacks *stacks = ttp_thread.stacks;
    if (TTP_LIKELY(holds_frame(ttp_stack_current(), ttp_thread.top)))
        return;
    for (uint32_t i = 0; i < stacks->count; i++)
        if (holds_frame(&stacks->list[i], ttp_thread.top)) {
            stacks->current = i;
            set_end(&stacks->list[i]);
        }
}

size_t ttp_frame_count(void)
{
    ttp_stack_verify();
    return (size_t)(ttp_thread.top - ttp_stack_current()->base);
}

/* -- one operation at a time -- */

/* Whether an operation there may go on while one begins here: further in, or on another stack.
 * Where neither is on the current one, as when that is not known well, what is near is on the same.
 */
static bool is_within(uintptr_t sp, uintptr_t there)
{
    const struct ttp_runtime_stack *current = ttp_stack_current();
    return sp < there || (!ttp_stack_holds(current, sp) &&
                          (ttp_stack_holds(current, there) || sp - there >= TTP_STACK_GUESS));
}

/* Handlers that interrupt an operation may record, but not end a drop period or add stacks. Where a
 * jump left an operation, the next one that begins further out on that stack notices it. */
bool ttp_operation_begin(uintptr_t sp)
{
    struct ttp_thread_page *page = ttp_thread.page;
    if (page->operation_sp != 0 && is_within(sp, page->operation_sp))
        return false;
    page->operation_sp = sp;
    TTP_SIGNAL_FENCE();
    return true;
}

void ttp_operation_end(bool was_begun)
{
    TTP_SIGNAL_FENCE();
    if (was_begun)
        ttp_thread.page->operation_sp = 0;
}

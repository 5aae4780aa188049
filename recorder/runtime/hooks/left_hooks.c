/* Hooks that a signal handler interrupted and then left by a jump. What such a hook had of the
 * arena would stay as it is: a place without a record, for which the recorder waits; a block that
 * nobody fills. So the jump settles it. No hook pays for that: where the hook was, and what it had
 * in its registers and on its stack, the kernel has written down before it called the handler.
 *
 *   sp (jump) ... handler's frames | return address, ucontext | the hook's frames | ... target
 *
 * Only hooks between the two are over. A place of theirs becomes NOTHING: a call whose enter was
 * not recorded has not begun, and one whose exit was not recorded ends by the jump. */
#include <errno.h>
#include <sys/syscall.h>

#include "recorder/runtime/hot.h"
#include "recorder/runtime/slow.h"

#define SCAN_BYTES  262144u /* of the stack; what is further is left to the recorder */
#define HOOK_WORDS  96u     /* of an interrupted hook's stack that are looked at */
#define FIRST_WORD  6u      /* of the registers in the kernel's frame, see signal_frames.c */
#define WORD_SP     21u
#define WORD_PLACE  22u /* where the code was interrupted */
#define UNKNOWN_HOW 99
#define GUARD_PAGES 16u /* below a stack that overflowed */
#define PAGE        4096u

extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char _end[] __attribute__((visibility("hidden")));

/* What was interrupted by a stack overflow has its stack pointer where nothing may be read. The
 * kernel reads the signals before it refuses to do something unknown with them. */
static bool is_readable(uintptr_t address)
{
    return !ttp_process.avoids_system_calls &&
           ttp_syscall(SYS_rt_sigprocmask, UNKNOWN_HOW, (long)address, 0, sizeof(uint64_t), 0, 0) ==
               -EINVAL;
}

static bool is_ours(uintptr_t code)
{
    return code - (uintptr_t)__ehdr_start < (uintptr_t)_end - (uintptr_t)__ehdr_start;
}

static struct ttp_block_head *block_of(uint64_t place)
{
    return (struct ttp_block_head *)(place & ~TTP_BLOCK_MASK);
}

/* The block that the thread fills, or NULL. */
static const struct ttp_block_head *current_block(void)
{
    uint64_t at = ttp_thread.cursor;
    if ((at & TTP_NO_BLOCK) != 0)
        return NULL;
    return block_of(ttp_has_room(at) ? at : at - TTP_BLOCK_HEAD_BYTES);
}

static bool is_empty(uint64_t place) { return *(const uint64_t *)place == 0; }

/* A record behind an empty place may be the rest of a message without a head, or of values whose
 * call is missing. */
static bool is_rest(uint64_t place)
{
    uint64_t record = *(const uint64_t *)place, type = ttp_record_type(record);
    return ttp_record_tag(record) == TTP_TAG_EXTENSION &&
           (type == TTP_EXT_DATA || (type == TTP_EXT_MESSAGE && (ttp_record_payload(record) >> 24 &
                                                                 0xFF) == TTP_MESSAGE_VALUES));
}

/* All places up to the cursor are reserved, and in earlier blocks all. Those behind this one are of
 * this hook, or of hooks that came after it, and are left as well. What such a hook had stored of a
 * message, or of a call's values, goes with it, from its end on: nobody takes what is behind an
 * empty place. */
static void fill_from(uint64_t place)
{
    const struct ttp_block_head *block = block_of(place);
    uint64_t end = (uint64_t)block + TTP_BLOCK_BYTES, cursor = ttp_thread.cursor;
    if (block->serial != ttp_thread.serial)
        return;
    if (block == current_block() && cursor < end)
        end = cursor;
    if (place >= end || !is_empty(place))
        return;
    for (uint64_t next; place < end; place = next + 8) {
        for (next = place; next < end && (is_empty(next) || (next != place && is_rest(next)));)
            next += 8;
        for (uint64_t at = next; at > place; at -= 8)
            ttp_slot_fill(at - 8);
    }
}

/* A hook was about to use it, or about to say that it is full. */
static void let_go(struct ttp_block_head *block, uint32_t *state, uint32_t filling)
{
    const uint64_t *records = (const uint64_t *)(block + 1);
    bool is_used = false;
    if (block == current_block() || block->thread_id != ttp_thread.page->thread_id ||
        (block->serial != 0 && block->serial != ttp_thread.serial))
        return;
    for (uint32_t i = 0; i < TTP_BLOCK_RECORDS && !is_used; i++)
        is_used = records[i] != 0;
    if (!is_used)
        *block = (struct ttp_block_head){0};
    uint32_t next = is_used ? ttp_thread.process_id << 2 | TTP_BLOCK_FULL : TTP_BLOCK_FREE;
    __atomic_compare_exchange_n(state, &filling, next, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}

/* A word that an interrupted hook had: it may be the address of a place or a block. */
static void settle_word(uint64_t word)
{
    if (word == 0 || word % 8 != 0 || !ttp_arena_holds(word))
        return;
    struct ttp_block_head *block = block_of(word);
    uint32_t *state = &ttp_process.block_states[ttp_arena_index(block)];
    uint32_t now = __atomic_load_n(state, __ATOMIC_RELAXED);
    if (now >> 2 != ttp_thread.process_id)
        return;
    if (ttp_has_room(word))
        fill_from(word);
    else if (word == (uint64_t)block && (now & 3) == TTP_BLOCK_FILLING)
        let_go(block, state, now);
}

static void settle_hook(const uint64_t *frame, uintptr_t end)
{
    const uint64_t *stack = (const uint64_t *)((frame[WORD_SP] + 7) & ~(uintptr_t)7);
    bool has_stack = (uintptr_t)stack < end && is_readable((uintptr_t)stack);
    for (uint32_t i = FIRST_WORD; i < WORD_SP; i++)
        settle_word(frame[i]);
    for (uint32_t i = 0; has_stack && i < HOOK_WORDS && (uintptr_t)(stack + i + 1) <= end; i++)
        settle_word(stack[i]);
}

/* Of the handlers whose frames lie in the range; `end` is where the hooks' stack ends. Returns the
 * stack pointer of what the outermost of them interrupted, or 0. */
static uintptr_t settle_range(uintptr_t from, uintptr_t to, uintptr_t end)
{
    uintptr_t below = 0;
    const uint64_t *frame;
    while ((frame = ttp_signal_next(from, to)) != NULL) {
        below = frame[WORD_SP];
        if (is_ours(frame[WORD_PLACE]))
            settle_hook(frame, end);
        from = (uintptr_t)(frame + 1);
    }
    return below;
}

/* Both are on the stack that the thread is on; all that lies between is there. */
void ttp_hooks_left(uintptr_t sp, uintptr_t target)
{
    const struct ttp_stacks *stacks = ttp_thread.stacks;
    bool is_alternate;
    if (ttp_process.signal_changes == 0)
        return;
    if (ttp_stack_locate(sp, NULL, &is_alternate) != stacks->current)
        return;
    ttp_stack_exact();
    const struct ttp_runtime_stack *own = ttp_stack_current();
    if (!own->exact || !ttp_stack_holds(own, target))
        return;
    if (is_alternate) {
        sp = settle_range(sp, stacks->alternate_high, target);
        for (uint32_t i = 0; i < GUARD_PAGES && !is_readable(sp); i++)
            sp = (sp & ~(uintptr_t)(PAGE - 1)) + PAGE;
        if (!is_readable(sp))
            return;
    }
    if (ttp_stack_holds(own, sp) && sp < target)
        (void)settle_range(sp, target - sp < SCAN_BYTES ? target : sp + SCAN_BYTES, target);
}

/* -- forks in handlers -- */

/* Private, and so each process's own: what is stored there is nobody's record. A hook that has the
 * end of a block, where the next one starts, looks at the block before it. */
static uint8_t nowhere[3 * TTP_BLOCK_BYTES];

static uint64_t place_nowhere(uint64_t place)
{
    uint64_t start = ((uint64_t)nowhere + TTP_BLOCK_MASK) & ~TTP_BLOCK_MASK;
    return start + TTP_BLOCK_BYTES + (place & TTP_BLOCK_MASK);
}

static uintptr_t redirect_range(uintptr_t from, uintptr_t to)
{
    uintptr_t below = 0;
    const uint64_t *found;
    while ((found = ttp_signal_next(from, to)) != NULL) {
        uint64_t *frame = (uint64_t *)(uintptr_t)found;
        below = frame[WORD_SP];
        for (uint32_t i = FIRST_WORD; is_ours(frame[WORD_PLACE]) && i < WORD_SP; i++)
            if (ttp_arena_holds(frame[i]))
                frame[i] = place_nowhere(frame[i]);
        from = (uintptr_t)(found + 1);
    }
    return below;
}

void ttp_hooks_before_fork(void)
{
    if (ttp_process.signal_changes != 0 && ttp_has_state())
        ttp_stack_exact();
}

void ttp_hooks_forked(uintptr_t sp)
{
    const struct ttp_stacks *stacks = ttp_thread.stacks;
    if (ttp_process.signal_changes == 0 || stacks == NULL || ttp_process.page == NULL)
        return;
    if (sp >= stacks->alternate_low && sp < stacks->alternate_high) {
        sp = redirect_range(sp, stacks->alternate_high);
        if (!is_readable(sp))
            return;
    }
    for (uint32_t i = 0; i < stacks->count; i++) {
        const struct ttp_runtime_stack *stack = &stacks->list[i];
        if (stack->exact && ttp_stack_holds(stack, sp))
            (void)redirect_range(sp, stack->high - sp < SCAN_BYTES ? stack->high : sp + SCAN_BYTES);
    }
}

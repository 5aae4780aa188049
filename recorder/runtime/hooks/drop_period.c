/* A drop period: a thread records nothing, because there is no free block or because tracing is
 * off. The thread goes on keeping its shadow stacks. When recording goes on, a GAP record says how
 * many events are missing. Then records say which frames were left or opened meanwhile, so that the
 * tree of calls is right from there on. Three counts per stack make that possible:
 *
 *   recorded_count  frames that are open according to the records
 *   intact_count    of those, the outermost ones that are still open (the lowest number so far)
 *   expected_count  frames that operations expect which began in the drop period. A hook may have
 *                   begun earlier: a handler interrupted it, and the drop period began in the
 *                   handler. Nobody expects the frame that this hook pushes or pops, so the shadow
 *                   stack and this count differ by one until the hook is over. */
#include "recorder/arena/record.h"
#include "recorder/runtime/branch/branch_state.h"
#include "recorder/runtime/slow.h"

#define TRY_EVERY          1024u /* dropped events between tries when no block was freed */
#define LOOK_EVERY         16u   /* between looks whether threads may wait again */
#define FREED_PART         8u    /* of all blocks: where none may wait, so many are freed first */
#define FAILED_RESUMES_MAX 64u   /* a hook that a jump left is never over */
#define GAP_COUNT_MAX      ((1ull << (TTP_EXTENSION_PAYLOAD_BITS - TTP_GAP_REASON_BITS)) - 1)

void ttp_event_lost(void) { __atomic_add_fetch(&ttp_arena.head.lost, 1, __ATOMIC_RELAXED); }

/* -- drop periods -- */

/* Room would have been made, or waited for, by calls that a filter may forbid. */
static uint32_t overflow_reason(void)
{
#ifdef TTP_AGENT /* never makes one, and nobody has forbidden it */
    return TTAPE_GAP_REASON_OVERFLOW;
#endif
    return ttp_process.avoids_system_calls != 0 ? TTAPE_GAP_REASON_SANDBOX
                                                : TTAPE_GAP_REASON_OVERFLOW;
}

static uint32_t gate_wanted(void)
{
    if (ttp_arena.head.hook_sites != 0)
        return TTP_GATE_SITES;
    switch (ttp_arena.head.clock) {
    case TTP_CLOCK_TSC: {
        bool is_beside = ttp_process.verdicts != NULL || ttp_branch_settings.is_on;
        return is_beside ? TTP_GATE_FILTER : TTP_GATE_TSC;
    }
    case TTP_CLOCK_NONE: return TTP_GATE_NO_CLOCK;
    default: return TTP_GATE_CLOCK;
    }
}

/* Leaves the gate of a child alone that a handler forked just now. */
bool ttp_gate_set(struct ttp_thread_page *page, uint32_t gate)
{
    uint32_t seen = *(volatile const uint32_t *)&page->gate;
    return seen != TTP_GATE_NO_STATE && ttp_swap_word_here(&page->gate, seen, gate);
}

bool ttp_gate_open(struct ttp_thread_page *page)
{
    uint64_t image = ttp_process.page->image;
    page->verdict_seed = ttp_verdict_seed(image);
    page->verdict_image = ttp_verdict_image(image);
    return ttp_gate_set(page, gate_wanted());
}

/* A child's records mention no frame yet. */
void ttp_drop_inherit(void)
{
    struct ttp_stacks *stacks = ttp_thread.stacks;
    ttp_stack_verify();
    ttp_stack_current()->top = ttp_thread.top;
    for (uint32_t i = 0; i < stacks->count; i++) {
        struct ttp_runtime_stack *stack = &stacks->list[i];
        stack->recorded_count = stack->intact_count = 0;
        stack->expected_count = (size_t)(stack->top - stack->base);
    }
}

void ttp_drop_begin(uint32_t gate, uint32_t reason)
{
    uint32_t process = ttp_process_now();
    struct ttp_thread_page *page = ttp_thread.page;
    struct ttp_stacks *stacks = ttp_thread.stacks;
    if (page->gate == TTP_GATE_DROP || page->gate == TTP_GATE_NO_STATE)
        return;
    ttp_stack_verify();
    ttp_stack_current()->top = ttp_thread.top;
    for (uint32_t i = 0; i < stacks->count; i++) {
        struct ttp_runtime_stack *stack = &stacks->list[i];
        stack->recorded_count = stack->intact_count = stack->expected_count =
            (size_t)(stack->top - stack->base);
    }
    ttp_stack_current()->recorded_count += page->deep_frames - page->unrecorded_deep_frames;
    page->unrecorded_deep_frames = page->deep_frames;
    page->announced_stack = stacks->current;
    page->has_unwound = false;
    page->gap_reason = reason == TTAPE_GAP_REASON_OVERFLOW ? overflow_reason() : reason;
    page->freed_seen = __atomic_load_n(&ttp_arena.head.freed, __ATOMIC_RELAXED);
    TTP_SIGNAL_FENCE();
    ttp_gate_set(page, gate);
    if (ttp_is_child_of(process) && ttp_is_dropping())
        ttp_drop_inherit();
}

/* Removes the innermost frame from the records; the next call records it again. */
void ttp_drop_restate_innermost(void)
{
    ttp_drop_begin(TTP_GATE_DROP, 0);
    struct ttp_runtime_stack *stack = ttp_stack_current();
    if (stack->intact_count != 0 && stack->intact_count == ttp_frame_count())
        stack->intact_count--;
    ttp_thread.page->freed_seen--; /* there is a block: try */
}

/* Handlers that ran in between left the frames as they were. So `expected_count` says on which side
 * of the push or pop the drop period began. */
void ttp_drop_record_missing(long change)
{
    size_t count = ttp_frame_count();
    struct ttp_runtime_stack *stack = ttp_stack_current();
    bool began_after = stack->expected_count == count;
    if (began_after) /* it counted frames without a record, or left out frames whose end has none */
        stack->recorded_count -= (size_t)change;
    ttp_drop_frames_changed(began_after ? 0 : change);
    if (change > 0 && stack->intact_count > count - (size_t)change)
        stack->intact_count = count - (size_t)change;
}

/* Called by an operation that began in the drop period. */
void ttp_drop_frames_changed(long change)
{
    size_t count = ttp_frame_count();
    struct ttp_runtime_stack *stack = ttp_stack_current();
    stack->expected_count += (size_t)change;
    if (stack->intact_count > count)
        stack->intact_count = count;
}

/* Whether no hook is under way that may push, pop or record a frame as if recording were on. */
static bool hooks_are_over(struct ttp_thread_page *page)
{
    struct ttp_stacks *stacks = ttp_thread.stacks;
    ttp_stack_verify();
    ttp_stack_current()->top = ttp_thread.top;
    bool agrees = true;
    for (uint32_t i = 0; i < stacks->count; i++) {
        const struct ttp_runtime_stack *stack = &stacks->list[i];
        agrees &= stack->expected_count == (size_t)(stack->top - stack->base);
    }
    page->failed_resumes = agrees ? 0 : page->failed_resumes + 1;
    return agrees || page->failed_resumes > FAILED_RESUMES_MAX;
}

/* Of that page's drop period: writes nothing when a forked child has another page by now. */
static bool put_extension(const struct ttp_thread_page *page, uint64_t type, uint64_t payload)
{
    uint64_t now, *place = page == ttp_thread.page ? ttp_reserve_timed(1, &now) : NULL;
    if (place != NULL)
        ttp_store(place, ttp_record_extension(type, now, payload));
    return place != NULL;
}

static bool put_open(const struct ttp_thread_page *page, const struct ttp_runtime_frame *frame)
{
    if (ttp_is_mark(frame))
        return put_extension(page, TTP_EXT_SIGNAL_BEGIN, frame->function - TTP_FRAME_MARK);
    uint64_t now, *place = page == ttp_thread.page ? ttp_reserve_timed(2, &now) : NULL;
    if (place == NULL)
        return false;
    ttp_store(place + 1, ttp_record_call(TTP_TAG_ENTER, now, ttp_function_of(frame)));
    ttp_store(place, ttp_record_extension(TTP_EXT_OPEN, now, 0));
    return true;
}

static bool write_switch(struct ttp_thread_page *page, uint32_t index)
{
    if (page->announced_stack == index)
        return true;
    if (!put_extension(page, TTP_EXT_SWITCH, index))
        return false;
    page->announced_stack = index;
    return true;
}

static bool write_stack(struct ttp_thread_page *page, uint32_t index,
                        struct ttp_runtime_stack *stack)
{
    size_t count = (size_t)(stack->top - stack->base);
    if (stack->intact_count > count)
        stack->intact_count = count;
    /* A hook under way has recorded its frame or will do so; a hook that was left may not have. */
    bool is_unsure = page->failed_resumes != 0 || page->has_unwound;
    uint64_t left = is_unsure ? ttp_unwind_payload(TTP_UNWIND_ALL_BUT, stack->intact_count)
                              : ttp_unwind_payload(TTP_UNWIND_COUNT,
                                                   stack->recorded_count - stack->intact_count);
    if (stack->recorded_count == stack->intact_count && stack->intact_count == count && !is_unsure)
        return true;
    if (!write_switch(page, index))
        return false;
    if ((stack->recorded_count > stack->intact_count || is_unsure) &&
        !put_extension(page, TTP_EXT_UNWIND, left))
        return false;
    for (stack->recorded_count = stack->intact_count; stack->recorded_count < count;
         stack->intact_count = ++stack->recorded_count)
        if (!put_open(page, &stack->base[stack->recorded_count + 1]))
            return false;
    return true;
}

/* Of a time of being off nobody counts the events; when it began is told by how long ago that is.
 */
static bool write_stop(struct ttp_thread_page *page)
{
    uint64_t now, *place = page == ttp_thread.page ? ttp_reserve_timed(2, &now) : NULL;
    if (place == NULL)
        return false;
    enum ttp_stop_what what = page->is_ending ? TTP_STOP_LAST : TTP_STOP_FRAMES;
    uint64_t ago = page->stopped_ticks != 0 && now > page->stopped_ticks
                       ? (now - page->stopped_ticks) / TTP_AGO_TICKS
                       : 0;
    ttp_store(place + 1, ttp_record_extension(TTP_EXT_GAP, now,
                                              ttp_stop_payload(TTAPE_GAP_REASON_STOPPED, what, 0)));
    ttp_store(place, ttp_record_extension(TTP_EXT_AGO, now, ago));
    page->gap_reason = 0;
    return true;
}

static bool write_gap(struct ttp_thread_page *page)
{
    uint64_t dropped = page->dropped;
    uint64_t count = dropped < GAP_COUNT_MAX ? dropped : GAP_COUNT_MAX;
    if (page->gap_reason == TTAPE_GAP_REASON_STOPPED && !write_stop(page))
        return false;
    if (page->gap_reason == 0 && dropped != 0)
        page->gap_reason = overflow_reason();
    if (page->gap_reason == 0)
        return true;
    if (!put_extension(page, TTP_EXT_GAP, count << TTP_GAP_REASON_BITS | page->gap_reason))
        return false;
    ttp_add_here(&page->dropped, -dropped);
    page->gap_reason = 0;
    __atomic_sub_fetch(&ttp_arena.head.lost, page->published, __ATOMIC_RELAXED);
    page->published = 0;
    return true;
}

/* If the process dies in a drop period, few dropped events are forgotten. The count is taken back
 * when a GAP record has it. */
void ttp_drop_publish(void)
{
    struct ttp_thread_page *page = ttp_thread.page;
    uint64_t dropped = page->dropped;
    __atomic_add_fetch(&ttp_arena.head.lost, dropped - page->published, __ATOMIC_RELAXED);
    page->published = dropped;
}

static bool write_frames(struct ttp_thread_page *page)
{
    struct ttp_stacks *stacks = ttp_thread.stacks;
    if (!ttp_write_pending_process() || !ttp_kept_write() || !write_gap(page))
        return false;
    ttp_stack_verify();
    ttp_stack_current()->top = ttp_thread.top;
    for (uint32_t i = 0; i < stacks->count; i++)
        if (!write_stack(page, i, &stacks->list[i]))
            return false;
    return write_switch(page, stacks->current);
}

/* A thread goes on when a block was freed. Where the time for waiting is spent, it would drop again
 * behind that block's records: then it goes on when many were, so that what is recorded hangs
 * together, or when it may wait again. */
static bool is_worth_trying(const struct ttp_thread_page *page, uint64_t freed)
{
    if (page->dropped == 0 || !ttp_share_was_spent(&ttp_arena.head))
        return freed != page->freed_seen || page->dropped % TRY_EVERY == 0;
    return freed - page->freed_seen > ttp_arena.head.block_ready / FREED_PART ||
           (page->dropped % LOOK_EVERY == 0 && ttp_wait_is_due());
}

/* Only where no other operation of this thread is under way. */
bool ttp_drop_end(void)
{
    struct ttp_thread_page *page = ttp_thread.page;
    uint64_t freed = __atomic_load_n(&ttp_arena.head.freed, __ATOMIC_RELAXED);
    if (page->dropped != 0 && page->published == 0) /* a kill must not hide that there are some */
        ttp_drop_publish();
    if (!is_worth_trying(page, freed))
        return false;
    page->freed_seen = freed;
    if (!hooks_are_over(page) || !ttp_block_next() || !write_frames(page)) {
        ttp_drop_publish();
        return false;
    }
    page->failed_resumes = 0;
    if (!ttp_gate_open(page))
        return false;
    ttp_drop_write_gap();
    ttp_fact_write_start();
    return true;
}

/* Handlers may lose events while a drop period ends, or while a state is made. */
void ttp_drop_write_gap(void)
{
    struct ttp_thread_page *page = ttp_thread.page;
    while (!ttp_is_dropping() && page->dropped != 0)
        if (!write_gap(page))
            return;
}

/* Where it was off twice before that could be told, the first time counts. */
static void note_stop(struct ttp_thread_page *page)
{
    if (!ttp_is_dropping())
        ttp_drop_begin(TTP_GATE_DROP, 0);
    if (page->gap_reason != TTAPE_GAP_REASON_STOPPED)
        page->stopped_ticks = ttp_arena_off_ticks(&ttp_arena.head, page->period);
    page->gap_reason = TTAPE_GAP_REASON_STOPPED;
}

/* After a time of being off, frames are as they were before it as far as anybody knows; what
 * contradicts that is found by the stack pointer. */
void ttp_period_check(void)
{
    struct ttp_thread_page *page = ttp_thread.page;
    uint32_t period = __atomic_load_n(&ttp_arena.head.periods, __ATOMIC_RELAXED);
    if (period == page->period)
        return;
    if (page->is_unfollowed) {
        page->is_unfollowed = false;
        page->period++;
        if (!ttp_is_dropping())
            ttp_drop_begin(TTP_GATE_DROP, TTAPE_GAP_REASON_FILTER);
    }
    if (period != page->period)
        note_stop(page);
    page->period = period;
    page->freed_seen--; /* there may be a block: try */
}

/* A thread that ends while it is off: what it had open ended when that began. */
void ttp_drop_end_off(void)
{
    struct ttp_thread_page *page = ttp_thread.page;
    if (ttp_arena.head.mode != TTP_MODE_OFF)
        return;
    page->is_ending = true;
    note_stop(page);
}

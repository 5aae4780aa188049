/* Times without recording: no block to be had, or tracing turned off. Frames are kept as far as
 * they are seen; when recording goes on, a gap says how much is missing, and the frames that were
 * left or opened meanwhile follow, so that the tree is right from there on.
 *
 *   told    frames of a stack that the records say are open
 *   known   how many of those still are, the outermost ones: the fewest there were since
 *   accounted
 *           how many there are now, as far as operations know that began in the silence. A hook
 *           that began before, and was interrupted by the handler in which it began, pushes or pops
 *           a frame without knowing: until that hook is over, there is one more or one less. */
#include "writer/arena/record.h"
#include "writer/runtime/slow.h"

#define TRY_EVERY       1024u /* dropped events between tries for a block without a sign of one */
#define UNSETTLED_MAX   64u   /* tries, for a hook that was left by a jump is never over */
#define GAP_REASON_BITS 3u
#define GAP_OVERFLOW    1u
#define GAP_FILTER      3u
#define GAP_COUNT_MAX   ((1ull << (TTP_EXTENSION_PAYLOAD_BITS - GAP_REASON_BITS)) - 1)

/* -- one at a time -- */

/* Handlers that interrupt one may record, but not end a silence or add stacks. */

/* One that was left by a jump is noticed by the first that begins further out on the same stack. */
bool ttp_busy_begin(uintptr_t sp)
{
    struct ttp_line *line = ttp_thread.line;
    if (line->busy_sp != 0 && (sp < line->busy_sp || !ttp_stack_holds(ttp_stack_current(), sp)))
        return false;
    line->busy_sp = sp;
    TTP_SIGNAL_FENCE();
    return true;
}

void ttp_busy_end(bool was_begun)
{
    TTP_SIGNAL_FENCE();
    if (was_begun)
        ttp_thread.line->busy_sp = 0;
}

void ttp_event_lost(void) { __atomic_add_fetch(&ttp_arena.head.lost, 1, __ATOMIC_RELAXED); }

/* -- silence -- */

uint32_t ttp_gate_wanted(void)
{
    switch (ttp_arena.head.clock) {
    case TTP_CLOCK_TSC: return TTP_GATE_TSC;
    case TTP_CLOCK_NONE: return TTP_GATE_NONE;
    default: return TTP_GATE_CLOCK;
    }
}

/* Not that of a child that a handler forked just now. */
bool ttp_gate_set(struct ttp_line *line, uint32_t gate)
{
    uint32_t seen = *(volatile const uint32_t *)&line->gate;
    return seen != TTP_GATE_COLD && ttp_swap_word_here(&line->gate, seen, gate);
}

/* Of a child: its records tell of no frame yet. */
void ttp_silence_inherit(void)
{
    struct ttp_stacks *stacks = ttp_thread.stacks;
    ttp_stack_verify();
    ttp_stack_current()->top = ttp_thread.top;
    for (uint32_t i = 0; i < stacks->count; i++) {
        struct ttp_stack_seen *stack = &stacks->list[i];
        stack->told = stack->known = 0;
        stack->accounted = (size_t)(stack->top - stack->base);
    }
}

void ttp_silence_begin(uint32_t gate, uint32_t reason)
{
    uint32_t process = ttp_process_now();
    struct ttp_line *line = ttp_thread.line;
    struct ttp_stacks *stacks = ttp_thread.stacks;
    if (line->gate == TTP_GATE_DROP || line->gate == TTP_GATE_COLD)
        return;
    ttp_stack_verify();
    ttp_stack_current()->top = ttp_thread.top;
    for (uint32_t i = 0; i < stacks->count; i++) {
        struct ttp_stack_seen *stack = &stacks->list[i];
        stack->told = stack->known = stack->accounted = (size_t)(stack->top - stack->base);
    }
    ttp_stack_current()->told += line->deep - line->deep_unseen;
    line->deep_unseen = line->deep;
    line->stack_told = stacks->current;
    line->has_left = false;
    line->gap_reason = reason;
    line->freed_seen = __atomic_load_n(&ttp_arena.head.freed, __ATOMIC_RELAXED);
    TTP_SIGNAL_FENCE();
    ttp_gate_set(line, gate);
    if (ttp_is_child_of(process) && ttp_is_silent())
        ttp_silence_inherit();
}

/* Takes the innermost frame off the records and tells it anew, with the next call. */
void ttp_silence_retell(void)
{
    ttp_silence_begin(TTP_GATE_DROP, 0);
    struct ttp_stack_seen *stack = ttp_stack_current();
    if (stack->known != 0 && stack->known == ttp_frame_count())
        stack->known--;
    ttp_thread.line->freed_seen--; /* there is a block: try */
}

/* Handlers that ran in between left the frames as they were, so that `accounted` says on which side
 * of the push or pop the silence began. */
void ttp_silence_missed(long change)
{
    size_t count = ttp_frame_count();
    struct ttp_stack_seen *stack = ttp_stack_current();
    bool began_after = stack->accounted == count;
    if (began_after) /* told of frames that have no record, or not of those whose end has none */
        stack->told -= (size_t)change;
    ttp_silence_changed(began_after ? 0 : change);
    if (change > 0 && stack->known > count - (size_t)change)
        stack->known = count - (size_t)change;
}

/* By an operation that began in the silence. */
void ttp_silence_changed(long change)
{
    size_t count = ttp_frame_count();
    struct ttp_stack_seen *stack = ttp_stack_current();
    stack->accounted += (size_t)change;
    if (stack->known > count)
        stack->known = count;
}

/* Whether no hook is under way that may push, pop or record a frame as if recording were on. */
static bool is_settled(struct ttp_line *line)
{
    struct ttp_stacks *stacks = ttp_thread.stacks;
    ttp_stack_verify();
    ttp_stack_current()->top = ttp_thread.top;
    bool agrees = true;
    for (uint32_t i = 0; i < stacks->count; i++) {
        const struct ttp_stack_seen *stack = &stacks->list[i];
        agrees &= stack->accounted == (size_t)(stack->top - stack->base);
    }
    line->unsettled = agrees ? 0 : line->unsettled + 1;
    return agrees || line->unsettled > UNSETTLED_MAX;
}

/* Of a silence of that line: not when it has become another one, in a forked child. */
static bool put_fact(const struct ttp_line *line, uint64_t type, uint64_t payload)
{
    uint64_t now, *place = line == ttp_thread.line ? ttp_reserve_timed(1, &now) : NULL;
    if (place != NULL)
        ttp_store(place, ttp_record_extension(type, now, payload));
    return place != NULL;
}

static bool put_open(const struct ttp_line *line, const struct ttp_frame_seen *frame)
{
    if (ttp_is_mark(frame))
        return put_fact(line, TTP_EXT_SIGNAL_BEGIN, frame->function - TTP_FRAME_MARK);
    uint64_t now, *place = line == ttp_thread.line ? ttp_reserve_timed(2, &now) : NULL;
    if (place == NULL)
        return false;
    ttp_store(place + 1, ttp_record_call(TTP_TAG_ENTER, now, frame->function & ~TTP_FRAME_HANDLER));
    ttp_store(place, ttp_record_extension(TTP_EXT_OPEN, now, 0));
    return true;
}

static bool tell_switch(struct ttp_line *line, uint32_t index)
{
    if (line->stack_told == index)
        return true;
    if (!put_fact(line, TTP_EXT_SWITCH, index))
        return false;
    line->stack_told = index;
    return true;
}

static bool tell_stack(struct ttp_line *line, uint32_t index, struct ttp_stack_seen *stack)
{
    size_t count = (size_t)(stack->top - stack->base);
    if (stack->known > count)
        stack->known = count;
    /* A hook that is under way has told of its frame or will; who knows of one that was left. */
    bool is_unsure = line->unsettled != 0 || line->has_left;
    uint64_t left = is_unsure ? ttp_left_payload(TTP_LEFT_ALL_BUT, stack->known)
                              : ttp_left_payload(TTP_LEFT_COUNT, stack->told - stack->known);
    if (stack->told == stack->known && stack->known == count && !is_unsure)
        return true;
    if (!tell_switch(line, index))
        return false;
    if ((stack->told > stack->known || is_unsure) && !put_fact(line, TTP_EXT_UNWIND, left))
        return false;
    for (stack->told = stack->known; stack->told < count; stack->known = ++stack->told)
        if (!put_open(line, &stack->base[stack->told + 1]))
            return false;
    return true;
}

static bool tell_gap(struct ttp_line *line)
{
    uint64_t dropped = line->dropped;
    uint64_t count = dropped < GAP_COUNT_MAX ? dropped : GAP_COUNT_MAX;
    if (line->gap_reason == 0 && dropped != 0)
        line->gap_reason = GAP_OVERFLOW;
    if (line->gap_reason == 0)
        return true;
    if (!put_fact(line, TTP_EXT_GAP, count << GAP_REASON_BITS | line->gap_reason))
        return false;
    ttp_add_here(&line->dropped, -dropped);
    line->gap_reason = 0;
    __atomic_sub_fetch(&ttp_arena.head.lost, line->published, __ATOMIC_RELAXED);
    line->published = 0;
    return true;
}

/* So that few are forgotten when the process dies in silence; taken back when a gap tells of them.
 */
void ttp_silence_publish(void)
{
    struct ttp_line *line = ttp_thread.line;
    uint64_t dropped = line->dropped;
    __atomic_add_fetch(&ttp_arena.head.lost, dropped - line->published, __ATOMIC_RELAXED);
    line->published = dropped;
}

static bool tell(struct ttp_line *line)
{
    struct ttp_stacks *stacks = ttp_thread.stacks;
    if (!ttp_owes_pay() || !tell_gap(line))
        return false;
    ttp_stack_verify();
    ttp_stack_current()->top = ttp_thread.top;
    for (uint32_t i = 0; i < stacks->count; i++)
        if (!tell_stack(line, i, &stacks->list[i]))
            return false;
    return tell_switch(line, stacks->current);
}

/* Only where no other operation of this thread is under way. */
bool ttp_silence_end(void)
{
    struct ttp_line *line = ttp_thread.line;
    uint64_t freed = __atomic_load_n(&ttp_arena.head.freed, __ATOMIC_RELAXED);
    if (line->dropped != 0 && line->published == 0) /* a kill must not hide that there are some */
        ttp_silence_publish();
    if (freed == line->freed_seen && line->dropped % TRY_EVERY != 0)
        return false;
    line->freed_seen = freed;
    if (!is_settled(line) || !ttp_block_next() || !tell(line)) {
        ttp_silence_publish();
        return false;
    }
    line->unsettled = 0;
    if (!ttp_gate_set(line, ttp_gate_wanted()))
        return false;
    ttp_silence_gap();
    return true;
}

/* What handlers lost while a silence was ended, or a state made. */
void ttp_silence_gap(void)
{
    struct ttp_line *line = ttp_thread.line;
    while (!ttp_is_silent() && line->dropped != 0)
        if (!tell_gap(line))
            return;
}

/* After a time of being off, frames are as they were before it as far as anybody knows; what
 * contradicts that is found by the stack pointer. */
void ttp_period_check(void)
{
    struct ttp_line *line = ttp_thread.line;
    uint32_t period = __atomic_load_n(&ttp_arena.head.periods, __ATOMIC_RELAXED);
    if (period == line->period)
        return;
    line->period = period;
    if (!ttp_is_silent())
        ttp_silence_begin(TTP_GATE_DROP, GAP_FILTER);
    line->freed_seen--; /* there may be a block: try */
}

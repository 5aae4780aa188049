/* The hot path of a call's two ends, shared by the compilers' hooks and our own API.
 *
 *   frame fits the shadow stack?        else slow: unwinding, other stack, signal, large frame
 *   push or pop it
 *   clock
 *   place in the block <- cursor += 8   one instruction, so that a handler gets its own place
 *   epoch as before, room in the block? else slow: an epoch record or another block first
 *   record into its place               one store: now it exists
 *
 * Nothing here calls, locks, allocates, or touches errno or vector registers. */
#ifndef TTP_RUNTIME_HOT_H
#define TTP_RUNTIME_HOT_H

#include "recorder/arena/record.h"
#include "recorder/runtime/state.h"

#define TTP_BLOCK_MASK ((uint64_t)TTP_BLOCK_BYTES - 1)

static inline uint64_t ttp_epoch_start(const struct ttp_thread_page *page)
{
    return *(volatile const uint64_t *)&page->epoch_start;
}

static inline bool ttp_has_room(uint64_t place)
{
    return (place & TTP_BLOCK_MASK) >= TTP_BLOCK_HEAD_BYTES;
}

/* Below its parent and not far; or at the same place with the same return address: inlined in it.
 */
static inline bool ttp_fits_below(const struct ttp_runtime_frame *top,
                                  const struct ttp_runtime_frame *end, uintptr_t sp,
                                  uintptr_t call_site)
{
    return (TTP_LIKELY(top->sp - sp - 1 < TTP_LARGE_FRAME - 1) ||
            (top->sp == sp && top->call_site == call_site)) &&
           top < end;
}

static inline bool ttp_fits_enter(const struct ttp_runtime_frame *top,
                                  const struct ttp_thread_page *page, uintptr_t sp,
                                  uintptr_t call_site)
{
    return ttp_fits_below(top, page->frames_end, sp, call_site);
}

/* Far below it, where that is known to be its stack (frames/far_calls.c). */
static inline bool ttp_fits_far(const struct ttp_runtime_frame *top,
                                const struct ttp_thread_page *page, uintptr_t sp,
                                uintptr_t call_site)
{
    uintptr_t low = page->far_low, high = page->far_high, known = page->far_call_site;
    bool is_within = sp - low <= high - low && page->far_stacks == ttp_process.stack_changes;
    TTP_SIGNAL_FENCE(); /* a handler may have put what it knows there: then it is of its frame */
    return is_within && known == call_site && page->far_top == top && page->far_top_sp == top->sp &&
           top < page->frames_end;
}

/* A frame ends where it began, or above when the call of this hook is its last jump, but below
 * where its parent began. */
static inline bool ttp_fits_exit(const struct ttp_runtime_frame *top, uintptr_t function,
                                 uintptr_t call_site, uintptr_t sp)
{
    return TTP_LIKELY(top->function == function) && TTP_LIKELY(top->call_site == call_site) &&
           TTP_LIKELY(sp >= top->sp) && TTP_LIKELY(sp <= top[-1].sp);
}

static inline void ttp_push_on(struct ttp_thread_state *own, struct ttp_runtime_frame *top,
                               uintptr_t function, uintptr_t call_site, uintptr_t sp)
{
    struct ttp_runtime_frame *next = top + 1;
    TTP_PUSH_FRAME(own->top, next, sp, function, call_site);
}

static inline void ttp_push(struct ttp_runtime_frame *top, uintptr_t function, uintptr_t call_site,
                            uintptr_t sp)
{
    ttp_push_on(&ttp_thread, top, function, call_site, sp);
}

static inline void ttp_pop_on(struct ttp_thread_state *own, struct ttp_runtime_frame *top)
{
    own->top = top - 1;
    TTP_SIGNAL_FENCE();
}

static inline void ttp_pop(struct ttp_runtime_frame *top) { ttp_pop_on(&ttp_thread, top); }

/* The recorded epoch is compared on both sides of the reservation, see ttp_reserve_timed. False: it
 * is another one, or there is no room; then `place` is what was reserved. */
static inline bool ttp_record_at(struct ttp_thread_state *own, const struct ttp_thread_page *page,
                                 uint64_t start, uint64_t tag, uint32_t time, uintptr_t function,
                                 uint64_t *place)
{
    *place = ttp_add_here(&own->cursor, 8);
    if (TTP_UNLIKELY(ttp_epoch_start(page) != start || !ttp_has_room(*place)))
        return false;
    *(volatile uint64_t *)*place = (uint64_t)function << TTP_RECORD_ADDRESS_SHIFT |
                                   (uint64_t)time << TTP_RECORD_TAG_BITS | tag;
    return true;
}

static inline bool ttp_record_tsc_on(struct ttp_thread_state *own,
                                     const struct ttp_thread_page *page, uint64_t tag,
                                     uintptr_t function, uint64_t *place)
{
    uint64_t start = ttp_epoch_start(page);
    uint32_t low, high;
    ttp_tsc_halves(&low, &high);
    uint32_t time = low - (uint32_t)start;
    *place = TTP_NO_BLOCK;
    return TTP_LIKELY(high == (uint32_t)(start >> 32) && time <= TTP_RECORD_TIME_MASK) &&
           ttp_record_at(own, page, start, tag, time, function, place);
}

static inline bool ttp_record_tsc(const struct ttp_thread_page *page, uint64_t tag,
                                  uintptr_t function, uint64_t *place)
{
    return ttp_record_tsc_on(&ttp_thread, page, tag, function, place);
}

static inline bool ttp_record_clock(const struct ttp_thread_page *page, uint64_t tag,
                                    uintptr_t function, uint64_t *place)
{
    uint64_t start = ttp_epoch_start(page);
    uint64_t time = page->gate == TTP_GATE_NO_CLOCK ? 0 : ttp_process.clock() - start;
    *place = TTP_NO_BLOCK;
    return TTP_LIKELY(start != 0 && time <= TTP_RECORD_TIME_MASK) &&
           ttp_record_at(&ttp_thread, page, start, tag, (uint32_t)time, function, place);
}

/* Gates that record beside the hot path. Without the time stamp counter it is here that a time of
 * being off is noticed. */
static inline bool ttp_is_other_gate(const struct ttp_thread_page *page)
{
    return page->gate - TTP_GATE_NO_CLOCK <= TTP_GATE_FILTER - TTP_GATE_NO_CLOCK &&
           *(volatile const uint32_t *)&ttp_arena.head.periods == page->period;
}

static inline bool ttp_record_other(const struct ttp_thread_page *page, uint64_t tag,
                                    uintptr_t function, uint64_t *place)
{
    return page->gate == TTP_GATE_FILTER ? ttp_record_tsc(page, tag, function, place)
                                         : ttp_record_clock(page, tag, function, place);
}

/* -- calls that are left out: no frame, no record -- */

/* Of ttp_process.enter_verdicts or .verdicts. */
static inline bool ttp_is_left_out(const uint64_t *verdicts, const struct ttp_thread_page *page,
                                   uintptr_t function)
{
    return verdicts != NULL &&
           ttp_verdict_is_there(verdicts, page->verdict_seed, page->verdict_image, function);
}

/* In the first place where it may be; no loop, for the hooks. */
static inline bool ttp_is_left_out_first(const uint64_t *verdicts,
                                         const struct ttp_thread_page *page, uintptr_t function)
{
    return TTP_LIKELY(verdicts != NULL) &&
           TTP_LIKELY(*(volatile const uint64_t
                            *)&verdicts[ttp_verdict_slot(page->verdict_seed, function)] ==
                      ttp_verdict_word(page->verdict_image, function));
}

/* It has a frame: it was entered before it was decided, or it is a handler. What it calls of itself
 * has one, too, so that it is known whose end comes. */
static inline bool ttp_is_own_frame(const struct ttp_runtime_frame *top, uintptr_t function)
{
    return (top->function ^ function) << 16 == 0; /* bits 48 and up say something else */
}

/* Called at the same place, with the same stack pointer. */
static inline bool ttp_is_inlined_in(const struct ttp_runtime_frame *top, uintptr_t sp,
                                     uintptr_t call_site)
{
    return top->sp == sp && top->call_site == call_site;
}

/* On the stack that the innermost frame is on, below it. */
static inline bool ttp_is_known_below(const struct ttp_runtime_frame *top,
                                      const struct ttp_thread_page *page, uintptr_t sp)
{
    return page->left_top == top && sp - page->left_low < top->sp - page->left_low;
}

#endif

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

#include "format/record.h"
#include "writer/runtime/state.h"

#define TTP_BLOCK_MASK ((uint64_t)TTP_BLOCK_BYTES - 1)

/* The stack pointer of the instrumented function, where it called us. */
#if defined(__clang__)
#define TTP_CALLER_SP() ((uintptr_t)__builtin_frame_address(0) + 16)
#else
#define TTP_CALLER_SP() ((uintptr_t)__builtin_dwarf_cfa())
#endif

static inline bool ttp_has_room(uint64_t place)
{
    return (place & TTP_BLOCK_MASK) >= TTP_BLOCK_HEAD_BYTES;
}

/* Below its parent and not far; or at the same place with the same return address: inlined in it. */
static inline bool ttp_fits_enter(const struct ttp_frame_seen *top, const struct ttp_line *line,
                                  uintptr_t sp, uintptr_t call_site)
{
    return (TTP_LIKELY(top->sp - sp - 1 < TTP_LARGE_FRAME - 1) ||
            (top->sp == sp && top->call_site == call_site)) &&
           top < line->frames_end;
}

/* A frame ends where it began, or above when the call of this hook is its last jump, but below
 * where its parent began. */
static inline bool ttp_fits_exit(const struct ttp_frame_seen *top, uintptr_t function,
                                 uintptr_t call_site, uintptr_t sp)
{
    return ((top->function ^ function) | (top->call_site ^ call_site)) == 0 &&
           sp - top->sp <= top[-1].sp - top->sp;
}

static inline void ttp_push(struct ttp_frame_seen *top, uintptr_t function, uintptr_t call_site,
                            uintptr_t sp)
{
    ttp_thread.top = top + 1;
    TTP_SIGNAL_FENCE();
    top[1].sp = sp;
    top[1].function = function;
    top[1].call_site = call_site;
    TTP_SIGNAL_FENCE();
}

static inline void ttp_pop(struct ttp_frame_seen *top)
{
    ttp_thread.top = top - 1;
    TTP_SIGNAL_FENCE();
}

/* The epoch that was told is looked at on both sides of the reservation, see ttp_reserve_timed. False:
 * it is another one, or there is no room. */
static inline bool ttp_record_now(const struct ttp_line *line, uint64_t tag, uint64_t epoch,
                                  uint64_t now, uintptr_t function, uint64_t *place)
{
    *place = ttp_add_here(&ttp_thread.cursor, 8);
    if (TTP_UNLIKELY(((now >> TTP_RECORD_TIME_BITS ^ epoch) | (line->epoch ^ epoch)) != 0 ||
                     !ttp_has_room(*place)))
        return false;
    *(volatile uint64_t *)*place = ttp_record_call(tag, now, function);
    return true;
}

/* Gates without the time stamp counter. There it is here that a time of being off is noticed. */
static inline bool ttp_is_other_gate(const struct ttp_line *line)
{
    return (line->gate == TTP_GATE_NONE || line->gate == TTP_GATE_CLOCK) &&
           *(volatile const uint32_t *)&ttp_arena.head.periods == line->period;
}

#endif

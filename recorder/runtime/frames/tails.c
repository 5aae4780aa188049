/* Frames of functions that are left by a jump (tail calls).
 *
 *     p: call f   f: jmp g   g: ret                p { f { g { } } }
 *
 * One machine frame, one return address: f has gone when g runs. In the program's source f called
 * g, and ends when g does. So f's frame stays where it is and awaits what comes next:
 *
 *     g is entered at the same place      its frame lies on f's (chained); with g's exit both end
 *     what is not recorded returns there  the exit is f's
 *     anything else                       what f jumped to is not seen: f has ended with its jump
 *
 * A signal's handler in between is neither. A chain has each function once: where one is jumped to
 * that is in it, it has ended, and those above it: so loops of such jumps stay flat. Each step
 * leaves the shadow stack as a handler may find it: a frame awaits, or something lies on it. */
#include "recorder/runtime/hot.h"
#include "recorder/runtime/operation.h"

#define CODE_PAGE     4096u
#define CALL_DIRECT   0xe8u
#define CALL_INDIRECT 0xffu
#define BY_PLACE      0x15u /* through a word, relative to the instruction */
#define CALL_BYTES    5u    /* of a direct one; of the other one a byte more */
#define CHAIN_MAX     256u  /* frames of a chain: each of its entries looks through them */

/* -- what awaits -- */

void ttp_tail_mark(struct ttp_runtime_frame *top, uintptr_t target)
{
    struct ttp_thread_page *page = ttp_thread.page;
    if (ttp_is_base(top))
        return;
    page->jump_top = top;
    page->jump_target = target;
    page->block_top = page->left_top = NULL; /* what is known of where it lies */
    top->function |= TTP_FRAME_JUMPED | TTP_FRAME_AWAITS;
    TTP_SIGNAL_FENCE();
    top->sp |= TTP_FRAME_AWAITS;
    TTP_SIGNAL_FENCE();
}

void ttp_tail_join(struct ttp_runtime_frame *top)
{
    top->sp &= ~TTP_FRAME_AWAITS;
    TTP_SIGNAL_FENCE();
    top->function &= ~TTP_FRAME_AWAITS;
    TTP_SIGNAL_FENCE();
}

/* What lies below all frames seems to be chained, and is no frame. */
static struct ttp_runtime_frame *find_first(struct ttp_runtime_frame *top)
{
    while ((top->function & TTP_FRAME_CHAINED) != 0 && !ttp_is_base(top) && !ttp_is_base(top - 1))
        top--;
    return top;
}

/* Who was called there calls only one function: what comes from there now, and is another one, was
 * jumped to. */
static bool is_only_callee(uintptr_t function, uintptr_t call_site)
{
    const uint8_t *code = (const uint8_t *)(call_site - CALL_BYTES);
    if (call_site % CODE_PAGE < CALL_BYTES || code[0] != CALL_DIRECT)
        return false;
    uint32_t distance =
        code[1] | (uint32_t)code[2] << 8 | (uint32_t)code[3] << 16 | (uint32_t)code[4] << 24;
    return call_site + (uintptr_t)(intptr_t)(int32_t)distance == function;
}

/* A pointer calls any function, this time that one, then another one. A call of one name is direct,
 * or through the word that the loader fills. */
bool ttp_tail_calls_any(uintptr_t call_site)
{
    const uint8_t *code = (const uint8_t *)(call_site - CALL_BYTES);
    return call_site % CODE_PAGE > CALL_BYTES && code[0] != CALL_DIRECT &&
           !(code[-1] == CALL_INDIRECT && code[0] == BY_PLACE);
}

/* What has compiled-in hooks calls them further down, in its own frame. */
bool ttp_tail_goes_on(const struct ttp_runtime_frame *top, uintptr_t function, uintptr_t call_site,
                      uintptr_t sp)
{
    if (top == NULL || !ttp_awaits(top) || top->call_site != call_site)
        return false;
    const struct ttp_thread_page *page = ttp_thread.page;
    bool is_last = page->jump_top == top, is_target = is_last && page->jump_target == function;
    uintptr_t at = ttp_sp_of(top);
    if (sp != at)
        return is_target && at - sp < TTP_LARGE_FRAME;
    if (is_target || (is_last && page->jump_registers == ttp_tail_registers(sp)))
        return true;
    /* Others came in between, if it is no second call of the same function, as in a loop. */
    uintptr_t first = ttp_function_of(find_first((struct ttp_runtime_frame *)(uintptr_t)top));
    return function != first && is_only_callee(first, call_site);
}

/* -- the slow side -- */

/* The innermost frame ends; the one that jumped to it awaits again. */
static void end_awaiting(struct operation *op)
{
    struct ttp_runtime_frame *top = ttp_thread.top;
    if (ttp_is_base(top))
        return;
    if ((top->function & TTP_FRAME_CHAINED) != 0)
        ttp_tail_mark(top - 1, 0);
    top->function &= ~TTP_FRAME_CHAINED;
    ttp_slow_leave(op, ttp_function_of(top));
}

/* How many frames end where the function is entered on the chain: those above its last call there,
 * and that; all of a chain that has become too long. */
static uint32_t count_ending(const struct ttp_runtime_frame *top, uintptr_t function)
{
    uint32_t count = 1;
    for (; ttp_function_of(top) != function; top--, count++)
        if ((top->function & TTP_FRAME_CHAINED) == 0 || ttp_is_base(top))
            return count > CHAIN_MAX ? count : 0;
    return count;
}

uintptr_t ttp_tail_chain(struct operation *op, uintptr_t function)
{
    for (uint32_t left = count_ending(ttp_thread.top, function); left > 0; left--)
        end_awaiting(op);
    if (!ttp_awaits(ttp_thread.top))
        return 0;
    ttp_tail_join(ttp_thread.top);
    return TTP_FRAME_CHAINED;
}

/* All of a chain has ended with its last jump; how many frames that is. A handler that is not
 * recorded may have called what ended them before: each end is told once. */
static long settle_tails(struct ttp_runtime_frame *top)
{
    if (ttp_is_base(top))
        return 0;
    struct ttp_runtime_frame *first = find_first(top), *seen = top;
    bool is_ours = __atomic_compare_exchange_n(&ttp_thread.top, &seen, first - 1, false,
                                               __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    return is_ours ? top - first + 1 : 0;
}

void ttp_tail_settle(struct operation *op)
{
    ttp_adopt_page(op);
    long count = settle_tails(ttp_thread.top);
    if (count == 0)
        return;
    ttp_put_extension(op, TTP_EXT_JUMPED, ttp_unwind_payload(TTP_UNWIND_COUNT, (uint64_t)count),
                      -count);
}

/* -- beside the hot path: with the time stamp counter, and where nothing else is to be done -- */

static bool is_usual(const struct ttp_thread_page *page)
{
    return page->gate == TTP_GATE_TSC &&
           *(volatile const uint32_t *)&ttp_arena.head.periods == page->period;
}

static bool is_still(const struct ttp_thread_page *page)
{
    return ttp_thread.page == page && is_usual(page);
}

/* As ttp_record_tsc. */
static bool record_extension(const struct ttp_thread_page *page, uint64_t type, uint64_t payload,
                             uint64_t *place)
{
    uint64_t start = ttp_epoch_start(page);
    uint32_t low, high;
    ttp_tsc_halves(&low, &high);
    uint32_t time = low - (uint32_t)start;
    *place = TTP_NO_BLOCK;
    if (TTP_UNLIKELY(high != (uint32_t)(start >> 32) || time > TTP_RECORD_TIME_MASK))
        return false;
    *place = ttp_add_here(&ttp_thread.cursor, 8);
    if (TTP_UNLIKELY(ttp_epoch_start(page) != start || !ttp_has_room(*place)))
        return false;
    ttp_store((uint64_t *)*place, ttp_record_extension(type, time, payload));
    return true;
}

static void put_extension(const struct ttp_thread_page *page, uint64_t type, uint64_t payload,
                          long change)
{
    uint64_t place;
    if (TTP_LIKELY(record_extension(page, type, payload, &place)))
        return;
    ttp_slot_fill(place);
    if (ttp_is_inherited(page))
        return;
    struct operation op = ttp_slow_after_hot_path(page);
    ttp_put_extension(&op, type, payload, change);
    ttp_slow_end(&op);
}

void ttp_tail_leave(uintptr_t function, uintptr_t call_site, uintptr_t sp, uintptr_t target)
{
    const struct ttp_thread_page *page = ttp_thread.page;
    struct ttp_runtime_frame *top = ttp_thread.top;
    if (!is_usual(page) || ttp_function_of(top) != function || top->call_site != call_site ||
        ttp_sp_of(top) != sp || ttp_is_base(top)) {
        ttp_tail_slow(function, call_site, sp, target);
        return;
    }
    ttp_thread.page->jump_registers = ttp_tail_registers(sp);
    ttp_tail_mark(top, target);
    put_extension(page, TTP_EXT_JUMP, 0, 0);
}

static void put_exit(const struct ttp_thread_page *page, struct ttp_runtime_frame *top)
{
    uintptr_t function = ttp_function_of(top);
    uint64_t place;
    ttp_pop(top);
    if (TTP_UNLIKELY(!ttp_record_tsc(page, TTP_TAG_EXIT, function, &place)))
        ttp_exit_put(function, place, page);
}

/* Those of handlers, and what is far, are looked at more closely. */
static bool is_plain(const struct ttp_runtime_frame *frame)
{
    return (frame->function & TTP_FRAME_HANDLER) == 0;
}

bool ttp_tail_exit(uintptr_t function, uintptr_t call_site, uintptr_t sp)
{
    const struct ttp_thread_page *page = ttp_thread.page;
    struct ttp_runtime_frame *top = ttp_thread.top;
    if (!is_usual(page) || ttp_is_base(top) || (top->function & TTP_FRAME_TAILS) == 0 ||
        !is_plain(top) || ttp_function_of(top) != function || top->call_site != call_site ||
        sp < ttp_sp_of(top) || sp > ttp_sp_of(top - 1))
        return false;
    bool goes_on;
    do {
        goes_on = (top->function & TTP_FRAME_CHAINED) != 0;
        put_exit(page, top--);
    } while (goes_on && is_still(page) && ttp_thread.top == top && is_plain(top));
    if (goes_on && !ttp_is_base(top))
        ttp_exit_slow(ttp_function_of(top), top->call_site, ttp_sp_of(top), NULL);
    return true;
}

/* False: not all of them. */
static bool put_ends(const struct ttp_thread_page *page, uint32_t count)
{
    for (; count > 0 && is_still(page) && is_plain(ttp_thread.top); count--) {
        struct ttp_runtime_frame *top = ttp_thread.top;
        if ((top->function & TTP_FRAME_CHAINED) != 0)
            ttp_tail_mark(top - 1, 0);
        put_exit(page, top);
    }
    return count == 0 && is_still(page);
}

static bool enter_frame(const struct ttp_thread_page *page, uintptr_t function, uintptr_t call_site,
                        uintptr_t sp, uintptr_t bits)
{
    struct ttp_runtime_frame *top = ttp_thread.top;
    uint64_t place;
    if (top >= page->frames_end)
        return false;
    if (bits != 0)
        ttp_tail_join(top);
    ttp_push(top, function | bits, call_site, sp);
    if (TTP_UNLIKELY(!ttp_record_tsc(page, TTP_TAG_ENTER, function, &place)))
        ttp_enter_put(function, place, page);
    return true;
}

/* What was called from further out, and not far: the frame is gone, as no handler's is so near. */
static bool is_beside(const struct ttp_runtime_frame *top, uintptr_t sp)
{
    return ttp_sp_of(top) - sp + TTP_LARGE_FRAME < 2 * TTP_LARGE_FRAME;
}

bool ttp_tail_enter(uintptr_t function, uintptr_t call_site, uintptr_t sp)
{
    const struct ttp_thread_page *page = ttp_thread.page;
    struct ttp_runtime_frame *top = ttp_thread.top;
    if (!is_usual(page) || !ttp_awaits(top) || !is_plain(top) || page->operation_sp != 0)
        return false;
    if (ttp_tail_goes_on(top, function, call_site, sp))
        return put_ends(page, count_ending(top, function)) &&
               enter_frame(page, function, call_site, sp,
                           ttp_awaits(ttp_thread.top) ? TTP_FRAME_CHAINED : 0);
    if (!is_beside(top, sp) || ttp_is_signal_return(call_site))
        return false;
    long count = settle_tails(top);
    if (count != 0)
        put_extension(page, TTP_EXT_JUMPED, ttp_unwind_payload(TTP_UNWIND_COUNT, (uint64_t)count),
                      -count);
    return is_still(page) && ttp_thread.top->sp - sp - 1 < TTP_LARGE_FRAME - 1 &&
           enter_frame(page, function, call_site, sp, 0);
}

/* Basic blocks: what the callback that compilers call in each of them leaves behind. No clock is
 * read, and no frame changes: a block is within the function that is open, or, where compilers put
 * the callback in front of its hooks, right before its enter or behind its exit. */
#include <tracetape/runtime.h>

#include "recorder/runtime/hot.h"
#include "recorder/runtime/slow.h"

static inline bool is_off(void)
{
    return TTP_LIKELY(ttp_arena.head.mode != TTP_MODE_ON) || ttp_arena.head.no_blocks != 0;
}

/* Where the innermost frame is or below, and not far, or where a block of it was before. */
static inline bool fits_page(const struct ttp_runtime_frame *top,
                             const struct ttp_thread_page *page, uintptr_t sp)
{
    return TTP_LIKELY(top->sp - sp < TTP_LARGE_FRAME) ||
           (page->block_sp == sp && page->block_top == top);
}

/* The gates that record are neighbours. There is no time here to see that tracing was off. */
static inline bool is_recording(const struct ttp_thread_page *page)
{
    return page->gate - TTP_GATE_TSC <= TTP_GATE_SITES - TTP_GATE_TSC &&
           *(volatile const uint32_t *)&ttp_arena.head.periods == page->period;
}

void ttape_rt_block(uintptr_t address, uintptr_t sp)
{
    if (is_off())
        return;
    const struct ttp_thread_page *page = ttp_thread.page;
    if (TTP_UNLIKELY(!is_recording(page) || !fits_page(ttp_thread.top, page, sp))) {
        ttp_block_slow(address, sp);
        return;
    }
    uint64_t place = ttp_add_here(&ttp_thread.cursor, 8);
    if (TTP_UNLIKELY(!ttp_has_room(place))) {
        ttp_block_put(address, place, page);
        return;
    }
    *(volatile uint64_t *)place = ttp_record_block(address);
}

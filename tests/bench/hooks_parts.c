/* The hook's hot path, part by part, from the runtime's own inline functions (hot.h): PARTS 1 reads
 * the clock, 2 stores a record as well, 3 takes its place as the hook does (xadd), 4 keeps the
 * shadow stack. For one thread; the block and the stack are never handed on. */
#include "recorder/runtime/hot.h"

#define FRAMES 65536u

static struct ttp_runtime_frame frames[FRAMES];
static uint8_t block[TTP_BLOCK_BYTES] __attribute__((aligned(TTP_BLOCK_BYTES)));
static struct ttp_thread_page page = {.gate = TTP_GATE_TSC, .frames_end = frames + FRAMES - 1};
__thread struct ttp_thread_state ttp_thread
    __attribute__((aligned(32), tls_model("initial-exec"))) = {.top = frames + 1, .page = &page};

void __cyg_profile_func_enter(void *function, void *call_site);
void __cyg_profile_func_exit(void *function, void *call_site);

static inline uint64_t next_place(void)
{
#if PARTS >= 3
    uint64_t place = ttp_add_here(&ttp_thread.cursor, 8);
#else
    uint64_t place = ttp_thread.cursor;
    ttp_thread.cursor = place + 8;
#endif
    if (TTP_UNLIKELY(!ttp_has_room(place))) {
        place = (uint64_t)(uintptr_t)block + TTP_BLOCK_HEAD_BYTES;
        ttp_thread.cursor = place + 8;
    }
    return place;
}

static inline void record(uint64_t tag, uintptr_t function)
{
    uint32_t low, high;
    ttp_tsc_halves(&low, &high);
    if (PARTS >= 2)
        *(volatile uint64_t *)next_place() =
            (uint64_t)function << TTP_RECORD_ADDRESS_SHIFT |
            (uint64_t)(low & TTP_RECORD_TIME_MASK) << TTP_RECORD_TAG_BITS | tag;
}

void __cyg_profile_func_enter(void *function, void *call_site)
{
    if (PARTS >= 4) {
        uintptr_t sp = TTP_CALLER_SP();
        struct ttp_runtime_frame *top = ttp_thread.top;
        if (ttp_fits_enter(top, ttp_thread.page, sp, (uintptr_t)call_site) || top < page.frames_end)
            ttp_push(top, (uintptr_t)function, (uintptr_t)call_site, sp);
    }
    record(TTP_TAG_ENTER, (uintptr_t)function);
}

void __cyg_profile_func_exit(void *function, void *call_site)
{
    if (PARTS >= 4) {
        struct ttp_runtime_frame *top = ttp_thread.top;
        if (ttp_fits_exit(top, (uintptr_t)function, (uintptr_t)call_site, TTP_CALLER_SP()) ||
            top > frames + 1)
            ttp_pop(top);
    }
    record(TTP_TAG_EXIT, (uintptr_t)function);
}

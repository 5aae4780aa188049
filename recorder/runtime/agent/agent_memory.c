/* Memory of the program's that values point to. No system call is made for it, and nothing may
 * fault: so only what is certain to be there is read.
 *
 *     the page that the stack pointer is in, and the function's return address
 *     the thread's own stack, up from here, where it was there when we attached
 *     constants of the executable and of libraries that it needs: they are never unloaded
 *
 * All else stays an address. */
#include "recorder/runtime/agent/agent.h"

_Static_assert(sizeof(struct ttp_agent_memory) <= TTP_AGENT_MEMORY, "it has that room");

void ttp_agent_memory_begin(uint64_t at, const struct ttp_agent_range *stack)
{
    struct ttp_agent_memory *memory = (struct ttp_agent_memory *)at;
    memory->stack = *stack;
    memory->texts.user_sp = 0;
    ttp_thread.call_texts = &memory->texts;
}

/* NULL where no values are recorded, and of a thread that has not begun, or is left out. */
struct ttp_call_texts *ttp_texts_of_thread(void) { return ttp_thread.call_texts; }

static bool is_within(const struct ttp_agent_range *range, uint64_t address)
{
    return address - range->low < range->high - range->low;
}

/* It ends with this thread's stack, or with the page where the thread is; 0: not there. */
static uint64_t end_on_stack(uint64_t from)
{
    const struct ttp_call_texts *texts = ttp_thread.call_texts;
    uint64_t here = (uint64_t)(uintptr_t)__builtin_frame_address(0);
    uint64_t used_at = texts != NULL && texts->user_sp != 0 ? texts->user_sp : here;
    if (texts != NULL) {
        const struct ttp_agent_memory *memory =
            (const struct ttp_agent_memory *)((uintptr_t)texts -
                                              offsetof(struct ttp_agent_memory, texts));
        if (is_within(&memory->stack, here) && is_within(&memory->stack, from) && from >= here)
            return memory->stack.high;
    }
    return from / TTP_AGENT_PAGE == here / TTP_AGENT_PAGE ||
                   from / TTP_AGENT_PAGE == used_at / TTP_AGENT_PAGE
               ? (from / TTP_AGENT_PAGE + 1) * TTP_AGENT_PAGE
               : 0;
}

/* Where the memory ends that is there from that address on; 0: it may not be. */
static uint64_t end_of(uint64_t from)
{
    const struct ttp_agent_range *constants = ttp_agent_shared.constants;
    uint32_t first = 0, end = TTP_AGENT_RANGES;
    while (first < end) {
        uint32_t middle = first + (end - first) / 2;
        if (constants[middle].high != 0 && constants[middle].high <= from)
            first = middle + 1;
        else
            end = middle;
    }
    return first < TTP_AGENT_RANGES && is_within(&constants[first], from) ? constants[first].high
                                                                          : end_on_stack(from);
}

/* The program may write there meanwhile. */
uint32_t ttp_call_bytes_read(uint8_t *into, uint64_t from, uint32_t count)
{
    const volatile uint8_t *bytes = (const volatile uint8_t *)from;
    uint64_t end = end_of(from);
    uint32_t room = end == 0 ? 0 : end - from < count ? (uint32_t)(end - from) : count;
    for (uint32_t i = 0; i < room; i++)
        into[i] = bytes[i];
    return room;
}

/* Counters are the kernel's. */
bool ttp_value_count(uint32_t counter, uint64_t *count)
{
    (void)counter;
    (void)count;
    return false;
}

/* Frames that an exception is about to leave. Unwinders ask whose code is whose, and so tell us
 * that they are at work (patch/entry.c); not what they will leave. What runs next on the stack, as
 * a destructor, may lie below a frame that is gone, and then looks as if that had called it:
 *
 *     middle { deep { throw } ~D { } }     deep's frame is smaller than that of ~D
 *
 * So the innermost frame is doubted then: nothing fits on it, and where something is entered its
 * call site says which function it was called in. Tables of the modules that were asked for are
 * kept: hooks may not ask, as the C library uses registers that are the program's. */
#include "recorder/runtime/operation.h"

#define SEARCH_MAX  4096u
#define HEAD_BYTES  12u
#define ENTRY_WORDS 2u

extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char _end[] __attribute__((visibility("hidden")));

/* A handler may come in between, and keep others. */
void ttp_doubt_table(uintptr_t start, uintptr_t end, const void *table)
{
    struct ttp_thread_page *page = ttp_thread.page;
    if (!ttp_has_state())
        return;
    for (uint32_t i = 0; i < TTP_UNWIND_TABLES; i++)
        if (page->tables[i].table == table && page->tables[i].start == start)
            return;
    struct ttp_unwind_table *kept = &page->tables[page->tables_turn++ % TTP_UNWIND_TABLES];
    kept->end = 0;
    TTP_SIGNAL_FENCE();
    kept->start = start;
    kept->table = table;
    kept->module_changes = ttp_process.module_changes;
    TTP_SIGNAL_FENCE();
    kept->end = end;
}

void ttp_doubt_frames(uintptr_t who)
{
    struct ttp_runtime_frame *top = ttp_thread.top;
    bool is_ours = who - (uintptr_t)__ehdr_start < (uintptr_t)_end - (uintptr_t)__ehdr_start;
    if (is_ours || !ttp_has_state() || top == NULL || ttp_is_base(top) || ttp_is_mark(top))
        return;
    top->sp |= TTP_FRAME_DOUBTED;
}

bool ttp_doubt_take(void)
{
    struct ttp_runtime_frame *top = ttp_thread.top;
    if (top == NULL || ttp_is_base(top) || ttp_is_mark(top) || (top->sp & TTP_FRAME_DOUBTED) == 0)
        return false;
    top->sp &= ~TTP_FRAME_DOUBTED;
    return true;
}

static const uint8_t *find_table(uintptr_t code)
{
    const struct ttp_thread_page *page = ttp_thread.page;
    uint32_t turn = *(volatile const uint32_t *)&page->tables_turn;
    const uint8_t *found = NULL;
    for (uint32_t i = 0; i < TTP_UNWIND_TABLES; i++) {
        const struct ttp_unwind_table *kept = &page->tables[i];
        if (code >= kept->start && code < kept->end &&
            kept->module_changes == ttp_process.module_changes)
            found = kept->table;
    }
    TTP_SIGNAL_FENCE();
    return *(volatile const uint32_t *)&page->tables_turn == turn ? found : NULL;
}

/* The table that unwinders search, in the one form that linkers make: distances from its start, of
 * each function and of its description. */
static uintptr_t find_start(uintptr_t code)
{
    static const uint8_t form[] = {1, 0x1b, 0x03, 0x3b};
    const uint8_t *head = find_table(code);
    for (uint32_t i = 0; head != NULL && i < sizeof(form); i++)
        if (head[i] != form[i])
            head = NULL;
    if (head == NULL)
        return 0;
    const int32_t *words = (const int32_t *)head;
    const int32_t *table = (const int32_t *)(head + HEAD_BYTES);
    uint32_t from = 0, end = (uint32_t)words[2];
    while (from < end) {
        uint32_t middle = from + (end - from) / 2;
        if ((uintptr_t)head + (uintptr_t)(intptr_t)table[middle * ENTRY_WORDS] <= code)
            from = middle + 1;
        else
            end = middle;
    }
    return from == 0 ? 0 : (uintptr_t)head + (uintptr_t)(intptr_t)table[(from - 1) * ENTRY_WORDS];
}

/* The function whose code a call runs in: inlined ones have its stack pointer and call site. */
static uintptr_t code_of(const struct ttp_runtime_frame *frame)
{
    while ((frame->function & TTP_FRAME_CHAINED) == 0 && frame[-1].sp == ttp_sp_of(frame) &&
           frame[-1].call_site == frame->call_site)
        frame--;
    return ttp_function_of(frame);
}

/* What is inlined in an open frame has its call site: that is where the frame was called. */
struct ttp_runtime_frame *ttp_doubt_caller(uintptr_t call_site, uintptr_t sp)
{
    struct ttp_runtime_frame *at = ttp_thread.top;
    uintptr_t start = find_start(call_site - 1);
    for (uint32_t i = 0; start != 0 && i < SEARCH_MAX && !ttp_is_base(at); i++, at--) {
        if (ttp_is_mark(at) || (ttp_sp_of(at) == sp && at->call_site == call_site))
            return NULL;
        if (code_of(at) == start)
            return at;
    }
    return NULL;
}

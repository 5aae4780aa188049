/* Frames above the shadow stack's end: only their number is known, and which of them are handlers'
 * own. */
#include "recorder/runtime/operation.h"

/* Of a deep frame: counts are corrected where its record is missing. */
static void put_deep(const struct operation *op, uint64_t tag_or_type, bool is_call, uint64_t value,
                     long change)
{
    struct ttp_thread_page *page = ttp_thread.page;
    if (change < 0 && page->deep_frames == 0) /* a forked child counts none */
        return;
    page->deep_frames = (uint64_t)((long)page->deep_frames + change);
    bool was_unseen = page->deep_frames < page->unrecorded_deep_frames;
    if (was_unseen)
        page->unrecorded_deep_frames = page->deep_frames;
    if (ttp_put_record(ttp_process_now(), was_unseen && is_call ? TTP_EXT_UNSEEN : 0, tag_or_type,
                       is_call, value))
        return;
    if (is_call)
        ttp_count_dropped();
    if (op->was_dropping)
        page->unrecorded_deep_frames = page->deep_frames;
    else if (!was_unseen)
        ttp_stack_current()->recorded_count -= (size_t)change;
}

void ttp_deep_forget(const struct operation *op)
{
    struct ttp_thread_page *page = ttp_thread.page;
    long count = (long)(page->deep_frames - page->unrecorded_deep_frames);
    page->deep_frames = page->unrecorded_deep_frames = 0;
    page->deep_handler_count = 0;
    if (count == 0)
        return;
    uint64_t payload = ttp_unwind_payload(TTP_UNWIND_COUNT, (uint64_t)count);
    if (!ttp_put_record(ttp_process_now(), 0, TTP_EXT_UNWIND, false, payload) && !op->was_dropping)
        ttp_stack_current()->recorded_count += (size_t)count;
}

void ttp_deep_enter(const struct operation *op, uintptr_t function)
{
    put_deep(op, TTP_TAG_ENTER, true, function, 1);
}

void ttp_deep_enter_handler(const struct operation *op, uintptr_t function, uintptr_t location,
                            uint32_t number)
{
    struct ttp_thread_page *page = ttp_thread.page;
    put_deep(op, TTP_EXT_SIGNAL_BEGIN, false, number, 1);
    ttp_fault_tell(location, function, number);
    put_deep(op, TTP_TAG_ENTER, true, function, 1);
    if (page->deep_handler_count < TTP_DEEP_HANDLERS)
        page->deep_handlers[page->deep_handler_count++] = page->deep_frames;
}

void ttp_deep_exit(const struct operation *op, uintptr_t function)
{
    struct ttp_thread_page *page = ttp_thread.page;
    uint64_t depth = page->deep_frames;
    while (page->deep_handler_count != 0 &&
           page->deep_handlers[page->deep_handler_count - 1] > depth)
        page->deep_handler_count--;
    put_deep(op, TTP_TAG_EXIT, true, function, -1);
    if (page->deep_handler_count != 0 &&
        page->deep_handlers[page->deep_handler_count - 1] == depth) {
        page->deep_handler_count--;
        put_deep(op, TTP_EXT_SIGNAL_END, false, 0, -1);
    }
}

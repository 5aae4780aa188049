/* Frames first, then the record: what a slow operation writes of a frame that it has pushed or
 * popped, and what becomes of it where there is no place, or where this is a child by now. */
#include "recorder/runtime/operation.h"

/* Places a record of two (a head that says more of it, or 0) or one; false: drop period, or another
 * process by now. */
bool ttp_put_record(uint32_t process, uint64_t head, uint64_t tag_or_type, bool is_call,
                    uint64_t value)
{
    uint64_t now;
    if (ttp_is_dropping())
        return false;
    uint32_t count = head != 0 ? 2 : 1;
    bool is_end = is_call && tag_or_type == TTP_TAG_EXIT;
    uint64_t *place = is_end ? ttp_reserve_end(count, &now) : ttp_reserve_timed(count, &now);
    if (place == NULL) {
        if (!ttp_is_child_of(process) && !ttp_is_dropping())
            ttp_drop_begin(TTP_GATE_DROP, TTAPE_GAP_REASON_OVERFLOW);
        return false;
    }
    uint64_t *own = head != 0 ? place + 1 : place;
    bool is_dropping = ttp_is_dropping();
    if (is_dropping || ttp_is_child_of(process)) { /* began in a handler, just now */
        ttp_slot_fill((uint64_t)place);
        if (own != place) /* a full block is gone with its last place */
            ttp_slot_fill((uint64_t)own);
        return false;
    }
    ttp_store(own, is_call ? ttp_record_call(tag_or_type, now, value)
                           : ttp_record_extension(tag_or_type, now, value));
    if (head != 0)
        ttp_store(place, ttp_record_extension(head, now, 0));
    return true;
}

/* Whether a handler forked just then and this is the child, so that the place is the parent's. A
 * frame that was pushed or popped before the fork is inherited: the child has recorded it, or left
 * it out, with all inherited frames. What comes after the fork is the child's own. */
bool ttp_is_inherited(const struct ttp_thread_page *before)
{
    const struct ttp_thread_page *page = ttp_thread.page;
    return page->gate == TTP_GATE_NO_STATE ||
           (page != before && ttp_thread.top == page->forked_top);
}

/* A call with values, which lie behind its record. */
static bool put_valued(uint32_t process, uint64_t tag, uintptr_t function,
                       const struct ttp_call_values *values)
{
    if (ttp_is_dropping())
        return false;
    if (ttp_call_write(process, tag, function, values))
        return true;
    if (!ttp_is_child_of(process) && !ttp_is_dropping())
        ttp_drop_begin(TTP_GATE_DROP, TTAPE_GAP_REASON_OVERFLOW);
    return false;
}

void ttp_count_dropped(void) { ttp_add_here(&ttp_thread.page->dropped, 1); }

static void account_missing(long change, bool was_dropping)
{
    if (was_dropping)
        ttp_drop_frames_changed(change);
    else
        ttp_drop_record_missing(change);
}

/* The handler may have come when the frame was pushed, but not yet stored. Then the child recorded
 * the frame that was there before. */
void ttp_correct_inherited(uintptr_t function)
{
    uintptr_t recorded = ttp_thread.page->forked_function & TTP_FRAME_ADDRESS;
    if (recorded != function && ttp_has_state() && !ttp_is_dropping())
        ttp_drop_restate_innermost();
}

/* Where a frame is to be pushed or popped: from here on it is this process's. */
void ttp_adopt_page(struct operation *op)
{
    if (ttp_thread.page->gate != TTP_GATE_NO_STATE)
        op->page = ttp_thread.page;
}

/* Of frames that were pushed or popped on the shadow stack. */
void ttp_put_call(const struct operation *op, uint64_t tag, uintptr_t function, long change)
{
    uint32_t process = ttp_process_now();
    if (!ttp_is_inherited(op->page) &&
        (op->values != NULL ? put_valued(process, tag, function, op->values)
                            : ttp_put_record(process, 0, tag, true, function)))
        return;
    if (!ttp_is_inherited(op->page)) {
        ttp_count_dropped();
        account_missing(change, op->was_dropping);
    } else if (change > 0) {
        ttp_correct_inherited(function);
    }
}

void ttp_put_extension(const struct operation *op, uint64_t type, uint64_t payload, long change)
{
    uint32_t process = ttp_process_now();
    if (!ttp_is_inherited(op->page) && !ttp_put_record(process, 0, type, false, payload) &&
        !ttp_is_inherited(op->page))
        account_missing(change, op->was_dropping);
}

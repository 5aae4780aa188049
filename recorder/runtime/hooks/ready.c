/* Whether a thread can record at all: it has its state, or gets it now. */
#include "recorder/runtime/slow.h"

/* A vfork child runs on its parent's memory; so does the parent when a handler of its own comes
 * before it could say that it is back. */
static bool is_child(void)
{
    if (ttp_avoids_calls()) /* it cannot be asked which of them this is */
        return ttp_thread.shared_page == NULL || ttp_sharing_stays();
    uint32_t process = ttp_process_number();
    if (ttp_thread.shared_page != NULL && process == ttp_thread.process_id)
        return ttp_sharing_stays();
    if (process != ttp_thread.process_id || ttp_thread.parent_page == NULL)
        return true;
    ttp_thread.page = ttp_thread.parent_page;
    return false;
}

/* Whether to go on at all: a thread that has its state, or gets it. */
bool ttp_ready(uintptr_t sp)
{
    uint32_t gate = ttp_thread.page->gate;
    if (gate == TTP_GATE_VFORK_CHILD) {
        if (is_child())
            return false;
        gate = ttp_thread.page->gate;
    }
    if (gate == TTP_GATE_UNUSABLE) {
        if (ttp_thread.is_starting)
            ttp_thread.lost_before_state++;
        else if (ttp_thread.page == &ttp_page_silent)
            ttp_silence_lost();
        else
            ttp_event_lost();
        return false;
    }
    if (gate == TTP_GATE_RECORDER_THREAD || (gate == TTP_GATE_NO_STATE && !ttp_thread_start(sp)))
        return false;
    ttp_period_check();
    return true;
}

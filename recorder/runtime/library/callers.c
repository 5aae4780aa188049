/* Modules other than the executable whose calls into libraries are recorded. */
#include "recorder/runtime/library/library_values.h"
#include "recorder/runtime/state.h"

bool ttp_library_is_by_callers(uintptr_t call_site)
{
    uint32_t from = 0, end = ttp_process.caller_count;
    while (from < end) {
        uint32_t middle = from + (end - from) / 2;
        const struct ttp_caller *caller = &ttp_process.callers[middle];
        if (call_site - caller->low < caller->bytes)
            return true;
        if (caller->low <= call_site)
            from = middle + 1;
        else
            end = middle;
    }
    return false;
}

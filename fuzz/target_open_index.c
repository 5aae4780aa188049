/* Opening by footer and index, or by a scan where they do not hold. */
#include "fuzz_trace.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_trace trace;
    if (!fuzz_trace_open(&trace, data, size))
        return 0;
    trace.options.ignore_index = false;
    ttape_reader *reader = fuzz_trace_read(&trace);
    if (reader != NULL)
        (void)fuzz_read_definitions(reader);
    ttape_reader_close(reader);
    fuzz_trace_close(&trace);
    return 0;
}

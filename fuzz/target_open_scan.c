/* Opening from chunk to chunk; a file cut short by the parameters too. */
#include "fuzz_trace.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_trace trace;
    if (!fuzz_trace_open(&trace, data, size))
        return 0;
    trace.options.ignore_index = true;
    uint32_t cut = fuzz_number(&trace.parameters, 2);
    if (cut < trace.source.size_bytes)
        trace.source.size_bytes -= cut;
    ttape_reader *reader = fuzz_trace_read(&trace);
    if (reader != NULL) {
        ttape_info info;
        ttape_reader_get_info(reader, &info);
        FUZZ_REQUIRE(!info.by_index);
        FUZZ_REQUIRE(!info.truncated || info.truncated_at <= trace.source.size_bytes);
        (void)fuzz_read_definitions(reader);
    }
    ttape_reader_close(reader);
    fuzz_trace_close(&trace);
    return 0;
}

/* Reports: bounded in memory, the same for any number of threads, whatever the trace says; and
 * where the trace says nothing wrong, by summaries as by events. */
#include "fuzz_report.h"

static bool in_focus(void *context, uint32_t site)
{
    (void)context;
    return site % 2 == 0;
}

static void make_reports(ttape_reader *reader, struct fuzz_input *in, bool sound)
{
    uint32_t stream = fuzz_number(in, 1), from = fuzz_number(in, 2), length = fuzz_number(in, 2);
    uint32_t by = fuzz_number(in, 1);
    ttape_report_options how = {.by = by % TTAPE_REPORT_BY_COUNT}, exact = {.exact = true};
    if (by >> 6 != 1) {
        uint64_t summaries = fuzz_report_hash(reader, (ttape_report_options){0}, 1);
        uint64_t events = fuzz_report_hash(reader, exact, 2);
        FUZZ_REQUIRE(!sound || summaries == 0 || events == 0 || summaries == events);
    }
    how.percentiles = fuzz_number(in, 1) % 2 != 0;
    how.has_range = fuzz_number(in, 1) % 2 != 0;
    how.from_ns = from;
    how.to_ns = from + length;
    how.streams = stream < 4 ? &stream : NULL;
    how.stream_count = how.streams != NULL;
    how.focus = from % 2 != 0 ? in_focus : NULL;
    if (by >> 6 != 2) {
        uint64_t one = fuzz_report_hash(reader, how, 1), three = fuzz_report_hash(reader, how, 3);
        FUZZ_REQUIRE(one == three || one == 0 || three == 0); /* threads share the memory */
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_trace trace;
    if (!fuzz_trace_open(&trace, data, size))
        return 0;
    trace.memory.limit_bytes += FUZZ_REPORT_BYTES;
    ttape_reader *reader = fuzz_trace_read(&trace);
    if (reader != NULL) {
        bool sound = fuzz_trace_verify(&trace.source, &trace.options) == 0;
        make_reports(reader, &trace.parameters, sound);
    }
    ttape_reader_close(reader);
    fuzz_trace_close(&trace);
    return 0;
}

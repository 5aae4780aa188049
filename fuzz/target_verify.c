/* Verify; and what it finds nothing wrong with reads the same by index, by scan and as a pipe. */
#include <string.h>

#include "fuzz_trace.h"

static ttape_status read_memory(void *context, void *buffer, size_t size_bytes, size_t *got_bytes,
                                ttape_error *err)
{
    struct fuzz_input got = fuzz_part(context, size_bytes);
    (void)err;
    memcpy(buffer, got.data, got.size);
    *got_bytes = got.size;
    return TTAPE_OK;
}

static void require_pipe(const struct fuzz_trace *trace, struct fuzz_input left, uint64_t events)
{
    ttape_input input = {&left, read_memory};
    ttape_forward *forward;
    ttape_reader *reader;
    uint64_t got = 0;
    ttape_status status = ttape_forward_open(&forward, &input, &trace->options, NULL);
    while (status == TTAPE_OK && (status = ttape_forward_next(forward, &reader, NULL)) == TTAPE_OK)
        got += fuzz_read_stream(reader, TTAPE_ALL_STREAMS).events;
    FUZZ_REQUIRE(status == TTAPE_END && got == events);
    ttape_forward_close(forward);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_trace trace;
    if (!fuzz_trace_open(&trace, data, size))
        return 0;
    uint64_t findings = fuzz_trace_verify(&trace.source, &trace.options);
    if (findings == 0) {
        struct fuzz_sum sums[2];
        for (int scan = 0; scan < 2; scan++) {
            trace.options.ignore_index = scan;
            ttape_reader *reader = fuzz_trace_read(&trace);
            FUZZ_REQUIRE(reader != NULL);
            sums[scan] = fuzz_read_all(reader);
            FUZZ_REQUIRE(sums[scan].errors == 0);
            if (scan && sums[0].events < FUZZ_EVENTS_MAX) {
                struct fuzz_input body = {data + FUZZ_PARAMETER_BYTES, size - FUZZ_PARAMETER_BYTES};
                require_pipe(&trace, body, fuzz_read_stream(reader, TTAPE_ALL_STREAMS).events);
            }
            ttape_reader_close(reader);
        }
        FUZZ_REQUIRE(sums[0].hash == sums[1].hash);
    }
    fuzz_trace_close(&trace);
    return 0;
}

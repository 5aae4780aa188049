/* Reading a pipe that gives few bytes at a time, partition by partition. */
#include <string.h>

#include "fuzz_trace.h"

struct pipe {
    struct fuzz_input left;
    size_t step;
};

static ttape_status read_pipe(void *context, void *buffer, size_t size_bytes, size_t *got_bytes,
                              ttape_error *err)
{
    struct pipe *pipe = context;
    struct fuzz_input got =
        fuzz_part(&pipe->left, size_bytes < pipe->step ? size_bytes : pipe->step);
    (void)err;
    memcpy(buffer, got.data, got.size);
    *got_bytes = got.size;
    return TTAPE_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_trace trace;
    if (!fuzz_trace_open(&trace, data, size))
        return 0;
    struct pipe pipe = {{data + FUZZ_PARAMETER_BYTES, size - FUZZ_PARAMETER_BYTES}, 0};
    pipe.step = 1 + fuzz_number(&trace.parameters, 2);
    ttape_input input = {&pipe, read_pipe};
    ttape_forward *forward;
    ttape_reader *reader = NULL;
    ttape_error err = {0};
    ttape_status status = ttape_forward_open(&forward, &input, &trace.options, &err);
    for (uint32_t i = 0; status == TTAPE_OK; i++) {
        status = ttape_forward_next(forward, &reader, &err);
        if (status == TTAPE_OK && i < 16)
            (void)fuzz_read_all(reader);
    }
    FUZZ_REQUIRE(status == TTAPE_END || status == err.status);
    if (status == TTAPE_END && reader != NULL) {
        ttape_info info;
        ttape_reader_get_info(reader, &info);
        FUZZ_REQUIRE(info.event_count <= size * FUZZ_EVENTS_PER_BYTE);
    }
    ttape_forward_close(forward);
    fuzz_trace_close(&trace);
    return 0;
}

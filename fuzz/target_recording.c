/* Recovery of what a killed recorder left, arena included: what comes out verifies, nothing else is
 * touched, and twice is the same. */
#include <tracetape/recover.h>

#include <string.h>

#include "fuzz_recording.h"
#include "fuzz_trace.h"

struct outcome {
    ttape_memory_sink out;
    ttape_recover_report report;
    uint64_t losses; /* told */
};

static ttape_status recover(const char *path, struct outcome *o)
{
    struct fuzz_memory memory;
    ttape_error err = {0};
    ttape_sink sink = ttape_sink_memory(&o->out);
    fuzz_memory_open(&memory, 64u << 20); /* of a few events */
    ttape_recover_options how = {.size = sizeof how,
                                 .found = fuzz_recording_line,
                                 .piece = fuzz_recording_piece,
                                 .context = &o->losses,
                                 .allocator = &memory.allocator};
    ttape_status status = ttape_recover_recording(path, &sink, &how, &o->report, &err);
    FUZZ_REQUIRE(status == TTAPE_OK || (err.status == status && err.message[0] != '\0'));
    FUZZ_REQUIRE(o->losses == o->report.loss_count);
    ttape_source trace = ttape_source_memory(o->out.data, o->out.size_bytes);
    ttape_reader_options with = {.size = sizeof with, .allocator = &memory.allocator};
    FUZZ_REQUIRE(status != TTAPE_OK || fuzz_trace_verify(&trace, &with) == 0);
    fuzz_memory_close(&memory);
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input in = {data, size};
    struct outcome first = {0}, second = {0};
    uint32_t flags = fuzz_number(&in, 1);
    const char *path = fuzz_recording_make(&in, (flags & 7) != 7);
    ttape_status status = recover(path, &first);
    fuzz_recording_check();
    if ((flags & 56) == 8) /* the arena is as it was left, but for what programs wrote */
        FUZZ_REQUIRE(recover(path, &second) == status);
    if (flags & 64)
        (void)ttape_recover_remove(path, NULL);
    fuzz_recording_check_victim();
    ttape_memory_sink_close(&first.out);
    ttape_memory_sink_close(&second.out);
    fuzz_folder_empty();
    fuzz_release_all();
    return 0;
}

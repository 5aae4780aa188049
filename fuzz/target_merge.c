/* The verb merge: two traces of the input, or one and itself. Of sound ones the whole is sound and
 * has all events. */
#include "fuzz_trace.h"
#include "fuzz_verb.h"
#include "tools/command/tool.h"

static uint64_t count_events(const ttape_source *source)
{
    ttape_reader *reader;
    ttape_info info = {0};
    FUZZ_REQUIRE(ttape_reader_open(&reader, source, NULL, NULL) == TTAPE_OK);
    ttape_reader_get_info(reader, &info);
    ttape_reader_close(reader);
    return info.event_count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input in = {data, size}, part[2];
    ttape_source source[2], whole;
    const char *path[2];
    (void)fuzz_part(&in, FUZZ_PARAMETER_BYTES);
    for (unsigned i = 0; i < 2; i++) {
        part[i] = fuzz_trace_part(in.data, in.size, i);
        part[i] = part[i].size > 0 ? part[i] : part[0];
        path[i] = fuzz_verb_file(i, part[i].data, part[i].size);
        source[i] = ttape_source_memory(part[i].data, part[i].size);
    }
    const char *argv[] = {"merge", "-o", "-", path[0], path[1], NULL};
    struct fuzz_outcome outcome = fuzz_verb_run(tool_verb_merge, argv);
    if (outcome.status == TOOL_OK && fuzz_trace_verify(&source[0], NULL) == 0 &&
        fuzz_trace_verify(&source[1], NULL) == 0) {
        whole = ttape_source_memory(outcome.out.data, outcome.out.size);
        FUZZ_REQUIRE(fuzz_trace_verify(&whole, NULL) == 0);
        FUZZ_REQUIRE(count_events(&whole) == count_events(&source[0]) + count_events(&source[1]));
    }
    fuzz_release_all();
    return 0;
}

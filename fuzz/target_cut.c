/* The verb cut: the part of a sound trace is sound. */
#include <stdio.h>

#include "fuzz_trace.h"
#include "fuzz_verb.h"
#include "tools/command/tool.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_trace trace;
    char range[64];
    if (!fuzz_trace_open(&trace, data, size))
        return 0;
    struct fuzz_input *p = &trace.parameters;
    static const char *const choices[] = {"--events", "--partition", "--time", "--thread"};
    uint32_t choice = fuzz_number(p, 1) % 4;
    unsigned long long first = fuzz_time(p);
    if (choice < 2)
        (void)snprintf(range, sizeof range, "%llu..", first);
    else
        (void)snprintf(range, sizeof range, "%s%llu%s", choice == 2 && first % 2 ? "+" : "", first,
                       choice == 2 ? ".." : "");
    if (choice < 2 && first < UINT16_MAX)
        (void)snprintf(range, sizeof range, "%llu..%llu", first, first + fuzz_number(p, 2));
    const char *path = fuzz_verb_file(0, data + FUZZ_PARAMETER_BYTES, size - FUZZ_PARAMETER_BYTES);
    const char *argv[] = {"cut", path, "-o", "-", choices[choice], range, NULL};
    struct fuzz_outcome outcome = fuzz_verb_run(tool_verb_cut, argv);
    if (outcome.status == TOOL_OK && fuzz_trace_verify(&trace.source, NULL) == 0) {
        ttape_source part = ttape_source_memory(outcome.out.data, outcome.out.size);
        FUZZ_REQUIRE(fuzz_trace_verify(&part, NULL) == 0);
    }
    fuzz_release_all();
    fuzz_trace_close(&trace);
    return 0;
}

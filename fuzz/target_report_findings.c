/* The verb verify: its findings as text and as JSON, and the exit status that goes with them. */
#include "fuzz_trace.h"
#include "fuzz_verb.h"
#include "tools/command/tool.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input in = {data, size};
    struct fuzz_input p = fuzz_part(&in, FUZZ_PARAMETER_BYTES);
    uint32_t flags = fuzz_number(&p, 1);
    const char *path = fuzz_verb_file(0, in.data, in.size);
    const char *argv[] = {"verify", path, flags & 1 ? "--json" : NULL, NULL};
    struct fuzz_outcome outcome = fuzz_verb_run(tool_verb_verify, argv);
    fuzz_require_clean(&outcome.out);
    if (flags & 1)
        fuzz_require_json(&outcome.out, false);
    FUZZ_REQUIRE(outcome.out.size > 0 || outcome.status == TOOL_CANNOT);
    fuzz_release_all();
    return 0;
}

/* The verb last: text and JSON, of all threads or of one. */
#include "fuzz_trace.h"
#include "fuzz_verb.h"
#include "tools/command/tool.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input in = {data, size}, p = fuzz_part(&in, FUZZ_PARAMETER_BYTES);
    /* Seeds have no parameters, but all sizes. */
    uint32_t how = fuzz_number(&p, 1) + (uint32_t)in.size;
    struct fuzz_look look = fuzz_trace_look(in, fuzz_number(&p, 1));
    struct fuzz_words line = {0};
    bool json = how & 1;
    fuzz_word(&line, "last");
    fuzz_word(&line, "%s", fuzz_verb_file(0, in.data, in.size));
    if (json)
        fuzz_word(&line, "--json");
    if (how & 2)
        fuzz_word(&line, "--all");
    if (how & 4)
        fuzz_word(&line, "--limit=%u", 1 + fuzz_number(&p, 1));
    if ((how & 24) == 24)
        fuzz_word(&line, "--stream=%u", fuzz_number(&p, 1) % 4);
    if (look.event_count <= FUZZ_PRINTED_EVENTS) {
        struct fuzz_outcome outcome = fuzz_verb_run(tool_verb_last, line.words);
        fuzz_require_view(&outcome, json);
    }
    fuzz_release_all();
    return 0;
}

/* The verb diff: two traces of the input, or one and itself, which is no difference; or both on
 * either side. */
#include "fuzz_trace.h"
#include "fuzz_verb.h"
#include "tools/command/tool.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const modes[] = {"--first", "--by=function", "--by=path", "--jobs=1"};
    static const char *const keys[] = {"self", "total", "calls"};
    struct fuzz_input in = {data, size}, p = fuzz_part(&in, FUZZ_PARAMETER_BYTES), part[2];
    /* Seeds have no parameters, but all sizes. */
    uint32_t mode = (fuzz_number(&p, 1) + (uint32_t)in.size) % 4, how = fuzz_number(&p, 1);
    const char *paths[2];
    bool json = how & 1, is_same = fuzz_trace_part(in.data, in.size, 1).size == 0;
    struct fuzz_words line = {0};
    uint64_t events = 0;
    fuzz_word(&line, "diff");
    for (unsigned i = 0; i < 2; i++) {
        part[i] = fuzz_trace_part(in.data, in.size, is_same ? 0 : i);
        paths[i] = fuzz_verb_file(i, part[i].data, part[i].size);
        fuzz_word(&line, "%s", paths[i]);
        events += fuzz_trace_look(part[i], 0).event_count;
    }
    fuzz_word(&line, "%s", modes[mode]);
    if (mode == 3 && (in.size & 4) != 0) {
        fuzz_word(&line, "--against");
        fuzz_word(&line, "%s", paths[1]);
        fuzz_word(&line, "%s", paths[0]);
    }
    if (json)
        fuzz_word(&line, "--json");
    if ((how & 2) && mode != 0)
        fuzz_word(&line, "--sort=%s", keys[(how >> 2) % 3]);
    if (how & 16)
        fuzz_word(&line, "--min-time=%llu", (unsigned long long)fuzz_time(&p));
    if (how & 32)
        fuzz_word(&line, "--min-change=%u%%", fuzz_number(&p, 1));
    if (how & 64)
        fuzz_word(&line, "--limit=%u", fuzz_number(&p, 1));
    if (how & 128)
        fuzz_word(&line, "--depth=%u", 1 + fuzz_number(&p, 1));
    if (events <= FUZZ_PRINTED_EVENTS) {
        struct fuzz_outcome outcome = fuzz_verb_run(tool_verb_diff, line.words);
        FUZZ_REQUIRE(!is_same || outcome.status != TOOL_FINDING);
        fuzz_require_view(&outcome, json);
    }
    fuzz_release_all();
    return 0;
}

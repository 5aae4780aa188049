/* The verb tree: text and JSON, of all or of what --open names. */
#include "fuzz_trace.h"
#include "fuzz_verb.h"
#include "tools/command/tool.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input in = {data, size}, p = fuzz_part(&in, FUZZ_PARAMETER_BYTES);
    /* Seeds have no parameters, but all sizes. */
    uint32_t what = (fuzz_number(&p, 1) + (uint32_t)in.size) % 8, how = fuzz_number(&p, 1);
    struct fuzz_look look = fuzz_trace_look(in, fuzz_number(&p, 1));
    struct fuzz_words line = {0};
    bool json = how & 1;
    fuzz_word(&line, "tree");
    fuzz_word(&line, "%s", fuzz_verb_file(0, in.data, in.size));
    fuzz_word(&line, "--jobs=%d", how >= 0xf0 ? 2 : 1);
    if (what < 3)
        fuzz_word(&line, "--full");
    else if (what == 3)
        fuzz_word(&line, "--open=s%u", fuzz_number(&p, 1) % 4);
    else if (what == 4)
        fuzz_word(&line, "--open=s%up%u", fuzz_number(&p, 1) % 4, fuzz_number(&p, 1) % 8);
    else if (what == 5)
        fuzz_word(&line, "--open=+%llu", (unsigned long long)fuzz_time(&p));
    else if (what == 6)
        fuzz_word(&line, how & 128 ? "--open=%s[1]" : "--open=%s", look.symbol);
    else
        fuzz_word(&line, "--partitions");
    if (json)
        fuzz_word(&line, "--json");
    if (how & 2)
        fuzz_word(&line, "--fold");
    if (how & 4)
        fuzz_word(&line, "--depth=%u", 1 + fuzz_number(&p, 1));
    if (how & 8)
        fuzz_word(&line, "--min-time=%llu", (unsigned long long)fuzz_time(&p) / 2); /* a length */
    if (how & 16)
        fuzz_word(&line, "--time=+%llu..", (unsigned long long)fuzz_time(&p));
    if (how & 32)
        fuzz_word(&line, "--stream=%u", fuzz_number(&p, 1) % 4);
    if (look.event_count <= FUZZ_PRINTED_EVENTS) {
        struct fuzz_outcome outcome = fuzz_verb_run(tool_verb_tree, line.words);
        fuzz_require_view(&outcome, json);
    }
    fuzz_release_all();
    return 0;
}

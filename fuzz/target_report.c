/* The verb report: its table, and its JSON. */
#include "fuzz_trace.h"
#include "fuzz_verb.h"
#include "tools/command/tool.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const subjects[] = {
        "--by=function", "--by=name",   "--by=module", "--by=file",  "--by=thread", "--by=process",
        "--by=call",     "--group=^.+", "--callers=",  "--callees=", "--butterfly="};
    static const char *const sorts[] = {"name", "self,mean,name", "calls,min,max,deviation",
                                        "idle,span,p50,p90,p95,p99"};
    struct fuzz_input in = {data, size}, p = fuzz_part(&in, FUZZ_PARAMETER_BYTES);
    /* Seeds have no parameters, but all sizes. */
    uint32_t subject = (fuzz_number(&p, 1) + (uint32_t)in.size) % 11, how = fuzz_number(&p, 2);
    struct fuzz_look look = fuzz_trace_look(in, fuzz_number(&p, 1));
    struct fuzz_words line = {0};
    bool json = how & 1;
    fuzz_word(&line, "report");
    fuzz_word(&line, "%s", fuzz_verb_file(0, in.data, in.size));
    fuzz_word(&line, "%s%s", subjects[subject], subject >= 8 ? look.symbol : "");
    fuzz_word(&line, "--jobs=%d", how >= 0xf000 ? 2 : 1);
    if (json)
        fuzz_word(&line, "--json");
    if (how & 2)
        fuzz_word(&line, "--exact");
    if (how & 4)
        fuzz_word(&line, "--sort=%s", sorts[how >> 3 & 3]);
    if (how & 32)
        fuzz_word(&line, "--time=+%llu..", (unsigned long long)fuzz_time(&p));
    if (how & 64)
        fuzz_word(&line, "--stream=%u", fuzz_number(&p, 1) % 4);
    if (how & 128)
        fuzz_word(&line, how & 256 ? "--reverse" : "--no-idle");
    if (how & 512)
        fuzz_word(&line, "--limit=%u", fuzz_number(&p, 1));
    if (how & 1024)
        fuzz_word(&line, "--function=[a-m]");
    if (look.event_count <= FUZZ_PRINTED_EVENTS) {
        struct fuzz_outcome outcome = fuzz_verb_run(tool_verb_report, line.words);
        fuzz_require_view(&outcome, json);
    }
    fuzz_release_all();
    return 0;
}

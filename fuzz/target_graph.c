/* The verb graph: text, JSON and DOT. A picture is what Graphviz makes of the DOT. */
#include "fuzz_trace.h"
#include "fuzz_verb.h"
#include "tools/command/tool.h"

enum { TREE, LIST, SUMMARY, JSON, JSON_SUMMARY, DOT, FORMS };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const forms[FORMS] = {"--jobs=1", "--list",    "--summary",
                                             "--json",   "--summary", "--format=dot"};
    static const char *const limits[] = {"--min-time", "--min-calls", "--limit"};
    struct fuzz_input in = {data, size}, p = fuzz_part(&in, FUZZ_PARAMETER_BYTES);
    /* Seeds have no parameters, but all sizes. */
    uint32_t form = (fuzz_number(&p, 1) + (uint32_t)in.size) % FORMS, how = fuzz_number(&p, 2);
    struct fuzz_look look = fuzz_trace_look(in, fuzz_number(&p, 1));
    struct fuzz_words line = {0};
    fuzz_word(&line, "graph");
    fuzz_word(&line, "%s", fuzz_verb_file(0, in.data, in.size));
    fuzz_word(&line, "%s", forms[form]);
    if (form == JSON_SUMMARY)
        fuzz_word(&line, "--json");
    for (unsigned i = 0; i < 3; i++)
        if (how >> i & 1)
            fuzz_word(&line, "%s=%llu", limits[i],
                      i == 0 ? (unsigned long long)fuzz_time(&p) : fuzz_number(&p, 1));
    if (how & 8)
        fuzz_word(&line, "--context=%s", how & 16 ? "*" : look.symbol);
    if (how & 32)
        fuzz_word(&line, how & 64 ? "--weight=self" : "--all");
    if (how & 128)
        fuzz_word(&line, "--split-levels");
    if (how & 256)
        fuzz_word(&line, "--time=+%llu..", (unsigned long long)fuzz_time(&p));
    if (how & 512)
        fuzz_word(&line, "--min-share=%u%%", fuzz_number(&p, 1) % 100);
    if ((how & 1024) != 0 && (form == TREE || form == JSON || form == DOT) &&
        (how & (8 | 128)) == 0) /* the others exclude it */
        fuzz_word(&line, "--reach=%s", look.symbol);
    if (look.event_count <= FUZZ_PRINTED_EVENTS) {
        struct fuzz_outcome outcome = fuzz_verb_run(tool_verb_graph, line.words);
        fuzz_require_view(&outcome, form == JSON || form == JSON_SUMMARY);
        if (form == DOT && fuzz_outcome_is_whole(&outcome))
            fuzz_require_dot(&outcome.out);
    }
    fuzz_release_all();
    return 0;
}

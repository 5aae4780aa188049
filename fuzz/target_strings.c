/* The verbs callgraph and context --log, of a file as a stranger may have made it: who calls whom,
 * and whose code has to do with which strings. */
#include "fuzz_verb.h"
#include "tools/command/tool.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    bool with_text = size % 2 == 0, json = size % 3 == 0;
    struct fuzz_words line = {0};
    fuzz_word(&line, with_text ? "context" : "callgraph");
    fuzz_word(&line, with_text ? "--binary=%s" : "%s", fuzz_verb_file(0, data, size));
    if (with_text)
        fuzz_word(&line, "--log=12:00:01 opened 7 files of table: nothing, 0x1234");
    if (json)
        fuzz_word(&line, "--json");
    struct fuzz_outcome outcome =
        fuzz_verb_run(with_text ? tool_verb_context : tool_verb_callgraph, line.words);
    if (fuzz_outcome_is_whole(&outcome))
        fuzz_require_view(&outcome, json);
    fuzz_release_all();
    return 0;
}

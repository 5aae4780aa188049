/* The verb export, to the formats that go to standard output: each follows its own rules, whatever
 * names, values and times the trace has.
 *
 * A database has a target of its own (it costs a file), and CTF none: its writer is a process of
 * babeltrace2's, for each run. */
#include <string.h>

#include "fuzz_trace.h"
#include "fuzz_verb.h"
#include "tools/command/tool.h"

enum { CHROME, SPEEDSCOPE, FIREFOX, CSV, FOLDED, CALLGRIND, PERFETTO, ARROW, FORMATS };

/* Arrow's stream has no checksum: whole is what has its end. */
static void require_end(const struct fuzz_bytes *out)
{
    static const uint8_t end[] = {0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0};
    FUZZ_REQUIRE(out->size > sizeof end && out->size % sizeof end == 0);
    FUZZ_REQUIRE(memcmp(out->data, end, 4) == 0);
    FUZZ_REQUIRE(memcmp(out->data + out->size - sizeof end, end, sizeof end) == 0);
}

static void require(uint32_t format, const struct fuzz_bytes *out)
{
    switch (format) {
    case CHROME:
    case SPEEDSCOPE:
    case FIREFOX: fuzz_require_json(out, false); break;
    case CSV: fuzz_require_csv(out, 14); break;
    case FOLDED: fuzz_require_folded(out); break;
    case CALLGRIND: fuzz_require_callgrind(out); break;
    case ARROW: require_end(out); break;
    default: fuzz_require_perfetto(out);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[FORMATS] = {"chrome", "speedscope", "firefox",  "csv",
                                               "folded", "callgrind",  "perfetto", "arrow"};
    static const char *const cuts[] = {"--thread", "--process", "--min-time"};
    struct fuzz_input in = {data, size}, p = fuzz_part(&in, FUZZ_PARAMETER_BYTES);
    /* Seeds have no parameters, but all sizes. */
    uint32_t format = (fuzz_number(&p, 1) + (uint32_t)in.size) % FORMATS, cut = fuzz_number(&p, 1);
    struct fuzz_words line = {0};
    fuzz_word(&line, "export");
    fuzz_word(&line, "%s", fuzz_verb_file(0, in.data, in.size));
    fuzz_word(&line, "--format=%s", names[format]);
    fuzz_word(&line, "--jobs=%d", cut >= 0xf0 ? 2 : 1);
    for (unsigned i = 0; i < 3; i++)
        if (cut >> i & 1)
            fuzz_word(&line, "%s=%llu", cuts[i], (unsigned long long)fuzz_time(&p));
    if (cut & 8) {
        unsigned long long from = fuzz_time(&p), to = fuzz_time(&p);
        fuzz_word(&line, cut & 16 ? "--time=%llu..%llu" : "--time=+%llu..+%llu",
                  from < to ? from : to, from < to ? to : from);
    }
    if (fuzz_trace_look(in, 0).event_count <= FUZZ_PRINTED_EVENTS) {
        struct fuzz_outcome outcome = fuzz_verb_run(tool_verb_export, line.words);
        if (fuzz_outcome_is_whole(&outcome))
            require(format, &outcome.out);
    }
    fuzz_release_all();
    return 0;
}

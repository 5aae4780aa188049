/* The verb itself, output and messages included. */
#include "fuzz_convert.h"

#include <stdio.h>

#include "fuzz_trace.h"
#include "fuzz_verb.h"
#include "tools/command/tool.h"

void fuzz_convert(struct fuzz_input *parameters, const char *format, const char *path)
{
    static const char *const times[] = {"exact", "none", "64ns", "1us"};
    char level[8], events[16];
    uint32_t flags;
    (void)snprintf(level, sizeof level, "%u", fuzz_number(parameters, 1) % 10);
    flags = fuzz_number(parameters, 1);
    (void)snprintf(events, sizeof events, "%u", 1 + fuzz_number(parameters, 2) % 4096);
    const char *argv[] = {"convert",
                          path,
                          "-o",
                          "-",
                          "--from-format",
                          format,
                          "--level",
                          level,
                          "--resolution",
                          times[flags % 4],
                          "--partition-events",
                          events,
                          flags & 8 ? "--strict" : NULL,
                          NULL};
    struct fuzz_outcome outcome = fuzz_verb_run(tool_verb_convert, argv);
    FUZZ_REQUIRE(outcome.status != TOOL_USAGE); /* or nothing is tried */
    if (outcome.status == TOOL_OK || outcome.status == TOOL_LOSS) {
        ttape_source trace = ttape_source_memory(outcome.out.data, outcome.out.size);
        FUZZ_REQUIRE(fuzz_trace_verify(&trace, NULL) == 0);
    }
}

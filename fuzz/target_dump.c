/* The three exporters: what they print follows the rules of its format, whatever names and values
 * hold. */
#include <stdio.h>

#include "fuzz_trace.h"
#include "fuzz_verb.h"
#include "tools/command/tool.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const dump_formats[] = {"text", "csv", "ndjson"};
    struct fuzz_input in = {data, size};
    struct fuzz_input p = fuzz_part(&in, FUZZ_PARAMETER_BYTES);
    char first[32], time[32];
    uint32_t format = fuzz_number(&p, 1) % 3, select = fuzz_number(&p, 1);
    (void)snprintf(first, sizeof first, "%u..%u", fuzz_number(&p, 2), 60000u);
    (void)snprintf(time, sizeof time, "%s%llu..", select & 4 ? "+" : "",
                   (unsigned long long)fuzz_time(&p));
    const char *path = fuzz_verb_file(0, in.data, in.size);
    const char *argv[16] = {"dump", path, "--limit", "2000", "--format", dump_formats[format]};
    int count = 6;
    if (select & 1) {
        argv[count++] = "--events";
        argv[count++] = first;
    }
    if (select & 2) {
        argv[count++] = "--time";
        argv[count++] = time;
    }
    struct fuzz_outcome outcome = fuzz_verb_run(tool_verb_dump, argv);
    fuzz_require_clean(&outcome.out);
    if (format == 1 && outcome.status != TOOL_CANNOT)
        fuzz_require_csv(&outcome.out, 7);
    if (format == 2)
        fuzz_require_json(&outcome.out, true);
    fuzz_release_all();
    return 0;
}

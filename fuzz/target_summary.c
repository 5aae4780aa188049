/* The summary section: what reads, writes, and reads the same. */
#include <string.h>

#include "format/container/summary.h"
#include "fuzz_codec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input in = {data, size};
    bool timed = fuzz_number(&in, 1) & 1;
    uint32_t count, again;
    ttape_error err = {0};
    struct ttp_measure *rows = NULL;
    ttape_status status = ttp_summary_count(in.data, in.size, &count, &err);
    if (status == TTAPE_OK && count > 65536)
        return 0; /* the reader's limit on memory */
    if (status == TTAPE_OK) {
        rows = fuzz_take(count * sizeof *rows);
        status = ttp_summary_read(in.data, in.size, timed, rows, count, &err);
    }
    if (status == TTAPE_OK) {
        size_t bound = ttp_summary_bound(count), bytes;
        uint8_t *out = fuzz_take(bound);
        struct ttp_measure *same = fuzz_take(count * sizeof *same);
        FUZZ_REQUIRE((bytes = ttp_summary_write(rows, count, timed, out, bound)) > 0 || count == 0);
        FUZZ_REQUIRE(ttp_summary_count(out, bytes, &again, NULL) == TTAPE_OK && again == count);
        FUZZ_REQUIRE(ttp_summary_read(out, bytes, timed, same, count, NULL) == TTAPE_OK);
        FUZZ_REQUIRE(count == 0 || memcmp(rows, same, count * sizeof *same) == 0);
    } else {
        fuzz_require_error(status, &err, in.size);
    }
    fuzz_release_all();
    return 0;
}

/* Heads, directories and light sections: what is told of partitions without decoding events. */
#include "fuzz_trace.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_trace trace;
    if (!fuzz_trace_open(&trace, data, size))
        return 0;
    ttape_reader *reader = fuzz_trace_read(&trace);
    if (reader != NULL) {
        struct fuzz_sum one = fuzz_read_partitions(reader);
        struct fuzz_sum two = fuzz_read_partitions(reader); /* from the cache, or again */
        FUZZ_REQUIRE(one.hash == two.hash && one.errors == two.errors);
    }
    ttape_reader_close(reader);
    fuzz_trace_close(&trace);
    return 0;
}

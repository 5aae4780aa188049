/* A rollup file, whose header is made right: what is taken is written as the same content, twice
 * alike, and nothing costs more than the options allow.
 *
 *   u8 flags, kind | u8 longest | u8 strings | u8 functions | u8 rows | u8 traces | body */
#include <string.h>

#include <tracetape/rollup.h>

#include "format/base/bytes.h"
#include "format/base/checksum.h"
#include "format/rollup/rollup_layout.h"
#include "fuzz_codec.h"

#define MEMORY_BYTES (8u << 20)

static struct fuzz_input make_file(struct fuzz_input in)
{
    uint32_t kind = fuzz_number(&in, 1), counts[5];
    for (int i = 0; i < 5; i++)
        counts[i] = fuzz_number(&in, 1);
    size_t size = TTP_ROLLUP_HEADER_BYTES + in.size;
    uint8_t *file = fuzz_take(size);
    memset(file, 0, TTP_ROLLUP_HEADER_BYTES);
    memcpy(file, TTP_ROLLUP_MAGIC, TTP_ROLLUP_MAGIC_BYTES);
    memcpy(file + TTP_ROLLUP_HEADER_BYTES, in.data, in.size);
    ttp_store32(file + TTP_ROLLUP_FLAGS_AT, kind & 3);
    ttp_store64(file + TTP_ROLLUP_SIZE_AT, size);
    ttp_store64(file + TTP_ROLLUP_BODY_HASH_AT, ttp_checksum(in.data, in.size));
    ttp_store32(file + TTP_ROLLUP_BY_AT, kind >> 2 & 7);
    ttp_store32(file + TTP_ROLLUP_LONGEST_AT, counts[0]);
    ttp_store32(file + TTP_ROLLUP_STRINGS_AT, counts[1]);
    ttp_store32(file + TTP_ROLLUP_FUNCTIONS_AT, counts[2]);
    ttp_store32(file + TTP_ROLLUP_ROWS_AT, counts[3]);
    ttp_store32(file + TTP_ROLLUP_TRACES_AT, counts[4]);
    ttp_store64(file + TTP_ROLLUP_HASH_AT, ttp_checksum(file, TTP_ROLLUP_HASH_AT));
    return (struct fuzz_input){file, size};
}

static ttape_rollup *read_file(const void *data, size_t size, ttape_status *status)
{
    const ttape_rollup_options options = {
        .size = sizeof options, .takes_any = true, .memory_bytes = MEMORY_BYTES};
    ttape_source source = ttape_source_memory(data, size);
    ttape_rollup *rollup;
    ttape_error err = {0};
    FUZZ_REQUIRE(ttape_rollup_open(&rollup, &options, &err) == TTAPE_OK);
    *status = ttape_rollup_add_file(rollup, &source, &err);
    if (*status != TTAPE_OK)
        fuzz_require_error(*status, &err, size);
    return rollup;
}

/* Everything that is shown, and functions joined. */
static void look(ttape_rollup *rollup)
{
    uint32_t count, calls;
    int64_t duration_ns;
    ttape_rollup *folded;
    (void)ttape_rollup_get_traces(rollup, &count);
    (void)ttape_rollup_get_functions(rollup, &count);
    (void)ttape_rollup_get_rows(rollup, &count);
    for (uint32_t i = 0; i < count; i++) {
        (void)ttape_rollup_get_percentile(rollup, i, 0.99, &duration_ns);
        (void)ttape_rollup_get_longest(rollup, i, &calls);
    }
    for (int across = 0; across <= TTAPE_ROLLUP_ACROSS_MODULES; across++)
        if (ttape_rollup_fold(&folded, rollup, (ttape_rollup_across)across, NULL) == TTAPE_OK)
            ttape_rollup_close(folded);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input file = make_file((struct fuzz_input){data, size});
    ttape_status status;
    ttape_memory_sink bytes[2] = {{0}, {0}};
    ttape_rollup *rollup = read_file(file.data, file.size, &status);
    for (int i = 0; status == TTAPE_OK && i < 2; i++) {
        ttape_sink sink = ttape_sink_memory(&bytes[i]);
        status = ttape_rollup_write(rollup, &sink, NULL);
        if (status == TTAPE_OK) {
            ttape_source again = ttape_source_memory(bytes[i].data, bytes[i].size_bytes);
            uint32_t count;
            bool has_traces = ttape_rollup_get_traces(rollup, &count) != NULL && count != 0;
            ttape_status twice = ttape_rollup_add_file(rollup, &again, NULL);
            FUZZ_REQUIRE(!has_traces || twice == TTAPE_E_EXISTS || twice == TTAPE_E_LIMIT);
            look(rollup);
            ttape_rollup_close(rollup);
            rollup = read_file(bytes[i].data, bytes[i].size_bytes, &status);
        }
    }
    if (status == TTAPE_OK)
        FUZZ_REQUIRE(bytes[0].size_bytes == bytes[1].size_bytes &&
                     memcmp(bytes[0].data, bytes[1].data, bytes[0].size_bytes) == 0);
    ttape_rollup_close(rollup);
    ttape_memory_sink_close(&bytes[0]);
    ttape_memory_sink_close(&bytes[1]);
    fuzz_release_all();
    return 0;
}

/* The summary section, own and CPU times beside it: what reads, writes, and reads the same. */
#include <string.h>

#include "format/container/measures/cpu_times.h"
#include "format/container/measures/own_times.h"
#include "fuzz_codec.h"

/* What reads writes, and reads the same. `in` is any bytes. */
static void try_own_times(struct ttp_measure *rows, struct ttp_measure *same, uint32_t count,
                          struct fuzz_input in)
{
    ttape_error err = {0};
    ttape_status status = ttp_own_times_read(in.data, in.size, rows, count, &err);
    if (status != TTAPE_OK) {
        fuzz_require_error(status, &err, in.size);
        return;
    }
    size_t bound = ttp_own_times_bound(count);
    uint8_t *out = fuzz_take(bound);
    size_t bytes = ttp_own_times_write(rows, count, out, bound);
    FUZZ_REQUIRE(ttp_own_times_read(out, bytes, same, count, NULL) == TTAPE_OK);
    FUZZ_REQUIRE(count == 0 || memcmp(rows, same, count * sizeof *same) == 0);
}

static void try_cpu_times(const struct ttp_measure *rows, uint32_t count, struct fuzz_input in)
{
    ttape_error err = {0};
    uint32_t starts = count % 5;
    struct ttp_cpu_times times = {.row_count = count, .start_count = starts}, same = times;
    times.rows = fuzz_take(count * sizeof *times.rows);
    same.rows = fuzz_take(count * sizeof *same.rows);
    times.start_off_ns = fuzz_take(starts * sizeof(int64_t));
    same.start_off_ns = fuzz_take(starts * sizeof(int64_t));
    ttape_status status = ttp_cpu_times_read(in.data, in.size, rows, 3, &times, &err);
    if (status != TTAPE_OK) {
        fuzz_require_error(status, &err, in.size);
        return;
    }
    size_t bound = ttp_cpu_times_bound(count, starts);
    uint8_t *out = fuzz_take(bound);
    size_t bytes = ttp_cpu_times_write(&times, rows, 3, out, bound);
    FUZZ_REQUIRE(ttp_cpu_times_read(out, bytes, rows, 3, &same, NULL) == TTAPE_OK);
    FUZZ_REQUIRE(memcmp(times.all_ns, same.all_ns, sizeof same.all_ns) == 0);
    FUZZ_REQUIRE(count == 0 || memcmp(times.rows, same.rows, count * sizeof *same.rows) == 0);
    FUZZ_REQUIRE(starts == 0 ||
                 memcmp(times.start_off_ns, same.start_off_ns, starts * sizeof(int64_t)) == 0);
}

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
        if (timed)
            try_own_times(rows, same, count, in);
        if (timed)
            try_cpu_times(rows, count, in);
    } else {
        fuzz_require_error(status, &err, in.size);
    }
    fuzz_release_all();
    return 0;
}

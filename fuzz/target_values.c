/* Values and depths: what reads, writes to the same bytes. */
#include <string.h>

#include "format/container/values.h"
#include "fuzz_codec.h"

static void values(struct fuzz_input in, uint32_t events)
{
    struct ttp_values v;
    ttape_error err = {0};
    ttape_status status = ttp_values_count(in.data, in.size, &v, &err);
    if (status == TTAPE_OK) {
        v.event = fuzz_take(v.event_count * sizeof *v.event);
        v.value_start = fuzz_take((v.event_count + 1ull) * sizeof *v.value_start);
        v.values = fuzz_take(v.value_count * sizeof *v.values);
        v.bytes = fuzz_take(v.bytes_count);
        status = ttp_values_read(in.data, in.size, events, &v, &err);
    }
    if (status != TTAPE_OK) {
        fuzz_require_error(status, &err, in.size);
        return;
    }
    size_t bound = ttp_values_bound(&v);
    uint8_t *out = fuzz_take(bound);
    FUZZ_REQUIRE(ttp_values_write(&v, out, bound) == in.size);
    FUZZ_REQUIRE(memcmp(out, in.data, in.size) == 0);
}

static void depths(struct fuzz_input in, uint32_t events)
{
    uint32_t count;
    ttape_error err = {0};
    struct ttp_depth_change *changes = NULL;
    ttape_status status = ttp_depths_count(in.data, in.size, &count, &err);
    if (status == TTAPE_OK) {
        changes = fuzz_take(count * sizeof *changes);
        status = ttp_depths_read(in.data, in.size, events, changes, count, &err);
    }
    if (status != TTAPE_OK) {
        fuzz_require_error(status, &err, in.size);
        return;
    }
    size_t bound = ttp_depths_bound(count);
    uint8_t *out = fuzz_take(bound);
    FUZZ_REQUIRE(ttp_depths_write(changes, count, out, bound) == in.size);
    FUZZ_REQUIRE(memcmp(out, in.data, in.size) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input in = {data, size};
    uint32_t events = 1 + fuzz_number(&in, 2);
    (fuzz_number(&in, 1) & 1 ? depths : values)(in, events);
    fuzz_release_all();
    return 0;
}

/* The raw form of times: what decodes, encodes to the same bytes, and every block decodes alone. */
#include <string.h>

#include "format/times/raw_times.h"
#include "fuzz_codec.h"

static void require_blocks(const struct fuzz_codec *c, const struct ttp_times *whole,
                           struct fuzz_input s, const int64_t *ticks)
{
    struct ttp_times one = fuzz_codec_times(c);
    uint32_t blocks = (one.event_count + TTP_TIME_BLOCK_EVENTS - 1) / TTP_TIME_BLOCK_EVENTS;
    for (uint32_t b = 0; b < blocks; b++) {
        int64_t tick;
        FUZZ_REQUIRE(ttp_raw_times_decode_block(s.data, s.size, b, &one, &tick, NULL) == TTAPE_OK);
        FUZZ_REQUIRE(tick == ticks[b]);
    }
    FUZZ_REQUIRE(memcmp(one.delta, whole->delta, one.event_count * sizeof *one.delta) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_codec c;
    ttape_error err = {0};
    fuzz_codec_open(&c, (struct fuzz_input){data, size}, 65536);
    struct fuzz_input s = c.sections[0];
    struct ttp_times times = fuzz_codec_times(&c);
    ttape_status status = ttp_raw_times_decode(s.data, s.size, &times, &err);
    if (status == TTAPE_OK) {
        size_t capacity = ttp_raw_times_bound(times.event_count), bytes;
        uint8_t *out = fuzz_take(capacity);
        int64_t ticks[2];
        FUZZ_REQUIRE(ttp_raw_times_directory(times.event_count, ticks, s.data, s.size, NULL) ==
                     TTAPE_OK);
        require_blocks(&c, &times, s, ticks);
        FUZZ_REQUIRE(ttp_raw_times_encode(&times, out, capacity, &bytes, NULL) == TTAPE_OK);
        FUZZ_REQUIRE(bytes == s.size && memcmp(out, s.data, bytes) == 0);
    } else {
        fuzz_require_error(status, &err, size);
    }
    fuzz_release_all();
    return 0;
}

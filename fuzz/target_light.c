/* Segments, bases and edges, one behind the other: what reads, writes, and reads the same. */
#include <string.h>

#include "format/container/segments.h"
#include "fuzz_codec.h"

static bool read_all(const struct ttp_partition_head *h, const struct fuzz_input *s,
                     struct ttp_segments *out, ttape_error *err)
{
    *out = (struct ttp_segments){fuzz_take(h->segment_count * sizeof(struct ttp_segment)),
                                 fuzz_take(h->start_frame_count * sizeof(struct ttp_frame)),
                                 fuzz_take(h->end_frame_count * sizeof(struct ttp_frame)),
                                 0,
                                 0,
                                 0};
    ttape_status status = ttp_segments_read(h, s[0].data, s[0].size, out, err);
    if (status == TTAPE_OK && h->resolution_ns != 0)
        status = ttp_bases_read(h, s[1].data, s[1].size, out, err);
    if (status == TTAPE_OK)
        status = ttp_edges_read(h, s[2].data, s[2].size, out, err);
    if (status != TTAPE_OK)
        fuzz_require_error(status, err, SIZE_MAX);
    return status == TTAPE_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input in = {data, size}, s[3], again[3];
    struct ttp_segments one, two;
    ttape_error err = {0};
    struct ttp_partition_head h = {.event_count = 1 + fuzz_number(&in, 2),
                                   .segment_count = 1 + fuzz_number(&in, 1),
                                   .start_frame_count = fuzz_number(&in, 1),
                                   .end_frame_count = fuzz_number(&in, 1),
                                   .resolution_ns = fuzz_number(&in, 1) & 1,
                                   .first_tick = fuzz_number(&in, 4)};
    size_t first = fuzz_number(&in, 2), second = fuzz_number(&in, 2);
    s[0] = fuzz_part(&in, first);
    s[1] = fuzz_part(&in, second);
    s[2] = in;
    if (read_all(&h, s, &one, &err)) {
        size_t bound = ttp_segments_bound(&one);
        uint8_t *out[3] = {fuzz_take(bound), fuzz_take(bound), fuzz_take(bound)};
        again[0] = (struct fuzz_input){out[0], ttp_segments_write(&one, out[0], bound)};
        again[1] = (struct fuzz_input){out[1], ttp_bases_write(&one, h.first_tick, out[1], bound)};
        again[2] =
            (struct fuzz_input){out[2], ttp_edges_write(&one, h.resolution_ns != 0, out[2], bound)};
        FUZZ_REQUIRE(read_all(&h, again, &two, &err));
        FUZZ_REQUIRE(memcmp(one.segments, two.segments, one.segment_count * sizeof *one.segments) ==
                     0);
    }
    fuzz_release_all();
    return 0;
}

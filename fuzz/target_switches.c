/* The switches section: what reads, writes, and reads the same; and its intervals add up. */
#include <string.h>

#include "format/container/switches.h"
#include "fuzz_codec.h"

#define SEGMENTS_MAX 16u

/* The events of a partition, cut into segments as the input says. */
static uint32_t cut(struct fuzz_input *in, uint32_t starts[SEGMENTS_MAX + 1])
{
    uint32_t events = 1 + fuzz_number(in, 2), count = 1 + fuzz_number(in, 1) % SEGMENTS_MAX;
    starts[0] = 0;
    for (uint32_t i = 1; i < count; i++) {
        uint32_t left = events - starts[i - 1], size = 1 + fuzz_number(in, 2);
        starts[i] = starts[i - 1] + (size < left ? size : left);
    }
    starts[count] = events;
    return count;
}

/* Whatever spans say, no more than the interval was spent. */
static void walk(const struct ttp_switches *s, const uint32_t *starts)
{
    for (uint32_t i = 0; i < s->segment_count; i++) {
        struct ttp_switch_walk w = ttp_switch_walk_init(s, i);
        for (uint32_t event = starts[i]; event < starts[i + 1]; event++) {
            struct ttp_off_time off = ttp_switch_walk_take(&w, event, 1000, 0, 1000);
            FUZZ_REQUIRE(off.preempted_ns <= 1000 && off.blocked_ns <= 1000);
            FUZZ_REQUIRE(off.preempted_ns + off.blocked_ns + off.unknown_ns <= 1000);
        }
    }
}

static struct ttp_switches take(uint32_t segments, uint32_t spans)
{
    return (struct ttp_switches){.is_known = fuzz_take(segments),
                                 .span_start = fuzz_take((segments + 1) * sizeof(uint32_t)),
                                 .spans = fuzz_take(spans * sizeof(struct ttp_off_span)),
                                 .segment_count = segments,
                                 .span_count = spans};
}

static void try_switches(struct fuzz_input in, const uint32_t *starts, uint32_t segments)
{
    ttape_error err = {0};
    struct ttp_switches s = {.segment_count = segments};
    ttape_status status = ttp_switches_count(in.data, in.size, segments, &s.span_count, &err);
    if (status == TTAPE_OK) {
        s = take(segments, s.span_count);
        status = ttp_switches_read(in.data, in.size, starts, &s, &err);
    }
    if (status != TTAPE_OK) {
        fuzz_require_error(status, &err, in.size);
        return;
    }
    size_t bound = ttp_switches_bound(&s);
    uint8_t *out = fuzz_take(bound);
    size_t bytes = ttp_switches_write(&s, starts, out, bound);
    struct ttp_switches same = take(segments, s.span_count);
    FUZZ_REQUIRE(ttp_switches_read(out, bytes, starts, &same, NULL) == TTAPE_OK);
    FUZZ_REQUIRE(memcmp(s.is_known, same.is_known, segments) == 0);
    for (uint32_t i = 0; i < s.span_count; i++) {
        const struct ttp_off_span *a = &s.spans[i], *b = &same.spans[i];
        FUZZ_REQUIRE(a->event == b->event && a->kind == b->kind && a->start_ns == b->start_ns &&
                     a->length_ns == b->length_ns);
    }
    walk(&s, starts);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint32_t starts[SEGMENTS_MAX + 1];
    struct fuzz_input in = {data, size};
    uint32_t segments = cut(&in, starts);
    try_switches(in, starts, segments);
    fuzz_release_all();
    return 0;
}

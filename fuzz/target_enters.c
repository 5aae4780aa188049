/* The enters section: whatever it says, events are the segment's and ascend on a stack, what stayed
 * is below what began, and what was read is read again as it was from what is written of it. */
#include "format/container/enters.h"
#include "fuzz_codec.h"

#define SEGMENTS_MAX 3u
#define FRAMES_MAX   8u
#define ROOM_BYTES   65536u

/* Some frames are made, by ascending stack. */
static uint32_t take_frames(struct fuzz_input *in, struct ttp_frame *frames)
{
    uint32_t count = fuzz_number(in, 1) % FRAMES_MAX, stack = 0;
    for (uint32_t i = 0; i < count; i++) {
        stack += fuzz_number(in, 1) % 4 == 0;
        frames[i] = (struct ttp_frame){.stack = stack};
    }
    return count;
}

/* Segments with their edges, as the input says. */
static struct ttp_segments take_segments(struct fuzz_input *in)
{
    struct ttp_segments s = {.segment_count = 1 + fuzz_number(in, 1) % SEGMENTS_MAX};
    s.segments = fuzz_take(s.segment_count * sizeof *s.segments);
    s.start_frames = fuzz_take(SEGMENTS_MAX * FRAMES_MAX * sizeof *s.start_frames);
    s.end_frames = fuzz_take(SEGMENTS_MAX * FRAMES_MAX * sizeof *s.end_frames);
    for (uint32_t i = 0; i < s.segment_count; i++) {
        struct ttp_segment *g = &s.segments[i];
        uint32_t starts = take_frames(in, s.start_frames + s.start_frame_count);
        uint32_t added = take_frames(in, s.end_frames + s.end_frame_count);
        *g = (struct ttp_segment){
            .event_count = 1 + fuzz_number(in, 2),
            .kept = starts == 0 ? 0 : fuzz_number(in, 1) % (starts + 1),
            .start = {.frame_start = s.start_frame_count, .frame_count = starts},
            .end = {.frame_start = s.end_frame_count}};
        g->end.frame_count = g->kept + added;
        s.start_frame_count += starts;
        s.end_frame_count += added;
    }
    return s;
}

static void check_stack(const struct ttp_segment *g, const struct ttp_edge_stack *one,
                        const struct ttp_entered *entered)
{
    uint64_t next = 0;
    bool has_begun = false;
    for (uint32_t i = one->first; i < one->first + one->count; i++) {
        bool stayed = entered[i].event == TTP_ENTERED_BEFORE;
        FUZZ_REQUIRE(!stayed || (!has_begun && i - one->first < one->start_count));
        FUZZ_REQUIRE(stayed || (entered[i].event >= next && entered[i].event < g->event_count));
        next = stayed ? next : entered[i].event + 1ull;
        has_begun = !stayed;
    }
}

static void check(const struct ttp_segments *s, const struct ttp_entered *entered, uint64_t count)
{
    uint8_t *room = fuzz_take(ROOM_BYTES);
    struct ttp_entered *again = fuzz_take((count + 1) * sizeof *again);
    const struct ttp_entered *at = entered;
    size_t size;
    for (uint32_t i = 0; i < s->segment_count; at += s->segments[i++].end.frame_count) {
        struct ttp_edge_stacks stacks = {s, &s->segments[i], 0, 0};
        struct ttp_edge_stack one;
        while (ttp_edge_stacks_next(&stacks, &one))
            check_stack(&s->segments[i], &one, at);
    }
    FUZZ_REQUIRE(ttp_enters_write(s, entered, room, ROOM_BYTES, &size));
    FUZZ_REQUIRE(ttp_enters_read(room, size, s, again, NULL) == TTAPE_OK);
    for (uint64_t i = 0; i < count; i++)
        FUZZ_REQUIRE(again[i].event == entered[i].event && again[i].above == entered[i].above);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input in = {data, size};
    struct ttp_segments segments = take_segments(&in);
    uint64_t count = ttp_entered_count(&segments);
    struct ttp_entered *entered = fuzz_take((count + 1) * sizeof *entered);
    ttape_error err = {0};
    ttape_status status = ttp_enters_read(in.data, in.size, &segments, entered, &err);
    if (status == TTAPE_OK)
        check(&segments, entered, count);
    else
        fuzz_require_error(status, &err, in.size);
    fuzz_release_all();
    return 0;
}

/* The instants section: whatever it says, no stack has fewer frames than none, and nothing is more
 * than the format allows. */
#include "format/levels/instants.h"
#include "fuzz_codec.h"

#define SEGMENTS_MAX 4u
#define FRAMES_MAX   8u

/* Segments with their edges, as the input says: their frames are those of one list. */
static struct ttp_segments take_segments(struct fuzz_input *in)
{
    struct ttp_segments s = {.segment_count = 1 + fuzz_number(in, 1) % SEGMENTS_MAX};
    s.segments = fuzz_take(s.segment_count * sizeof *s.segments);
    s.start_frames = fuzz_take(SEGMENTS_MAX * FRAMES_MAX * sizeof *s.start_frames);
    for (uint32_t i = 0; i < s.segment_count; i++) {
        struct ttp_segment *g = &s.segments[i];
        *g = (struct ttp_segment){.start = {.frame_start = s.start_frame_count,
                                            .frame_count = fuzz_number(in, 1) % FRAMES_MAX}};
        for (uint32_t k = 0; k < g->start.frame_count; k++)
            s.start_frames[s.start_frame_count++] =
                (struct ttp_frame){.argument = k % 3, .stack = k == 7};
        g->base_tick = (int64_t)fuzz_time(in);
        g->end_tick = (int64_t)fuzz_time(in);
    }
    return s;
}

static void check(const struct ttp_segments *s, const struct ttp_instants *in)
{
    uint32_t instants = 0, frames = 0;
    for (uint32_t i = 0; i < s->segment_count; i++) {
        const struct ttp_instant_segment *g = &in->segments[i];
        uint32_t height = s->segments[i].start.frame_count;
        if (g->exponent == TTP_INSTANTS_UNKNOWN)
            continue;
        FUZZ_REQUIRE(g->start == instants);
        for (uint32_t k = 0; k < g->count; k++) {
            const struct ttp_instant *at = &in->instants[instants++];
            FUZZ_REQUIRE(at->kept <= height && at->first == frames);
            frames += at->added;
            height = at->kept + at->added;
        }
        FUZZ_REQUIRE(g->kept <= height);
    }
    FUZZ_REQUIRE(instants == in->instant_count && frames == in->frame_count);
    FUZZ_REQUIRE(instants <= TTP_INSTANTS_MOST && frames <= TTP_INSTANT_FRAMES_MOST);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input in = {data, size};
    struct ttp_segments segments = take_segments(&in);
    struct ttp_instants read = {.segments =
                                    fuzz_take(segments.segment_count * sizeof *read.segments),
                                .instants = fuzz_take(TTP_INSTANTS_MOST * sizeof *read.instants),
                                .frames = fuzz_take(TTP_INSTANT_FRAMES_MOST * sizeof *read.frames)};
    struct ttp_symbol *stack =
        fuzz_take((TTP_INSTANT_FRAMES_MOST + segments.start_frame_count) * sizeof *stack);
    ttape_error err = {0};
    ttape_status status = ttp_instants_read(in.data, in.size, &segments, stack, &read, &err);
    if (status == TTAPE_OK)
        check(&segments, &read);
    else
        fuzz_require_error(status, &err, in.size);
    fuzz_release_all();
    return 0;
}

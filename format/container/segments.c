/* Segment columns. Neighbouring segments are alike (hundreds of forked children, say), so that
 * every field is a difference from the same field of the segment before, and the adaptive models
 * learn what never changes. */
#include "format/container/segments.h"

#include <string.h>

#include "format/base/coder.h"
#include "format/base/fail.h"

/* Of open frames: models, and the arguments that the next differences count from. */
struct frame_models {
    struct ttp_number_model event_class, stack;
    struct ttp_signed_model argument[TTP_CLASS_COUNT];
    int64_t last[TTP_CLASS_COUNT];
};

/* One model per column; the order of fields is the order on disk (spec/format.md, F-SEG). */
struct segment_models {
    struct ttp_number_model stream, stack;
    struct ttp_signed_model event_count, first_event, unknown_depth, depth_offset, frame_count;
    struct frame_models frames;
};

struct edge_models {
    struct ttp_number_model min_depth, stack, kept, added;
    struct ttp_signed_model end_tick, unknown_depth, depth_offset, enter, self;
    struct frame_models frames;
};

static void frame_models_init(struct frame_models *m)
{
    ttp_number_init(&m->event_class);
    ttp_number_init(&m->stack);
    for (int c = 0; c < TTP_CLASS_COUNT; c++)
        ttp_signed_init(&m->argument[c]);
    memset(m->last, 0, sizeof m->last);
}

static void segment_models_init(struct segment_models *m)
{
    ttp_number_init(&m->stream);
    ttp_number_init(&m->stack);
    ttp_signed_init(&m->event_count);
    ttp_signed_init(&m->first_event);
    ttp_signed_init(&m->unknown_depth);
    ttp_signed_init(&m->depth_offset);
    ttp_signed_init(&m->frame_count);
    frame_models_init(&m->frames);
}

static void edge_models_init(struct edge_models *m)
{
    ttp_number_init(&m->min_depth);
    ttp_number_init(&m->stack);
    ttp_number_init(&m->kept);
    ttp_number_init(&m->added);
    ttp_signed_init(&m->end_tick);
    ttp_signed_init(&m->unknown_depth);
    ttp_signed_init(&m->depth_offset);
    ttp_signed_init(&m->enter);
    ttp_signed_init(&m->self);
    frame_models_init(&m->frames);
}

static void write_frame(struct ttp_encoder *e, struct frame_models *m, const struct ttp_frame *f)
{
    ttp_encode_number(e, &m->event_class, f->event_class);
    ttp_encode_signed(e, &m->argument[f->event_class], f->argument - m->last[f->event_class]);
    ttp_encode_number(e, &m->stack, f->stack);
    m->last[f->event_class] = f->argument;
}

size_t ttp_segments_bound(const struct ttp_segments *in)
{
    /* No number costs more than 63 + 63 bits and a flag at up to 14 bits each: 16 bits a bit is far
     * above. */
    return 1024 + (size_t)in->segment_count * 1536 +
           ((size_t)in->start_frame_count + in->end_frame_count) * 1280;
}

size_t ttp_segments_write(const struct ttp_segments *in, uint8_t *out, size_t out_bytes)
{
    struct segment_models m;
    struct ttp_encoder e = ttp_encoder_init(out, out_bytes);
    struct ttp_segment before = {.stream = UINT32_MAX};
    segment_models_init(&m);
    for (uint32_t s = 0; s < in->segment_count; s++) {
        const struct ttp_segment *g = &in->segments[s];
        ttp_encode_number(&e, &m.stream, (uint32_t)(g->stream - before.stream - 1));
        ttp_encode_signed(&e, &m.event_count, (int64_t)g->event_count - before.event_count);
        ttp_encode_signed(&e, &m.first_event, (int64_t)(g->first_event - before.first_event));
        ttp_encode_number(&e, &m.stack, g->start.stack);
        ttp_encode_signed(&e, &m.unknown_depth,
                          (int64_t)g->start.unknown_depth - before.start.unknown_depth);
        ttp_encode_signed(&e, &m.depth_offset,
                          (int64_t)g->start.depth_offset - before.start.depth_offset);
        ttp_encode_signed(&e, &m.frame_count,
                          (int64_t)g->start.frame_count - before.start.frame_count);
        for (uint32_t i = 0; i < g->start.frame_count; i++)
            write_frame(&e, &m.frames, &in->start_frames[g->start.frame_start + i]);
        before = *g;
    }
    size_t size = ttp_encoder_finish(&e);
    return e.full ? 0 : size;
}

static ttape_status bad_segments(const struct ttp_decoder *d, const uint8_t *data, const char *rule,
                                 const char *what, ttape_error *err)
{
    return ttp_fail(err, TTAPE_E_CORRUPT, rule, (uint64_t)(d->at - data), "%s", what);
}

static ttape_status read_frame(struct ttp_decoder *d, const uint8_t *data, struct frame_models *m,
                               struct ttp_frame *out, ttape_error *err)
{
    uint64_t event_class = ttp_decode_number(d, &m->event_class);
    if (event_class >= TTP_CLASS_COUNT || !ttp_class_pushes((uint8_t)event_class))
        return bad_segments(d, data, "F-SEG-06",
                            "an open frame is not of a class that opens frames", err);
    /* Unsigned, so that hostile differences wrap instead of overflowing. */
    uint64_t value =
        (uint64_t)m->last[event_class] + (uint64_t)ttp_decode_signed(d, &m->argument[event_class]);
    uint64_t stack = ttp_decode_number(d, &m->stack);
    if (value > UINT32_MAX || stack >= TTP_MAX_STACKS)
        return bad_segments(d, data, "F-SEG-07", "an open frame's site or stack is out of range",
                            err);
    m->last[event_class] = (int64_t)value;
    *out = (struct ttp_frame){
        .argument = (uint32_t)value, .stack = (uint32_t)stack, .event_class = (uint8_t)event_class};
    return TTAPE_OK;
}

/* Adds a decoded difference; the sum must fit `max`. */
static bool add_difference(int64_t before, int64_t difference, int64_t min, int64_t max,
                           int64_t *out)
{
    return !__builtin_add_overflow(before, difference, out) && *out >= min && *out <= max;
}

static ttape_status read_segment(struct ttp_decoder *d, const uint8_t *data,
                                 struct segment_models *m, const struct ttp_segment *before,
                                 struct ttp_segment *g, ttape_error *err)
{
    int64_t events, unknown, offset, frames;
    uint64_t stream = ttp_decode_number(d, &m->stream);
    stream = before->stream == UINT32_MAX ? stream : stream + before->stream + 1;
    if (stream >= TTP_MAX_STREAMS)
        return bad_segments(d, data, "F-SEG-02", "a segment's stream is out of range", err);
    bool good = add_difference(before->event_count, ttp_decode_signed(d, &m->event_count), 1,
                               TTP_MAX_PARTITION_EVENTS, &events);
    g->first_event = before->first_event + (uint64_t)ttp_decode_signed(d, &m->first_event);
    uint64_t stack = ttp_decode_number(d, &m->stack);
    good = add_difference(before->start.unknown_depth, ttp_decode_signed(d, &m->unknown_depth), 0,
                          TTP_MAX_DEPTH, &unknown) &&
           good;
    good = add_difference(before->start.depth_offset, ttp_decode_signed(d, &m->depth_offset),
                          -(int64_t)TTP_MAX_DEPTH, TTP_MAX_DEPTH, &offset) &&
           good;
    good = add_difference(before->start.frame_count, ttp_decode_signed(d, &m->frame_count), 0,
                          UINT32_MAX, &frames) &&
           good;
    if (!good || stack >= TTP_MAX_STACKS)
        return bad_segments(d, data, "F-SEG-03", "a segment's counts or depths are out of range",
                            err);
    g->stream = (uint32_t)stream;
    g->event_count = (uint32_t)events;
    g->start = (struct ttp_edge_state){(uint32_t)stack, (uint32_t)unknown, (int32_t)offset, 0,
                                       (uint32_t)frames};
    return TTAPE_OK;
}

ttape_status ttp_segments_read(const struct ttp_partition_head *head, const uint8_t *data,
                               size_t size_bytes, struct ttp_segments *io, ttape_error *err)
{
    struct segment_models m;
    struct ttp_decoder d = ttp_decoder_init(data, size_bytes);
    struct ttp_segment before = {.stream = UINT32_MAX};
    uint64_t events = 0;
    uint32_t frames = 0;
    segment_models_init(&m);
    for (uint32_t s = 0; s < head->segment_count; s++) {
        struct ttp_segment g = {0};
        TTP_TRY(read_segment(&d, data, &m, &before, &g, err));
        if (g.start.frame_count > head->start_frame_count - frames)
            return bad_segments(&d, data, "F-SEG-05",
                                "segments have more open frames than the head says", err);
        g.start.frame_start = frames;
        for (uint32_t i = 0; i < g.start.frame_count; i++)
            TTP_TRY(read_frame(&d, data, &m.frames, &io->start_frames[frames++], err));
        events += g.event_count;
        if (ttp_decoder_cut(&d) || events > head->event_count)
            return bad_segments(&d, data, "F-SEG-04",
                                "segments have more events than the head says", err);
        io->segments[s] = before = g;
    }
    if (events != head->event_count)
        return bad_segments(&d, data, "F-SEG-04", "segments have fewer events than the head says",
                            err);
    if (frames != head->start_frame_count)
        return bad_segments(&d, data, "F-SEG-05",
                            "segments have fewer open frames than the head says", err);
    io->segment_count = head->segment_count;
    io->start_frame_count = frames;
    return TTAPE_OK;
}

size_t ttp_bases_write(const struct ttp_segments *in, int64_t first_tick, uint8_t *out,
                       size_t out_bytes)
{
    struct ttp_signed_model m;
    struct ttp_encoder e = ttp_encoder_init(out, out_bytes);
    int64_t before = first_tick;
    ttp_signed_init(&m);
    for (uint32_t s = 0; s < in->segment_count; s++) {
        ttp_encode_signed(&e, &m,
                          (int64_t)((uint64_t)in->segments[s].base_tick - (uint64_t)before));
        before = in->segments[s].base_tick;
    }
    size_t size = ttp_encoder_finish(&e);
    return e.full ? 0 : size;
}

ttape_status ttp_bases_read(const struct ttp_partition_head *head, const uint8_t *data,
                            size_t size_bytes, struct ttp_segments *io, ttape_error *err)
{
    struct ttp_signed_model m;
    struct ttp_decoder d = ttp_decoder_init(data, size_bytes);
    uint64_t before = (uint64_t)head->first_tick;
    ttp_signed_init(&m);
    for (uint32_t s = 0; s < io->segment_count; s++) {
        before += (uint64_t)ttp_decode_signed(&d, &m);
        io->segments[s].base_tick = (int64_t)before;
    }
    if (ttp_decoder_cut(&d))
        return bad_segments(&d, data, "F-BAS-02", "the bases section ends early", err);
    return TTAPE_OK;
}

static void write_frame_times(struct ttp_encoder *e, struct edge_models *m,
                              const struct ttp_frame *f, uint64_t *enter)
{
    ttp_encode_signed(e, &m->enter, (int64_t)((uint64_t)f->enter_tick - *enter));
    ttp_encode_signed(e, &m->self, f->self_ticks);
    *enter = (uint64_t)f->enter_tick;
}

static void write_end_edge(struct ttp_encoder *e, struct edge_models *m,
                           const struct ttp_segments *in, const struct ttp_segment *g, bool timed)
{
    uint32_t added = g->end.frame_count - g->kept;
    ttp_encode_number(e, &m->stack, g->end.stack);
    ttp_encode_signed(e, &m->unknown_depth, (int64_t)g->end.unknown_depth - g->start.unknown_depth);
    ttp_encode_signed(e, &m->depth_offset, (int64_t)g->end.depth_offset - g->start.depth_offset);
    ttp_encode_number(e, &m->kept, g->start.frame_count - g->kept);
    ttp_encode_number(e, &m->added, added);
    for (uint32_t i = 0; timed && i < g->kept; i++) {
        const struct ttp_frame *f = &in->start_frames[g->start.frame_start + i];
        ttp_encode_signed(e, &m->self,
                          (int64_t)((uint64_t)f->end_self_ticks - (uint64_t)f->self_ticks));
    }
    uint64_t enter = (uint64_t)g->base_tick;
    for (uint32_t i = 0; i < added; i++) {
        const struct ttp_frame *f = &in->end_frames[g->end.frame_start + i];
        write_frame(e, &m->frames, f);
        if (timed)
            write_frame_times(e, m, f, &enter);
    }
}

size_t ttp_edges_write(const struct ttp_segments *in, bool timed, uint8_t *out, size_t out_bytes)
{
    struct edge_models m;
    struct ttp_encoder e = ttp_encoder_init(out, out_bytes);
    edge_models_init(&m);
    for (uint32_t s = 0; s < in->segment_count; s++) {
        const struct ttp_segment *g = &in->segments[s];
        ttp_encode_number(&e, &m.min_depth, g->min_depth);
        if (timed) {
            ttp_encode_signed(&e, &m.end_tick,
                              (int64_t)((uint64_t)g->end_tick - (uint64_t)g->base_tick));
            uint64_t enter = (uint64_t)g->base_tick;
            for (uint32_t i = 0; i < g->start.frame_count; i++)
                write_frame_times(&e, &m, &in->start_frames[g->start.frame_start + i], &enter);
        }
        write_end_edge(&e, &m, in, g, timed);
    }
    size_t size = ttp_encoder_finish(&e);
    return e.full ? 0 : size;
}

static void read_frame_times(struct ttp_decoder *d, struct edge_models *m, struct ttp_frame *f,
                             uint64_t *enter)
{
    *enter += (uint64_t)ttp_decode_signed(d, &m->enter);
    f->enter_tick = (int64_t)*enter;
    f->self_ticks = ttp_decode_signed(d, &m->self);
}

static ttape_status read_end_edge(struct ttp_decoder *d, const uint8_t *data, struct edge_models *m,
                                  struct ttp_segments *io, struct ttp_segment *g, bool timed,
                                  uint32_t room, ttape_error *err)
{
    int64_t unknown, offset;
    uint64_t stack = ttp_decode_number(d, &m->stack);
    bool good = add_difference(g->start.unknown_depth, ttp_decode_signed(d, &m->unknown_depth), 0,
                               TTP_MAX_DEPTH, &unknown);
    good = add_difference(g->start.depth_offset, ttp_decode_signed(d, &m->depth_offset),
                          -(int64_t)TTP_MAX_DEPTH, TTP_MAX_DEPTH, &offset) &&
           good;
    uint64_t left = ttp_decode_number(d, &m->kept), added = ttp_decode_number(d, &m->added);
    if (!good || stack >= TTP_MAX_STACKS || left > g->start.frame_count)
        return bad_segments(d, data, "F-EDG-02", "an end edge is out of range", err);
    if (added > room)
        return bad_segments(d, data, "F-EDG-03", "end edges have more frames than the head says",
                            err);
    g->kept = g->start.frame_count - (uint32_t)left;
    g->end = (struct ttp_edge_state){(uint32_t)stack, (uint32_t)unknown, (int32_t)offset,
                                     io->end_frame_count, g->kept + (uint32_t)added};
    for (uint32_t i = 0; timed && i < g->kept; i++) {
        struct ttp_frame *f = &io->start_frames[g->start.frame_start + i];
        f->end_self_ticks =
            (int64_t)((uint64_t)f->self_ticks + (uint64_t)ttp_decode_signed(d, &m->self));
    }
    uint64_t enter = (uint64_t)g->base_tick;
    for (uint32_t i = 0; i < added; i++) {
        struct ttp_frame *f = &io->end_frames[io->end_frame_count++];
        TTP_TRY(read_frame(d, data, &m->frames, f, err));
        if (timed)
            read_frame_times(d, m, f, &enter);
    }
    return TTAPE_OK;
}

ttape_status ttp_edges_read(const struct ttp_partition_head *head, const uint8_t *data,
                            size_t size_bytes, struct ttp_segments *io, ttape_error *err)
{
    struct edge_models m;
    struct ttp_decoder d = ttp_decoder_init(data, size_bytes);
    bool timed = head->resolution_ns != 0;
    edge_models_init(&m);
    io->end_frame_count = 0;
    for (uint32_t s = 0; s < io->segment_count; s++) {
        struct ttp_segment *g = &io->segments[s];
        uint64_t min_depth = ttp_decode_number(&d, &m.min_depth);
        if (min_depth > TTP_MAX_DEPTH)
            return bad_segments(&d, data, "F-EDG-02", "an end edge is out of range", err);
        g->min_depth = (uint32_t)min_depth;
        if (timed) {
            g->end_tick =
                (int64_t)((uint64_t)g->base_tick + (uint64_t)ttp_decode_signed(&d, &m.end_tick));
            uint64_t enter = (uint64_t)g->base_tick;
            for (uint32_t i = 0; i < g->start.frame_count; i++)
                read_frame_times(&d, &m, &io->start_frames[g->start.frame_start + i], &enter);
        }
        TTP_TRY(read_end_edge(&d, data, &m, io, g, timed,
                              head->end_frame_count - io->end_frame_count, err));
        if (ttp_decoder_cut(&d))
            return bad_segments(&d, data, "F-EDG-04", "the edges section ends early", err);
    }
    if (io->end_frame_count != head->end_frame_count)
        return bad_segments(&d, data, "F-EDG-03", "end edges and head differ in frames", err);
    return TTAPE_OK;
}

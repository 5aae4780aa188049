/* Segments of a stream one behind the other, as if they were one: of their instants those that are
 * instants of the series, too, and how far the stack went down since the one before. */
#include "format/levels/merged.h"
#include "format/levels/merged_model.h"

struct merging {
    const struct ttp_merged_in *in;
    struct ttp_instant_model m;
    struct ttp_merged_model series;
    struct ttp_encoder e;
    struct ttp_symbol *stack;
    uint32_t top, low, height; /* now, least since the last instant, and then */
    uint32_t frame_count, instant_count;
    bool has_gap;
};

uint32_t ttp_merged_list(const struct ttp_merged_ref *refs, uint32_t ref_count,
                         struct ttp_merged_series *series)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < ref_count; i++) {
        if (i != 0 && refs[i].stream == refs[i - 1].stream)
            continue;
        if (series != NULL)
            series[count] = (struct ttp_merged_series){.stream = refs[i].stream, .first_ref = i};
        count++;
    }
    return count;
}

static const struct ttp_segment *segment_at(const struct ttp_merged_in *in, uint32_t ref)
{
    const struct ttp_merged_ref *at = &in->refs[ref];
    return &in->sources[at->partition].segments.segments[at->segment];
}

static const struct ttp_instant_segment *known_at(const struct ttp_merged_in *in, uint32_t ref)
{
    const struct ttp_merged_ref *at = &in->refs[ref];
    const struct ttp_instants *from = &in->sources[at->partition].in;
    return from->segments != NULL ? &from->segments[at->segment] : NULL;
}

/* F-OVR-14 */
static bool is_known(const struct ttp_merged_in *in, uint32_t ref, bool is_first)
{
    const struct ttp_segment *g = segment_at(in, ref);
    const struct ttp_instant_segment *known = known_at(in, ref);
    if (known == NULL || known->exponent == TTP_INSTANTS_UNKNOWN ||
        g->end.frame_count < known->kept)
        return false;
    if (is_first)
        return true;
    const struct ttp_segment *before = segment_at(in, ref - 1);
    return before->first_event + before->event_count == g->first_event &&
           before->end_tick == g->base_tick && g->start.frame_count >= known_at(in, ref - 1)->kept;
}

uint32_t ttp_merged_length(const struct ttp_merged_in *in, const struct ttp_merged_series *one,
                           uint32_t segment_count, uint32_t *least_exponent)
{
    uint32_t count = 0;
    *least_exponent = 0;
    for (uint32_t i = one->first_ref;
         i < in->ref_count && count < segment_count && in->refs[i].stream == one->stream &&
         is_known(in, i, i == one->first_ref);
         i++, count++) {
        uint32_t exponent = known_at(in, i)->exponent;
        *least_exponent = exponent > *least_exponent ? exponent : *least_exponent;
    }
    return count;
}

static uint64_t instants_of(const struct ttp_merged_in *in, const struct ttp_merged_series *one,
                            uint32_t exponent)
{
    const struct ttp_segment *last = segment_at(in, one->first_ref + one->segment_count - 1);
    return (uint64_t)ttp_instant_from(last->end_tick, exponent) -
           (uint64_t)ttp_instant_from(segment_at(in, one->first_ref)->base_tick, exponent);
}

void ttp_merged_choose(const struct ttp_merged_in *in, uint32_t wanted,
                       struct ttp_merged_series *series, uint32_t series_count)
{
    uint64_t all = 0;
    for (uint32_t i = 0; i < in->ref_count; i++)
        all += segment_at(in, i)->event_count;
    for (uint32_t r = 0; r < series_count; r++) {
        uint64_t events = 0;
        uint32_t exponent;
        series[r].segment_count = ttp_merged_length(in, &series[r], UINT32_MAX, &exponent);
        if (series[r].segment_count == 0)
            continue;
        for (uint32_t i = 0; i < series[r].segment_count; i++)
            events += segment_at(in, series[r].first_ref + i)->event_count;
        uint64_t most = wanted * events / all;
        while (exponent < 63 && instants_of(in, &series[r], exponent) > (most != 0 ? most : 1))
            exponent++;
        series[r].in.exponent = exponent;
    }
}

/* ---- writing ---- */

static void push_frame(struct merging *w, struct ttp_symbol frame) { w->stack[w->top++] = frame; }

static void pop_frames(struct merging *w, uint32_t kept)
{
    w->top = kept;
    w->low = kept < w->low ? kept : w->low;
}

static void write_frames(struct merging *w, uint32_t from)
{
    w->frame_count += w->top - from;
    for (uint32_t i = from; i < w->top && w->frame_count <= TTP_INSTANT_FRAMES_MOST; i++)
        ttp_instant_write_frame(&w->e, &w->m, i != 0 ? &w->stack[i - 1] : NULL, w->stack[i]);
}

static uint32_t write_kept(struct merging *w)
{
    uint32_t kept = w->low < w->height ? w->low : w->height;
    ttp_encode_bit(&w->e, &w->m.has_gap, w->has_gap);
    ttp_encode_number(&w->e, &w->m.left, w->height - kept);
    w->has_gap = false;
    return kept;
}

static void write_instant(struct merging *w)
{
    uint32_t kept = write_kept(w);
    ttp_encode_number(&w->e, &w->m.added, w->top - kept);
    write_frames(w, kept);
    w->height = w->low = w->top;
    w->instant_count++;
}

static void pass_segment(struct merging *w, uint32_t ref, uint32_t exponent)
{
    const struct ttp_instants *from = &w->in->sources[w->in->refs[ref].partition].in;
    const struct ttp_instant_segment *known = known_at(w->in, ref);
    uint32_t skip = exponent - known->exponent;
    for (uint32_t i = 0; i < known->count; i++) {
        const struct ttp_instant *at = &from->instants[known->start + i];
        int64_t number = known->first + i;
        pop_frames(w, at->kept);
        for (uint32_t k = 0; k < at->added; k++)
            push_frame(w, from->frames[at->first + k]);
        w->has_gap = w->has_gap || at->has_gap;
        if ((uint64_t)(number >> skip) << skip == (uint64_t)number)
            write_instant(w);
    }
    pop_frames(w, known->kept);
    w->has_gap = w->has_gap || known->has_gap;
}

/* What of a segment's start frames is not on the stack yet. */
static void open_frames(struct merging *w, uint32_t ref)
{
    const struct ttp_segments *segments = &w->in->sources[w->in->refs[ref].partition].segments;
    const struct ttp_segment *g = segment_at(w->in, ref);
    for (uint32_t i = w->top; i < g->start.frame_count; i++) {
        const struct ttp_frame *frame = &segments->start_frames[g->start.frame_start + i];
        push_frame(w, (struct ttp_symbol){frame->argument, frame->event_class});
    }
}

static void write_head(struct merging *w, const struct ttp_merged_series *one)
{
    const struct ttp_segment *g = segment_at(w->in, one->first_ref);
    const struct ttp_merged_source *source = &w->in->sources[w->in->refs[one->first_ref].partition];
    uint32_t exponent = one->in.exponent;
    ttp_encode_number(&w->e, &w->m.exponent, exponent);
    ttp_encode_signed(&w->e, &w->series.first,
                      (int64_t)((uint64_t)ttp_instant_from(g->base_tick, exponent) -
                                (uint64_t)(source->first_tick >> exponent)));
    ttp_encode_number(&w->e, &w->series.count, instants_of(w->in, one, exponent));
    ttp_encode_number(&w->e, &w->series.height, g->start.frame_count);
    w->top = 0;
    open_frames(w, one->first_ref);
    write_frames(w, 0);
    w->low = w->height = w->top;
    w->has_gap = false;
}

static void write_series(struct merging *w, const struct ttp_merged_series *one)
{
    uint32_t end = one->first_ref + one->segment_count;
    write_head(w, one);
    for (uint32_t i = one->first_ref; i < end; i++) {
        open_frames(w, i);
        pass_segment(w, i, one->in.exponent);
    }
    uint32_t kept = write_kept(w);
    ttp_encode_number(&w->e, &w->m.added, segment_at(w->in, end - 1)->end.frame_count - kept);
}

size_t ttp_merged_write(const struct ttp_merged_in *in, const struct ttp_merged_series *series,
                        uint32_t series_count, struct ttp_symbol *stack, uint8_t *out,
                        size_t out_bytes)
{
    struct merging w = {.in = in, .e = ttp_encoder_init(out, out_bytes), .stack = stack};
    ttp_instant_model_init(&w.m);
    ttp_merged_model_init(&w.series);
    for (uint32_t r = 0; r < series_count && !w.e.full; r++) {
        uint32_t refs = ttp_merged_count_of(series, series_count, r, in->ref_count);
        ttp_encode_number(&w.e, &w.series.untold, refs - series[r].segment_count);
        if (series[r].segment_count != 0)
            write_series(&w, &series[r]);
        if (w.instant_count > TTP_INSTANTS_MOST || w.frame_count > TTP_INSTANT_FRAMES_MOST)
            return 0;
    }
    size_t size = ttp_encoder_finish(&w.e);
    return w.e.full ? 0 : size;
}

/* Most segments go on where the stream's segment before, in an earlier partition of the overview,
 * stopped: then a bit says what is open at their start. */
#include "format/container/measures/outlines.h"

#include <string.h>

#include "format/base/coder.h"
#include "format/base/fail.h"
#include "format/base/limits.h"

struct outline_models {
    struct ttp_prob is_wide, goes_on, ends;
    struct ttp_number_model stack, frames, left, added, event_class, frame_stack;
    struct ttp_signed_model argument[TTP_CLASS_COUNT];
    int64_t last[TTP_CLASS_COUNT];
    struct ttp_signed_model base, enter, self, more_self, end_tick;
    struct ttp_number_model calls, sum, rows, site, row_calls, exits;
    struct ttp_signed_model own[2]; /* by whether frames end */
    struct ttp_signed_model most, least;
};

static void models_init(struct outline_models *m)
{
    struct ttp_number_model *numbers[] = {&m->stack,       &m->frames, &m->left,        &m->added,
                                          &m->event_class, &m->sum,    &m->frame_stack, &m->calls,
                                          &m->rows,        &m->site,   &m->row_calls,   &m->exits};
    struct ttp_signed_model *signeds[] = {&m->base,      &m->enter,    &m->self,
                                          &m->more_self, &m->end_tick, &m->own[0],
                                          &m->own[1],    &m->most,     &m->least};
    ttp_prob_init(&m->is_wide, 1, TTP_PROB_HALF);
    ttp_prob_init(&m->goes_on, 1, TTP_PROB_HALF);
    ttp_prob_init(&m->ends, 1, TTP_PROB_HALF);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        ttp_number_init(numbers[i]);
    for (size_t i = 0; i < sizeof signeds / sizeof signeds[0]; i++)
        ttp_signed_init(signeds[i]);
    for (int c = 0; c < TTP_CLASS_COUNT; c++)
        ttp_signed_init(&m->argument[c]);
    memset(m->last, 0, sizeof m->last);
}

static int64_t difference(int64_t to, int64_t from)
{
    return (int64_t)((uint64_t)to - (uint64_t)from);
}

static int64_t sum_of(int64_t a, int64_t b) { return (int64_t)((uint64_t)a + (uint64_t)b); }

/* ---- edges ---- */

/* The frame of a segment's end edge, with what it had for itself up to there. */
static struct ttp_frame end_frame(const struct ttp_segments *s, const struct ttp_segment *g,
                                  uint32_t number)
{
    if (number >= g->kept)
        return s->end_frames[g->end.frame_start + number - g->kept];
    struct ttp_frame f = s->start_frames[g->start.frame_start + number];
    f.self_ticks = f.end_self_ticks;
    return f;
}

static bool goes_on(const struct ttp_outlines *o, const struct ttp_partition_outline *one,
                    const struct ttp_segment *g, const struct ttp_outline_origin *before)
{
    if (before->outline == TTP_OUTLINE_NONE)
        return false;
    const struct ttp_segments *s = &o->each[before->outline].segments;
    const struct ttp_segment *last = &s->segments[before->segment];
    bool same = g->start.stack == last->end.stack &&
                g->start.frame_count == last->end.frame_count &&
                (!o->timed || g->base_tick == last->end_tick);
    for (uint32_t i = 0; same && i < g->start.frame_count; i++) {
        const struct ttp_frame *f = &one->segments.start_frames[g->start.frame_start + i];
        struct ttp_frame was = end_frame(s, last, i);
        same = f->event_class == was.event_class && f->argument == was.argument &&
               f->stack == was.stack &&
               (!o->timed || (f->enter_tick == was.enter_tick && f->self_ticks == was.self_ticks));
    }
    return same;
}

static void write_frame(struct ttp_encoder *e, struct outline_models *m, const struct ttp_frame *f,
                        bool timed, int64_t *enter)
{
    ttp_encode_number(e, &m->event_class, f->event_class);
    ttp_encode_signed(e, &m->argument[f->event_class], f->argument - m->last[f->event_class]);
    ttp_encode_number(e, &m->frame_stack, f->stack);
    m->last[f->event_class] = f->argument;
    if (!timed)
        return;
    ttp_encode_signed(e, &m->enter, difference(f->enter_tick, *enter));
    ttp_encode_signed(e, &m->self, f->self_ticks);
    *enter = f->enter_tick;
}

static void write_segment(struct ttp_encoder *e, struct outline_models *m,
                          const struct ttp_outlines *o, const struct ttp_partition_outline *one,
                          const struct ttp_segment *g, const struct ttp_outline_origin *before)
{
    const struct ttp_frame *start = one->segments.start_frames + g->start.frame_start;
    bool same = goes_on(o, one, g, before);
    uint32_t added = g->end.frame_count - g->kept;
    int64_t enter = g->base_tick;
    ttp_encode_bit(e, &m->goes_on, same);
    if (!same) {
        ttp_encode_number(e, &m->stack, g->start.stack);
        ttp_encode_number(e, &m->frames, g->start.frame_count);
        if (o->timed)
            ttp_encode_signed(e, &m->base, difference(g->base_tick, one->first_tick));
        for (uint32_t i = 0; i < g->start.frame_count; i++)
            write_frame(e, m, &start[i], o->timed, &enter);
    }
    if (o->timed)
        ttp_encode_signed(e, &m->end_tick, difference(g->end_tick, g->base_tick));
    ttp_encode_number(e, &m->stack, g->end.stack);
    ttp_encode_number(e, &m->left, g->start.frame_count - g->kept);
    ttp_encode_number(e, &m->added, added);
    for (uint32_t i = 0; o->timed && i < g->kept; i++)
        ttp_encode_signed(e, &m->more_self,
                          difference(start[i].end_self_ticks, start[i].self_ticks));
    enter = g->base_tick;
    for (uint32_t i = 0; i < added; i++)
        write_frame(e, m, &one->segments.end_frames[g->end.frame_start + i], o->timed, &enter);
}

/* ---- rows ---- */

static void mark(const struct ttp_measure *rows, uint32_t row_count, uint32_t site, uint8_t *marks)
{
    uint32_t low = 0, high = row_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (rows[middle].site < site)
            low = middle + 1;
        else
            high = middle;
    }
    if (low < row_count && rows[low].site == site)
        marks[low] = rows[low].exit_count != 0;
}

/* Rows of functions of which a frame ends that was open at a start edge. */
static void mark_ending(const struct ttp_segments *s, const struct ttp_measure *rows,
                        uint32_t row_count, uint8_t *marks)
{
    for (uint32_t i = 0; i < s->segment_count; i++) {
        const struct ttp_segment *g = &s->segments[i];
        for (uint32_t k = g->kept; k < g->start.frame_count; k++) {
            const struct ttp_frame *f = &s->start_frames[g->start.frame_start + k];
            if (f->event_class != TTP_CLASS_SIGNAL)
                mark(rows, row_count, f->argument, marks);
        }
    }
}

bool ttp_outline_rows(struct ttp_partition_outline *one, const struct ttp_measure *rows,
                      uint32_t row_count, bool timed, uint8_t *marks)
{
    one->call_count = one->own_sum = 0;
    one->row_count = 0;
    if (row_count != 0)
        memset(marks, 0, row_count);
    if (timed)
        mark_ending(&one->segments, rows, row_count, marks);
    for (uint32_t i = 0; i < row_count; i++) {
        one->call_count += rows[i].call_count;
        if (__builtin_add_overflow(one->own_sum, ttp_outline_weight(&rows[i], timed),
                                   &one->own_sum) ||
            one->own_sum > INT64_MAX || one->call_count > INT64_MAX)
            return false;
    }
    for (uint32_t i = 0; i < row_count; i++) {
        uint64_t weight = ttp_outline_weight(&rows[i], timed);
        if (marks[i] == 0 && (weight == 0 || weight < one->own_sum / TTP_OUTLINE_SHARE))
            continue;
        struct ttp_measure *row = &one->rows[one->row_count++];
        *row = (struct ttp_measure){.site = rows[i].site, .self_ticks = rows[i].self_ticks};
        if (!timed || marks[i] != 0)
            row->call_count = rows[i].call_count;
        if (marks[i] != 0) {
            row->exit_count = rows[i].exit_count;
            row->min_ticks = rows[i].min_ticks;
            row->max_ticks = rows[i].max_ticks;
        }
    }
    return true;
}

static void write_rows(struct ttp_encoder *e, struct outline_models *m,
                       const struct ttp_partition_outline *one, bool timed)
{
    uint32_t next = 0;
    ttp_encode_number(e, &m->calls, one->call_count);
    if (timed)
        ttp_encode_number(e, &m->sum, one->own_sum);
    ttp_encode_number(e, &m->rows, one->row_count);
    for (uint32_t i = 0; i < one->row_count; i++) {
        const struct ttp_measure *row = &one->rows[i];
        ttp_encode_number(e, &m->site, row->site - next);
        next = row->site + 1;
        if (timed)
            ttp_encode_bit(e, &m->ends, row->exit_count != 0);
        ttp_encode_signed(e, &m->own[row->exit_count != 0],
                          timed ? row->self_ticks : (int64_t)row->call_count);
        if (row->exit_count == 0)
            continue;
        ttp_encode_number(e, &m->exits, row->exit_count - 1);
        ttp_encode_number(e, &m->row_calls, row->call_count);
        ttp_encode_signed(e, &m->most, row->max_ticks);
        if (row->exit_count > 1)
            ttp_encode_signed(e, &m->least, difference(row->max_ticks, row->min_ticks));
    }
}

/* ---- writing ---- */

/* As ttp_segments_bound: a number takes at most 252 bytes. */
size_t ttp_outlines_bound(const struct ttp_outlines *in)
{
    return 1024 + (size_t)in->partition_count * 1024 + (size_t)in->segment_count * 1536 +
           ((size_t)in->start_frame_count + in->end_frame_count) * 1280 +
           (size_t)in->row_count * 1536;
}

size_t ttp_outlines_write(const struct ttp_outlines *in, uint8_t *out, size_t out_bytes)
{
    struct outline_models m;
    struct ttp_encoder e = ttp_encoder_init(out, out_bytes);
    const struct ttp_outline_origin *before = in->before;
    models_init(&m);
    ttp_encode_number(&e, &m.frames, in->start_frame_count);
    ttp_encode_number(&e, &m.added, in->end_frame_count);
    ttp_encode_number(&e, &m.rows, in->row_count);
    for (uint32_t i = 0; i < in->partition_count; i++) {
        const struct ttp_partition_outline *one = &in->each[i];
        if (in->timed)
            ttp_encode_bit(&e, &m.is_wide, one->has_wide);
        for (uint32_t s = 0; s < one->segments.segment_count; s++)
            write_segment(&e, &m, in, one, &one->segments.segments[s], before++);
        write_rows(&e, &m, one, in->timed);
    }
    size_t size = ttp_encoder_finish(&e);
    return e.full ? 0 : size;
}

/* ---- reading ---- */

struct outline_reading {
    struct ttp_decoder d;
    struct outline_models m;
    struct ttp_outlines *o;
    uint32_t start_frames, end_frames, rows; /* so many are filled in */
    ttape_error *err;
};

static ttape_status broken(struct outline_reading *r, const char *what)
{
    return ttp_fail(r->err, TTAPE_E_CORRUPT, "F-OVR-09", 0, "%s", what);
}

static ttape_status read_frame(struct outline_reading *r, struct ttp_frame *out, int64_t *enter)
{
    struct outline_models *m = &r->m;
    uint64_t event_class = ttp_decode_number(&r->d, &m->event_class);
    if (event_class >= TTP_CLASS_COUNT || !ttp_class_pushes((uint8_t)event_class))
        return broken(r, "an open frame of an outline is not of a class that opens frames");
    uint64_t value = (uint64_t)m->last[event_class] +
                     (uint64_t)ttp_decode_signed(&r->d, &m->argument[event_class]);
    uint64_t stack = ttp_decode_number(&r->d, &m->frame_stack);
    if (value > UINT32_MAX || stack >= TTP_MAX_STACKS)
        return broken(r, "an open frame of an outline is out of range");
    m->last[event_class] = (int64_t)value;
    *out = (struct ttp_frame){
        .argument = (uint32_t)value, .stack = (uint32_t)stack, .event_class = (uint8_t)event_class};
    if (!r->o->timed)
        return TTAPE_OK;
    *enter = sum_of(*enter, ttp_decode_signed(&r->d, &m->enter));
    out->enter_tick = *enter;
    out->self_ticks = ttp_decode_signed(&r->d, &m->self);
    return TTAPE_OK;
}

/* Where the stream's segment before stopped. */
static ttape_status take_over(struct outline_reading *r, struct ttp_partition_outline *one,
                              struct ttp_segment *g, const struct ttp_outline_origin *before)
{
    if (before->outline == TTP_OUTLINE_NONE)
        return broken(r, "a segment of an outline goes on with none");
    const struct ttp_segments *s = &r->o->each[before->outline].segments;
    const struct ttp_segment *last = &s->segments[before->segment];
    g->start.stack = last->end.stack;
    g->start.frame_count = last->end.frame_count;
    g->base_tick = last->end_tick;
    if (g->start.frame_count > r->o->start_frame_count - r->start_frames)
        return broken(r, "outlines have more open frames than they say");
    for (uint32_t i = 0; i < g->start.frame_count; i++)
        one->segments.start_frames[g->start.frame_start + i] = end_frame(s, last, i);
    return TTAPE_OK;
}

static ttape_status read_start(struct outline_reading *r, struct ttp_partition_outline *one,
                               struct ttp_segment *g)
{
    uint64_t stack = ttp_decode_number(&r->d, &r->m.stack);
    uint64_t frames = ttp_decode_number(&r->d, &r->m.frames);
    if (stack >= TTP_MAX_STACKS || frames > r->o->start_frame_count - r->start_frames)
        return broken(r, "outlines have more open frames than they say");
    g->start.stack = (uint32_t)stack;
    g->start.frame_count = (uint32_t)frames;
    if (r->o->timed)
        g->base_tick = sum_of(one->first_tick, ttp_decode_signed(&r->d, &r->m.base));
    int64_t enter = g->base_tick;
    for (uint32_t i = 0; i < frames; i++)
        TTP_TRY(read_frame(r, &one->segments.start_frames[g->start.frame_start + i], &enter));
    return TTAPE_OK;
}

static ttape_status read_end(struct outline_reading *r, struct ttp_partition_outline *one,
                             struct ttp_segment *g)
{
    struct ttp_frame *start = one->segments.start_frames + g->start.frame_start;
    uint64_t stack = ttp_decode_number(&r->d, &r->m.stack);
    uint64_t left = ttp_decode_number(&r->d, &r->m.left);
    uint64_t added = ttp_decode_number(&r->d, &r->m.added);
    if (stack >= TTP_MAX_STACKS || left > g->start.frame_count ||
        added > r->o->end_frame_count - r->end_frames)
        return broken(r, "outlines have more frames at end edges than they say");
    g->kept = g->start.frame_count - (uint32_t)left;
    g->end.stack = (uint32_t)stack;
    g->end.frame_count = g->kept + (uint32_t)added;
    for (uint32_t i = 0; r->o->timed && i < g->kept; i++)
        start[i].end_self_ticks =
            sum_of(start[i].self_ticks, ttp_decode_signed(&r->d, &r->m.more_self));
    int64_t enter = g->base_tick;
    for (uint32_t i = 0; i < added; i++)
        TTP_TRY(read_frame(r, &one->segments.end_frames[g->end.frame_start + i], &enter));
    r->end_frames += (uint32_t)added;
    one->segments.end_frame_count += (uint32_t)added;
    return TTAPE_OK;
}

static ttape_status read_segment(struct outline_reading *r, struct ttp_partition_outline *one,
                                 struct ttp_segment *g, const struct ttp_outline_origin *before)
{
    g->start = (struct ttp_edge_state){.frame_start = one->segments.start_frame_count};
    g->end = (struct ttp_edge_state){.frame_start = one->segments.end_frame_count};
    g->base_tick = g->end_tick = 0;
    if (ttp_decode_bit(&r->d, &r->m.goes_on))
        TTP_TRY(take_over(r, one, g, before));
    else
        TTP_TRY(read_start(r, one, g));
    r->start_frames += g->start.frame_count;
    one->segments.start_frame_count += g->start.frame_count;
    if (r->o->timed)
        g->end_tick = sum_of(g->base_tick, ttp_decode_signed(&r->d, &r->m.end_tick));
    return read_end(r, one, g);
}

static ttape_status read_row(struct outline_reading *r, uint64_t *next, struct ttp_measure *row)
{
    uint64_t site = ttp_decode_number(&r->d, &r->m.site);
    bool ends = r->o->timed && ttp_decode_bit(&r->d, &r->m.ends);
    int64_t own = ttp_decode_signed(&r->d, &r->m.own[ends]);
    if (site > UINT32_MAX - 1 - *next)
        return broken(r, "a site of an outline is out of range");
    *row = (struct ttp_measure){.site = (uint32_t)(*next + site)};
    *next = row->site + 1ull;
    if (!r->o->timed) {
        row->call_count = (uint64_t)own;
        return own >= 0 ? TTAPE_OK : broken(r, "calls of an outline are out of range");
    }
    row->self_ticks = own;
    if (!ends)
        return TTAPE_OK;
    row->exit_count = ttp_decode_number(&r->d, &r->m.exits) + 1;
    row->call_count = ttp_decode_number(&r->d, &r->m.row_calls);
    row->max_ticks = ttp_decode_signed(&r->d, &r->m.most);
    row->min_ticks = row->max_ticks;
    if (row->exit_count > 1)
        row->min_ticks = difference(row->max_ticks, ttp_decode_signed(&r->d, &r->m.least));
    return TTAPE_OK;
}

static ttape_status read_rows(struct outline_reading *r, struct ttp_partition_outline *one)
{
    uint64_t next = 0;
    one->call_count = ttp_decode_number(&r->d, &r->m.calls);
    one->own_sum = r->o->timed ? ttp_decode_number(&r->d, &r->m.sum) : one->call_count;
    uint64_t rows = ttp_decode_number(&r->d, &r->m.rows);
    if (one->call_count > INT64_MAX || one->own_sum > INT64_MAX || rows > r->o->row_count - r->rows)
        return broken(r, "outlines have more rows or calls than they say");
    one->rows = r->o->rows + r->rows;
    one->row_count = (uint32_t)rows;
    r->rows += (uint32_t)rows;
    for (uint32_t i = 0; i < rows; i++)
        TTP_TRY(read_row(r, &next, &one->rows[i]));
    return TTAPE_OK;
}

static struct outline_reading start_reading(const struct ttp_overview *in, struct ttp_outlines *io,
                                            uint64_t counts[3], ttape_error *err)
{
    struct outline_reading r = {.o = io, .err = err};
    r.d = ttp_decoder_init(in->fields[TTP_OVERVIEW_OUTLINES].data,
                           in->fields[TTP_OVERVIEW_OUTLINES].size_bytes);
    models_init(&r.m);
    counts[0] = ttp_decode_number(&r.d, &r.m.frames);
    counts[1] = ttp_decode_number(&r.d, &r.m.added);
    counts[2] = ttp_decode_number(&r.d, &r.m.rows);
    return r;
}

ttape_status ttp_outlines_count(const struct ttp_overview *in, struct ttp_outlines *io,
                                ttape_error *err)
{
    uint64_t counts[3];
    struct outline_reading r = start_reading(in, io, counts, err);
    for (int i = 0; i < 3; i++)
        if (counts[i] > TTP_OUTLINE_ITEMS || ttp_decoder_cut(&r.d))
            return broken(&r, "outlines have too many frames or rows");
    io->start_frame_count = (uint32_t)counts[0];
    io->end_frame_count = (uint32_t)counts[1];
    io->row_count = (uint32_t)counts[2];
    return TTAPE_OK;
}

ttape_status ttp_outlines_read(const struct ttp_overview *in, struct ttp_outlines *io,
                               ttape_error *err)
{
    uint64_t counts[3]; /* which the caller knows */
    struct outline_reading r = start_reading(in, io, counts, err);
    const struct ttp_outline_origin *before = io->before;
    for (uint32_t i = 0; i < io->partition_count; i++) {
        struct ttp_partition_outline *one = &io->each[i];
        one->has_wide = io->timed && ttp_decode_bit(&r.d, &r.m.is_wide);
        one->segments.start_frames = io->start_frames + r.start_frames;
        one->segments.end_frames = io->end_frames + r.end_frames;
        one->segments.start_frame_count = one->segments.end_frame_count = 0;
        for (uint32_t s = 0; s < one->segments.segment_count; s++)
            TTP_TRY(read_segment(&r, one, &one->segments.segments[s], before++));
        TTP_TRY(read_rows(&r, one));
        if (ttp_decoder_cut(&r.d))
            return broken(&r, "outlines end early");
    }
    if (r.start_frames != io->start_frame_count || r.end_frames != io->end_frame_count ||
        r.rows != io->row_count)
        return broken(&r, "outlines have fewer frames or rows than they say");
    return TTAPE_OK;
}

/* The light sections, and the decoding that all of them need. */
#include "fuzz_recode.h"

#include <string.h>

#include "format/base/bytes.h"
#include "format/chain/chain_decode.h"
#include "format/container/measures/summary.h"
#include "format/order/literal.h"
#include "format/order/raw_order.h"

uint64_t fuzz_odd_number(struct fuzz_random *random, uint64_t was)
{
    static const uint64_t odd[] = {0,          1,          2,         0x7f,          0xff,
                                   0xffff,     1u << 20,   1u << 24,  INT32_MAX,     1ull << 31,
                                   UINT32_MAX, 1ull << 32, INT64_MAX, 1ull << 63,    UINT64_MAX,
                                   6,          8,          255,       UINT64_MAX - 1};
    switch (fuzz_below(random, 4)) {
    case 0: return odd[fuzz_below(random, sizeof odd / sizeof odd[0])];
    case 1: return was + 1;
    case 2: return was - 1;
    default: return was ^ 1ull << fuzz_below(random, 64);
    }
}

/* Numbers the symbols of open frames by first appearance (F-SEG-08). */
static bool give_symbols(struct fuzz_view *v)
{
    const struct ttp_segments *g = &v->segments;
    uint32_t count = 0;
    for (uint32_t i = 0; i < g->start_frame_count; i++) {
        const struct ttp_frame *f = &g->start_frames[i];
        uint32_t at = 0;
        while (at < count && (v->order.symbols[at].argument != f->argument ||
                              v->order.symbols[at].event_class != f->event_class))
            at++;
        if (at == count)
            v->order.symbols[count++] = (struct ttp_symbol){f->argument, f->event_class};
        v->open[i] = at;
        v->open_stack[i] = f->stack;
    }
    return count == v->head.given_count;
}

static bool decode_order(struct fuzz_partition *p, struct fuzz_view *v)
{
    struct fuzz_section *chain = fuzz_section_of(p, TTP_SECTION_CHAIN_HEADER);
    struct fuzz_section *data = fuzz_section_of(p, TTP_SECTION_CHAIN_DATA);
    struct fuzz_section *literal = fuzz_section_of(p, TTP_SECTION_LITERAL_HEADER);
    struct fuzz_section *literal_data = fuzz_section_of(p, TTP_SECTION_LITERAL_DATA);
    struct fuzz_section *raw = fuzz_section_of(p, TTP_SECTION_ORDER_RAW);
    struct ttp_order_out *out = &v->order;
    if (chain != NULL && data != NULL) {
        size_t ws = ttp_chain_decode_workspace(out->event_count, out->symbol_capacity,
                                               v->segments.start_frame_count, NULL);
        return ttp_chain_decode(out, NULL, fuzz_content(chain), fuzz_content(data),
                                fuzz_workspace(ws), NULL) == TTAPE_OK;
    }
    if (literal != NULL && literal_data != NULL) {
        size_t ws = ttp_literal_decode_workspace(out->event_count);
        return ttp_literal_decode(out, fuzz_content(literal), fuzz_content(literal_data),
                                  fuzz_workspace(ws), NULL) == TTAPE_OK;
    }
    return raw != NULL &&
           ttp_raw_order_decode(raw->content.data, raw->content.size, out, NULL) == TTAPE_OK;
}

static void place_segments(struct fuzz_view *v)
{
    uint32_t segments = v->segments.segment_count, frames = v->segments.start_frame_count;
    v->segment_start = fuzz_take((segments + 1) * sizeof(uint32_t));
    v->open_start = fuzz_take((segments + 1) * sizeof(uint32_t));
    v->start_stack = fuzz_take((segments + 1) * sizeof(uint32_t));
    v->open = fuzz_take((frames + 1) * sizeof(uint32_t));
    v->open_stack = fuzz_take((frames + 1) * sizeof(uint32_t));
    for (uint32_t s = 0; s < segments; s++) {
        const struct ttp_segment *g = &v->segments.segments[s];
        v->segment_start[s + 1] = v->segment_start[s] + g->event_count;
        v->open_start[s] = g->start.frame_start;
        v->start_stack[s] = g->start.stack;
    }
    v->open_start[segments] = frames;
}

static bool read_light(struct fuzz_partition *p, struct fuzz_view *v)
{
    const struct fuzz_section *segments = fuzz_section_of(p, TTP_SECTION_SEGMENTS);
    const struct fuzz_section *bases = fuzz_section_of(p, TTP_SECTION_BASES);
    const struct fuzz_section *edges = fuzz_section_of(p, TTP_SECTION_EDGES);
    const struct ttp_partition_head *h = &v->head;
    if (segments == NULL || edges == NULL || (h->resolution_ns != 0 && bases == NULL))
        return false;
    v->segments.segments = fuzz_take(h->segment_count * sizeof(struct ttp_segment));
    v->segments.start_frames = fuzz_take(h->start_frame_count * sizeof(struct ttp_frame));
    v->segments.end_frames = fuzz_take(h->end_frame_count * sizeof(struct ttp_frame));
    return ttp_segments_read(h, segments->content.data, segments->content.size, &v->segments,
                             NULL) == TTAPE_OK &&
           (h->resolution_ns == 0 || ttp_bases_read(h, bases->content.data, bases->content.size,
                                                    &v->segments, NULL) == TTAPE_OK) &&
           ttp_edges_read(h, edges->content.data, edges->content.size, &v->segments, NULL) ==
               TTAPE_OK;
}

bool fuzz_view_open(struct fuzz_partition *p, struct fuzz_view *v)
{
    struct fuzz_bytes payload = fuzz_partition_write(p);
    *v = (struct fuzz_view){.has_light = false};
    if (ttp_partition_head_read(payload.data, payload.size, payload.size, &v->head, NULL) !=
            TTAPE_OK ||
        v->head.event_count > FUZZ_RECODE_EVENTS || v->head.segment_count > FUZZ_RECODE_EVENTS ||
        v->head.start_frame_count > FUZZ_RECODE_EVENTS ||
        v->head.end_frame_count > FUZZ_RECODE_EVENTS || v->head.symbol_count > 65535)
        return false;
    v->has_light = read_light(p, v);
    if (!v->has_light || v->head.model != TTP_NO_MODEL)
        return v->has_light;
    place_segments(v);
    uint32_t symbols = v->head.symbol_count + v->head.start_frame_count;
    v->order = (struct ttp_order_out){.codes = fuzz_take(v->head.event_count * sizeof(uint32_t)),
                                      .symbols = fuzz_take(symbols * sizeof(struct ttp_symbol)),
                                      .segment_start = v->segment_start,
                                      .open_start = v->open_start,
                                      .open = v->open,
                                      .open_stack = v->open_stack,
                                      .start_stack = v->start_stack,
                                      .event_count = v->head.event_count,
                                      .symbol_capacity = v->head.symbol_count,
                                      .given_count = v->head.given_count,
                                      .segment_count = v->head.segment_count};
    v->has_order = give_symbols(v) && decode_order(p, v);
    return true;
}

static void odd32(struct fuzz_random *random, uint32_t *field)
{
    *field = (uint32_t)fuzz_odd_number(random, *field);
}

static void odd64(struct fuzz_random *random, int64_t *field)
{
    *field = (int64_t)fuzz_odd_number(random, (uint64_t)*field);
}

static void change_frame(struct fuzz_random *random, struct ttp_frame *f)
{
    switch (fuzz_below(random, 5)) {
    case 0: odd32(random, &f->argument); break;
    case 1: odd32(random, &f->stack); break;
    case 2: f->event_class = (uint8_t)fuzz_below(random, TTP_CLASS_COUNT); break;
    case 3: odd64(random, &f->enter_tick); break;
    default: odd64(random, &f->self_ticks);
    }
}

/* Counts of frames stay: what is written is found by them. */
static void change_segment(struct fuzz_random *random, struct ttp_segment *g)
{
    int64_t number = (int64_t)g->first_event;
    switch (fuzz_below(random, 11)) {
    case 0: odd32(random, &g->stream); break;
    case 1: odd32(random, &g->event_count); break;
    case 2: odd64(random, &number); break;
    case 3: odd64(random, &g->base_tick); break;
    case 4: odd64(random, &g->end_tick); break;
    case 5: odd32(random, &g->min_depth); break;
    case 6: odd32(random, &g->start.stack); break;
    case 7: odd32(random, &g->start.unknown_depth); break;
    case 8: odd32(random, &g->end.unknown_depth); break;
    case 9: odd32(random, &g->end.stack); break;
    default: g->start.depth_offset = (int32_t)fuzz_odd_number(random, 0);
    }
    g->first_event = (uint64_t)number;
}

static bool put_section(struct fuzz_partition *p, uint16_t kind, const uint8_t *data, size_t size)
{
    struct fuzz_section *s = fuzz_section_of(p, kind);
    if (s == NULL || (size == 0 && kind != TTP_SECTION_SEGMENTS))
        return s != NULL;
    s->content = fuzz_copy(data, size);
    return true;
}

bool fuzz_recode_light(struct fuzz_partition *p, struct fuzz_random *random)
{
    struct fuzz_view v;
    if (!fuzz_view_open(p, &v))
        return false;
    struct ttp_segments *g = &v.segments;
    uint32_t which = fuzz_below(random, 3);
    if (which == 1 && g->start_frame_count > 0)
        change_frame(random, &g->start_frames[fuzz_below(random, g->start_frame_count)]);
    else if (which == 2 && g->end_frame_count > 0)
        change_frame(random, &g->end_frames[fuzz_below(random, g->end_frame_count)]);
    else
        change_segment(random, &g->segments[fuzz_below(random, g->segment_count)]);
    bool timed = v.head.resolution_ns != 0;
    size_t bound = ttp_segments_bound(g);
    uint8_t *room = fuzz_take(bound);
    put_section(p, TTP_SECTION_SEGMENTS, room, ttp_segments_write(g, room, bound));
    if (timed)
        put_section(p, TTP_SECTION_BASES, room, ttp_bases_write(g, v.head.first_tick, room, bound));
    return put_section(p, TTP_SECTION_EDGES, room, ttp_edges_write(g, timed, room, bound));
}

static void change_row(struct fuzz_random *random, struct ttp_measure *row)
{
    int64_t *ticks[] = {&row->self_ticks, &row->total_ticks, &row->min_ticks, &row->max_ticks};
    uint64_t *numbers[] = {&row->call_count, &row->exit_count, &row->squares.high,
                           &row->squares.low};
    uint32_t which = fuzz_below(random, 9);
    if (which == 8)
        odd32(random, &row->site);
    else if (which < 4)
        odd64(random, ticks[which]);
    else
        *numbers[which - 4] = fuzz_odd_number(random, *numbers[which - 4]) & INT64_MAX;
}

bool fuzz_recode_summary(struct fuzz_partition *p, struct fuzz_random *random)
{
    struct fuzz_section *s = fuzz_section_of(p, TTP_SECTION_SUMMARY);
    bool timed = ttp_load64(p->head + TTP_HEAD_RESOLUTION_AT) != 0;
    uint32_t count;
    if (s == NULL ||
        ttp_summary_count(s->content.data, s->content.size, &count, NULL) != TTAPE_OK ||
        count == 0 || count > FUZZ_RECODE_EVENTS)
        return false;
    struct ttp_measure *rows = fuzz_take(count * sizeof *rows);
    if (ttp_summary_read(s->content.data, s->content.size, timed, rows, count, NULL) != TTAPE_OK)
        return false;
    if (fuzz_below(random, 8) == 0)
        count--;
    else
        change_row(random, &rows[fuzz_below(random, count)]);
    size_t bound = ttp_summary_bound(count);
    uint8_t *room = fuzz_take(bound);
    s->content = fuzz_copy(room, ttp_summary_write(rows, count, timed, room, bound));
    return true;
}

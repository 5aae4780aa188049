/* Order and times, decoded, changed, encoded. */
#include <string.h>

#include "format/chain/chain_encode.h"
#include "format/order/literal.h"
#include "format/order/order_check.h"
#include "format/order/raw_order.h"
#include "format/times/raw_times.h"
#include "format/times/time_mix.h"
#include "format/times/time_static.h"
#include "fuzz_recode.h"

static void drop(struct fuzz_partition *p, uint16_t first, uint16_t last)
{
    for (uint16_t kind = first; kind <= last; kind++)
        fuzz_section_drop(p, fuzz_section_of(p, kind));
}

static void put(struct fuzz_partition *p, uint16_t kind, const uint8_t *data, size_t size,
                bool packed)
{
    struct fuzz_section *s = fuzz_section_make(p, kind);
    if (s == NULL)
        return;
    s->content = fuzz_copy(data, size);
    s->packed = packed;
    s->flags = (uint16_t)(packed ? TTP_FLAG_ZSTD : 0);
}

static struct ttp_order order_in(const struct fuzz_view *v)
{
    const struct ttp_order_out *o = &v->order;
    return (struct ttp_order){.codes = o->codes,
                              .symbols = o->symbols,
                              .segment_start = o->segment_start,
                              .open_start = o->open_start,
                              .open = o->open,
                              .open_stack = o->open_stack,
                              .start_stack = o->start_stack,
                              .event_count = o->event_count,
                              .symbol_count = o->symbol_count,
                              .given_count = o->given_count,
                              .segment_count = o->segment_count};
}

/* Encoders trust what they get: only orders that the stacks allow go to the full form. */
static bool is_sound(const struct fuzz_view *v)
{
    uint32_t most = 0;
    for (uint32_t s = 0; s < v->order.segment_count; s++) {
        uint32_t open = v->open_start[s + 1] - v->open_start[s];
        most = open > most ? open : most;
    }
    size_t ws = ttp_order_check_workspace(v->order.event_count, most);
    return ttp_order_check(&v->order, fuzz_take(ws), ws, NULL) == TTAPE_OK;
}

static bool put_order(struct fuzz_partition *p, const struct fuzz_view *v,
                      struct fuzz_random *random)
{
    struct ttp_order in = order_in(v);
    size_t capacity = ttp_raw_order_bound(in.event_count, in.symbol_count) + 4096;
    struct ttp_buffer header = fuzz_buffer(capacity), data = fuzz_buffer(capacity);
    uint32_t form = fuzz_below(random, 3);
    if (form == 0 && is_sound(v)) {
        uint32_t open = v->segments.start_frame_count;
        size_t ws = ttp_chain_encode_workspace(in.event_count, in.symbol_count, in.segment_count,
                                               open, NULL);
        if (ttp_chain_encode(&in, NULL, fuzz_workspace(ws), &header, &data, NULL, NULL) != TTAPE_OK)
            return false;
    } else if (form == 1) {
        size_t ws = ttp_literal_encode_workspace(in.event_count, in.symbol_count);
        struct ttp_literal_options options = {2, 1 + fuzz_below(random, 1000)};
        if (ttp_literal_encode(&in, &options, fuzz_workspace(ws), &header, &data, NULL) != TTAPE_OK)
            return false;
    } else {
        form = 2;
        if (ttp_raw_order_encode(&in, header.data, capacity, &header.size, NULL) != TTAPE_OK)
            return false;
    }
    uint16_t kind = (uint16_t)(TTP_SECTION_CHAIN_HEADER + 2 * form);
    drop(p, TTP_SECTION_CHAIN_HEADER, TTP_SECTION_ORDER_RAW);
    put(p, kind, header.data, header.size, form != 0 && fuzz_below(random, 2));
    if (form < 2)
        put(p, (uint16_t)(kind + 1), data.data, data.size, form != 0 && fuzz_below(random, 2));
    return true;
}

bool fuzz_recode_order(struct fuzz_partition *p, struct fuzz_random *random)
{
    struct fuzz_view v;
    if (!fuzz_view_open(p, &v) || !v.has_order)
        return false;
    struct ttp_order_out *o = &v.order;
    uint32_t at = fuzz_below(random, o->event_count), other = fuzz_below(random, o->event_count);
    uint32_t code = o->codes[at], fresh = o->symbol_count - o->given_count;
    switch (fuzz_below(random, 6)) {
    case 0: o->codes[at] = fuzz_below(random, 2 * o->symbol_count); break;
    case 1: o->codes[at] ^= 1; break;
    case 2:
        o->codes[at] = o->codes[other];
        o->codes[other] = code;
        break;
    case 3: /* a run of one event, for the repeats */
        while (at < o->event_count && fuzz_below(random, 20) != 0)
            o->codes[at++] = code;
        break;
    case 4:
        if (fresh > 0)
            o->symbols[o->given_count + fuzz_below(random, fresh)].event_class =
                (uint8_t)fuzz_below(random, TTP_CLASS_COUNT);
        break;
    default:
        if (fresh > 0) {
            struct ttp_symbol *s = &o->symbols[o->given_count + fuzz_below(random, fresh)];
            s->argument = (uint32_t)fuzz_odd_number(random, s->argument);
        }
    }
    return put_order(p, &v, random);
}

static bool decode_times(struct fuzz_partition *p, struct ttp_times *t)
{
    struct fuzz_section *fixed = fuzz_section_of(p, TTP_SECTION_TIMES_STATIC);
    struct fuzz_section *mix = fuzz_section_of(p, TTP_SECTION_TIMES_MIX);
    struct fuzz_section *phase = fuzz_section_of(p, TTP_SECTION_TIMES_PHASE);
    struct fuzz_section *raw = fuzz_section_of(p, TTP_SECTION_TIMES_RAW);
    if (fixed != NULL) {
        size_t ws = ttp_time_static_decode_workspace(t->event_count, t->symbol_count);
        return ttp_time_static_decode(t, 0, UINT32_MAX, fuzz_content(fixed), fuzz_workspace(ws),
                                      NULL) == TTAPE_OK;
    }
    if (mix != NULL) {
        size_t ws = ttp_time_mix_decode_workspace(t->event_count, t->symbol_count);
        return ttp_time_mix_decode(t, 0, UINT32_MAX, fuzz_content(mix), fuzz_workspace(ws), NULL) ==
               TTAPE_OK;
    }
    if (phase != NULL) {
        size_t ws = ttp_time_phase_decode_workspace(t->event_count, t->symbol_count);
        return ttp_time_phase_decode(t, 0, UINT32_MAX, fuzz_content(phase), fuzz_workspace(ws),
                                     NULL) == TTAPE_OK;
    }
    return raw != NULL &&
           ttp_raw_times_decode(raw->content.data, raw->content.size, t, NULL) == TTAPE_OK;
}

static bool put_times(struct fuzz_partition *p, const struct ttp_times *t,
                      struct fuzz_random *random)
{
    uint32_t form = fuzz_below(random, 3);
    size_t bound = form == 0   ? ttp_time_static_encode_bound(t->event_count)
                   : form == 1 ? ttp_time_mix_encode_bound(t->event_count)
                               : ttp_raw_times_bound(t->event_count);
    size_t ws = form == 0   ? ttp_time_static_encode_workspace(t->event_count)
                : form == 1 ? ttp_time_mix_encode_workspace(t->event_count)
                            : 0;
    struct ttp_buffer out = fuzz_buffer(bound);
    struct ttp_workspace workspace = fuzz_workspace(ws);
    ttape_status status = form == 0   ? ttp_time_static_encode(t, workspace, &out, NULL)
                          : form == 1 ? ttp_time_mix_encode(t, workspace, &out, NULL)
                                      : ttp_raw_times_encode(t, out.data, bound, &out.size, NULL);
    if (status != TTAPE_OK)
        return false;
    drop(p, TTP_SECTION_TIMES_STATIC, TTP_SECTION_TIMES_PHASE);
    put(p, (uint16_t)(TTP_SECTION_TIMES_STATIC + form), out.data, out.size, form == 2);
    return true;
}

bool fuzz_recode_times(struct fuzz_partition *p, struct fuzz_random *random)
{
    struct fuzz_view v;
    if (!fuzz_view_open(p, &v) || !v.has_order || v.head.resolution_ns == 0)
        return false;
    struct ttp_times t = {.codes = v.order.codes,
                          .segment_start = v.segment_start,
                          .delta = fuzz_take(v.head.event_count * sizeof(uint32_t)),
                          .wide = fuzz_take((v.head.event_count + 1) * sizeof(int64_t)),
                          .event_count = v.head.event_count,
                          .segment_count = v.head.segment_count,
                          .symbol_count = v.order.symbol_count,
                          .wide_capacity = v.head.wide_count};
    if (!decode_times(p, &t))
        return false;
    uint32_t at = fuzz_below(random, t.event_count);
    if (t.wide_count > 0 && fuzz_below(random, 4) == 0) {
        int64_t *wide = &t.wide[fuzz_below(random, t.wide_count)];
        *wide = (int64_t)fuzz_odd_number(random, (uint64_t)*wide);
    } else if (t.delta[at] != TTP_DELTA_WIDE) {
        uint32_t delta = (uint32_t)fuzz_odd_number(random, t.delta[at]);
        t.delta[at] = delta == TTP_DELTA_WIDE ? 0 : delta;
    }
    return put_times(p, &t, random);
}

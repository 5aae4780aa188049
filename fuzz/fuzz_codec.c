/* The frame around one codec. Arrays are blocks of their own, so that a sanitizer sees one item
 * over. */
#include "fuzz_codec.h"

#include <string.h>

#include "format/chain/chain_prime.h"
#include "format/order/order_check.h"

static void make_segments(struct fuzz_codec *c, uint32_t segments)
{
    struct ttp_order_out *o = &c->order;
    uint32_t *start = fuzz_take((segments + 1) * sizeof *start);
    uint32_t *open_start = fuzz_take((segments + 1) * sizeof *open_start);
    for (uint32_t s = 0; s <= segments; s++) {
        start[s] = (uint32_t)((uint64_t)o->event_count * s / segments);
        open_start[s] = (uint32_t)((uint64_t)c->frame_count * s / segments);
    }
    o->segment_start = start;
    o->open_start = open_start;
    o->start_stack = fuzz_take(segments * sizeof(uint32_t));
    o->segment_count = segments;
}

/* Frame i is of symbol i while there are new ones, on stack i % 3. */
static void make_frames(struct fuzz_codec *c)
{
    static const uint8_t classes[] = {TTP_CLASS_ENTER, TTP_CLASS_OPEN, TTP_CLASS_SIGNAL};
    struct ttp_order_out *o = &c->order;
    uint32_t *open = fuzz_take(c->frame_count * sizeof *open);
    uint32_t *stack = fuzz_take(c->frame_count * sizeof *stack);
    for (uint32_t i = 0; i < c->frame_count; i++) {
        open[i] = i % o->given_count;
        stack[i] = i % 3;
    }
    for (uint32_t i = 0; i < o->given_count; i++)
        o->symbols[i] = (struct ttp_symbol){i, classes[i % 3]};
    o->open = open;
    o->open_stack = stack;
}

struct ttp_order_out fuzz_codec_order(const struct fuzz_codec *c)
{
    struct ttp_order_out o = c->order;
    o.codes = fuzz_take(o.event_count * sizeof *o.codes);
    o.symbols = fuzz_take(o.symbol_capacity * sizeof *o.symbols);
    if (o.given_count > 0)
        memcpy(o.symbols, c->order.symbols, o.given_count * sizeof *o.symbols);
    o.symbol_count = 0;
    return o;
}

struct ttp_times fuzz_codec_times(const struct fuzz_codec *c)
{
    struct ttp_times t = c->times;
    t.delta = fuzz_take(t.event_count * sizeof *t.delta);
    t.wide = fuzz_take(t.wide_capacity * sizeof *t.wide);
    t.wide_count = 0;
    return t;
}

/* Codes below 2 * symbols, from the input, over and over. */
static void make_codes(struct fuzz_codec *c, struct fuzz_input *in, uint32_t code_count)
{
    struct ttp_order_out *o = &c->order;
    for (uint32_t i = 0; i < o->event_count; i++)
        o->codes[i] = i < code_count    ? fuzz_number(in, 2)
                      : code_count == 0 ? 0
                                        : o->codes[i - code_count];
    for (uint32_t i = 0; i < o->event_count; i++)
        o->codes[i] %= 2 * o->symbol_capacity;
}

void fuzz_codec_open(struct fuzz_codec *c, struct fuzz_input in, uint32_t most_events)
{
    *c = (struct fuzz_codec){.frame_count = 0};
    struct ttp_order_out *o = &c->order;
    o->event_count = 1 + fuzz_number(&in, 2) % most_events;
    uint32_t segments = 1 + fuzz_number(&in, 1);
    c->frame_count = fuzz_number(&in, 1);
    o->given_count = fuzz_number(&in, 1);
    o->given_count = o->given_count < c->frame_count ? o->given_count : c->frame_count;
    c->frame_count = o->given_count == 0 ? 0 : c->frame_count;
    o->symbol_capacity = o->given_count + fuzz_number(&in, 2);
    o->symbol_capacity += o->symbol_capacity == 0;
    size_t first = fuzz_number(&in, 2);
    uint32_t wide = fuzz_number(&in, 2);
    c->flags = fuzz_number(&in, 1);
    uint32_t code_count = fuzz_number(&in, 2);
    (void)fuzz_number(&in, 2);
    make_segments(c, segments < o->event_count ? segments : o->event_count);
    o->codes = fuzz_take(o->event_count * sizeof *o->codes);
    o->symbols = fuzz_take(o->symbol_capacity * sizeof *o->symbols);
    make_frames(c);
    make_codes(c, &in, code_count);
    c->times = (struct ttp_times){.codes = o->codes,
                                  .segment_start = o->segment_start,
                                  .event_count = o->event_count,
                                  .segment_count = o->segment_count,
                                  .symbol_count = o->symbol_capacity,
                                  .wide_capacity = wide};
    c->sections[0] = fuzz_part(&in, first);
    c->sections[1] = in;
}

struct ttp_order fuzz_codec_encodable(const struct ttp_order_out *o)
{
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

bool fuzz_codec_is_sound(const struct fuzz_codec *c, const struct ttp_order_out *order)
{
    ttape_error err = {0};
    size_t ws = ttp_order_check_workspace(order->event_count, c->frame_count);
    ttape_status status = ttp_order_check(order, fuzz_take(ws), ws, &err);
    if (status != TTAPE_OK)
        fuzz_require_error(status, &err, SIZE_MAX);
    return status == TTAPE_OK;
}

void fuzz_codec_require_same_order(const struct ttp_order_out *one, const struct ttp_order_out *two)
{
    FUZZ_REQUIRE(one->symbol_count == two->symbol_count);
    for (uint32_t i = 0; i < one->event_count; i++)
        FUZZ_REQUIRE(one->codes[i] == two->codes[i]);
    for (uint32_t i = 0; i < one->symbol_count; i++)
        FUZZ_REQUIRE(one->symbols[i].argument == two->symbols[i].argument &&
                     one->symbols[i].event_class == two->symbols[i].event_class);
}

void fuzz_require_error(ttape_status status, const ttape_error *err, size_t size_bytes)
{
    FUZZ_REQUIRE(status >= TTAPE_E_TRUNCATED && status == err->status);
    FUZZ_REQUIRE(err->message[0] != '\0' && (status == TTAPE_E_LIMIT || err->rule[0] != '\0'));
    FUZZ_REQUIRE(err->offset == TTAPE_ERROR_NO_OFFSET || err->offset <= size_bytes);
}

/* ---- models ---- */

struct ttp_order_out fuzz_codec_primed(const struct fuzz_codec *c,
                                       const struct ttp_chain_primer *primer)
{
    struct fuzz_codec from = *c;
    from.order.given_count = 0;
    from.order.symbol_capacity += primer->symbol_count;
    struct ttp_order_out order = fuzz_codec_order(&from);
    order.given_count = primer->symbol_count;
    for (uint32_t i = 0; i < primer->symbol_count; i++)
        order.symbols[i] = ttp_chain_primer_symbols(primer)[i];
    return order;
}

struct ttp_chain_primer *fuzz_codec_prime(struct fuzz_codec *c)
{
    struct ttp_order_out order = fuzz_codec_order(c);
    uint32_t events = order.event_count, symbols = order.symbol_capacity;
    struct ttp_workspace ws =
        fuzz_workspace(ttp_chain_prime_workspace(events, symbols, c->frame_count));
    struct fuzz_input *s = c->sections, data = fuzz_part(&s[1], s[1].size / 2);
    struct ttp_buffer primer = fuzz_buffer(ttp_chain_prime_capacity(events, symbols));
    ttape_status status =
        ttp_chain_prime(&order, fuzz_bytes_of(s[0]), fuzz_bytes_of(data), ws, &primer, NULL);
    return status == TTAPE_OK ? (void *)primer.data : NULL;
}

/* ---- times ---- */

static void require_blocks(const struct fuzz_times_form *form, const struct fuzz_codec *c,
                           const struct ttp_times *whole, struct ttp_workspace ws)
{
    uint32_t events = whole->event_count, wide = 0;
    uint32_t blocks = (events + TTP_TIME_BLOCK_EVENTS - 1) / TTP_TIME_BLOCK_EVENTS;
    struct fuzz_input s = c->sections[0];
    for (uint32_t b = 0; b < blocks; b++) {
        struct ttp_times one = fuzz_codec_times(c);
        uint32_t first = b * TTP_TIME_BLOCK_EVENTS, end = first + TTP_TIME_BLOCK_EVENTS;
        end = end < events ? end : events;
        FUZZ_REQUIRE(form->decode(&one, b, 1, fuzz_bytes_of(s), ws, NULL) == TTAPE_OK);
        for (uint32_t i = first; i < end; i++)
            FUZZ_REQUIRE(one.delta[i] == whole->delta[i]);
        for (uint32_t i = 0; i < one.wide_count; i++)
            FUZZ_REQUIRE(one.wide[i] == whole->wide[wide + i]);
        wide += one.wide_count;
    }
    FUZZ_REQUIRE(wide == whole->wide_count);
}

static void require_encodable(const struct fuzz_times_form *form, const struct fuzz_codec *c,
                              const struct ttp_times *whole, struct ttp_workspace ws)
{
    size_t room = form->encode_workspace(whole->event_count);
    struct ttp_buffer out = fuzz_buffer(form->encode_bound(whole->event_count));
    struct ttp_times again = fuzz_codec_times(c);
    ttape_status status = form->encode(whole, fuzz_workspace(room), &out, NULL);
    FUZZ_REQUIRE(status == TTAPE_OK || status == TTAPE_E_LIMIT);
    if (status != TTAPE_OK)
        return;
    FUZZ_REQUIRE(form->decode(&again, 0, UINT32_MAX, fuzz_written(&out), ws, NULL) == TTAPE_OK);
    FUZZ_REQUIRE(again.wide_count == whole->wide_count);
    FUZZ_REQUIRE(memcmp(again.delta, whole->delta, whole->event_count * sizeof *whole->delta) == 0);
    FUZZ_REQUIRE(again.wide_count == 0 ||
                 memcmp(again.wide, whole->wide, whole->wide_count * sizeof *whole->wide) == 0);
}

void fuzz_times(const struct fuzz_times_form *form, const uint8_t *data, size_t size)
{
    struct fuzz_codec c;
    ttape_error err = {0};
    fuzz_codec_open(&c, (struct fuzz_input){data, size}, form->most_events);
    struct fuzz_input s = c.sections[0];
    struct ttp_times whole = fuzz_codec_times(&c);
    uint32_t blocks = (whole.event_count + TTP_TIME_BLOCK_EVENTS - 1) / TTP_TIME_BLOCK_EVENTS;
    int64_t *ticks = fuzz_take(blocks * sizeof *ticks);
    struct ttp_workspace ws =
        fuzz_workspace(form->decode_workspace(whole.event_count, whole.symbol_count));
    ttape_status directory = form->directory(whole.event_count, ticks, s.data, s.size, NULL);
    ttape_status status = form->decode(&whole, 0, UINT32_MAX, fuzz_bytes_of(s), ws, &err);
    if (status == TTAPE_OK) {
        FUZZ_REQUIRE(directory == TTAPE_OK && whole.wide_count <= whole.wide_capacity);
        require_blocks(form, &c, &whole, ws);
        if (c.flags & 1)
            require_encodable(form, &c, &whole, ws);
    } else {
        fuzz_require_error(status, &err, s.size);
    }
    fuzz_release_all();
}

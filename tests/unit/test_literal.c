/* The literal form of order: round trips, the specification's bytes, and every kind of damage. */
#include <stdio.h>

#include "literal_fixture.h"
#include "tests/asserts.h"

struct sections {
    uint8_t *header, *data;
    size_t header_bytes, data_bytes;
};

/* Exact-size copies, so that a sanitizer sees a byte over. The workspace is misaligned on purpose.
 */
static struct sections encode(const struct ttp_order *in, const struct ttp_literal_options *opt)
{
    struct sections s;
    ttape_error err;
    size_t ws_bytes = ttp_literal_encode_workspace(in->event_count, in->symbol_count);
    size_t header_room = 1000 + (size_t)in->symbol_count * 6 + (size_t)in->event_count * 3;
    size_t data_room = 1000 + (size_t)in->event_count * 6;
    uint8_t *ws = malloc(ws_bytes + 1), *header = malloc(header_room), *data = malloc(data_room);

    memset(ws, 0xa5, ws_bytes + 1);
    struct ttp_buffer head = {header, header_room, 0}, rest = {data, data_room, 0};
    ck_assert_int_eq(
        ttp_literal_encode(in, opt, (struct ttp_workspace){ws + 1, ws_bytes}, &head, &rest, &err),
        TTAPE_OK);
    s.header_bytes = head.size;
    s.data_bytes = rest.size;
    s.header = malloc(s.header_bytes + 1);
    s.data = malloc(s.data_bytes + 1);
    memcpy(s.header, header, s.header_bytes);
    memcpy(s.data, data, s.data_bytes);
    free(ws);
    free(header);
    free(data);
    return s;
}

static void sections_free(struct sections *s)
{
    free(s->header);
    free(s->data);
}

static ttape_status decode(const uint8_t *header, size_t header_bytes, const uint8_t *data,
                           size_t data_bytes, struct ttp_order_out *out, ttape_error *err)
{
    size_t ws_bytes = ttp_literal_decode_workspace(out->event_count);
    uint8_t *ws = malloc(ws_bytes + 1);
    ttape_status status = ttp_literal_decode(out, (struct ttp_bytes){header, header_bytes},
                                             (struct ttp_bytes){data, data_bytes},
                                             (struct ttp_workspace){ws + 1, ws_bytes}, err);
    free(ws);
    return status;
}

static void assert_round_trip(const struct ttp_order *in, const struct ttp_literal_options *opt)
{
    struct sections s = encode(in, opt);
    struct ttp_order_out out = ttest_out_new(in);
    ttape_error err = {.message = ""};

    ck_assert_msg(decode(s.header, s.header_bytes, s.data, s.data_bytes, &out, &err) == TTAPE_OK,
                  "%s %s", err.rule, err.message);
    ck_assert(ttest_out_equal(&out, in));
    ck_assert_msg(ttest_check(&out, &err) == TTAPE_OK, "%s %s", err.rule, err.message);
    ttest_out_free(&out);
    sections_free(&s);
}

START_TEST(random_orders_come_back)
{
    static const uint32_t events[] = {0, 1, 2, 3, 7, 50, 400, 6000};
    static const struct ttp_literal_options options[] = {{0, 0},   {1, 1},    {2, 300},
                                                         {4, 900}, {2, 5000}, {UINT32_MAX, 1}};
    for (uint32_t e = 0; e < sizeof events / sizeof *events; e++)
        for (uint32_t o = 0; o < sizeof options / sizeof *options; o++)
            for (uint32_t segments = 1; segments <= 33; segments += 8) {
                struct ttest_order *order =
                    ttest_order_new(e * 100 + o, events[e], segments, o % 2 ? 300 : 0);
                assert_round_trip(&order->view, &options[o]);
                ttest_order_free(order);
            }
}
END_TEST

START_TEST(no_segments_come_back)
{
    struct ttest_order *order = ttest_order_new(1, 0, 0, 0);
    assert_round_trip(&order->view, NULL);
    ttest_order_free(order);
}
END_TEST

/* One leaf for ever, and loops of one to five events whose last round is cut: a few bytes each. */
START_TEST(loops_cost_a_few_bytes)
{
    enum { EVENTS = 100000 };
    static uint32_t codes[EVENTS];
    static const struct ttp_symbol symbols[5] = {{1, TTP_CLASS_LEAF},
                                                 {2, TTP_CLASS_LEAF},
                                                 {3, TTP_CLASS_LEAF},
                                                 {4, TTP_CLASS_GAP},
                                                 {5, TTP_CLASS_LEAF}};
    static const uint32_t segment_start[2] = {0, EVENTS}, nothing[2] = {0, 0};
    for (uint32_t period = 1; period <= 5; period++) {
        struct ttp_order in = {codes,   symbols, segment_start, nothing, NULL, NULL,
                               nothing, EVENTS,  period,        0,       1,    0};
        for (uint32_t i = 0; i < EVENTS; i++)
            codes[i] = i % period << 1;
        assert_round_trip(&in, NULL);
        struct sections s = encode(&in, NULL);
        ck_assert_uint_le(s.header_bytes + s.data_bytes, 50);
        sections_free(&s);
    }
}
END_TEST

static struct ttest_order *example(void)
{
    struct ttest_order *o = ttest_order_new(0, 82, 1, 0);
    memset(o->open_start, 0, sizeof o->open_start);
    o->start_stack[0] = 0;
    o->symbols[0] = (struct ttp_symbol){10, TTP_CLASS_ENTER};
    o->symbols[1] = (struct ttp_symbol){11, TTP_CLASS_ENTER};
    o->view.symbol_count = 2;
    o->view.given_count = 0;
    for (uint32_t i = 1; i < 81; i++)
        o->codes[i] = i % 2 ? 2 : 3;
    o->codes[0] = 0;
    o->codes[81] = 1;
    return o;
}

static const uint8_t example_header[] = {2, 0, 0, 0x14, 2, 1, 2, 2, 2};
static const uint8_t example_data[] = {5, 0, 0xff, 0x47, 7};

/* The worked example of spec/order-literal.md: O-LIT-01, O-LIT-07, O-LIT-10, O-LIT-13. */
START_TEST(worked_example_byte_for_byte)
{
    struct ttest_order *o = example();
    struct sections s = encode(&o->view, NULL);

    ck_assert_uint_eq(s.header_bytes, sizeof example_header);
    ck_assert_mem_eq(s.header, example_header, sizeof example_header);
    ck_assert_uint_eq(s.data_bytes, sizeof example_data);
    ck_assert_mem_eq(s.data, example_data, sizeof example_data);
    assert_round_trip(&o->view, NULL);
    sections_free(&s);
    ttest_order_free(o);
}
END_TEST

START_TEST(worked_example_leaves_by_bits)
{
    static const uint8_t data[] = {5, 0, 0x80, 0, 0};
    static const uint32_t wanted[] = {0, 2, 3, 2}, segment_start[] = {0, 4}, nothing[2] = {0, 0};
    uint32_t codes[4];
    struct ttp_symbol symbols[2];
    struct ttp_order_out out = {
        codes, symbols, segment_start, nothing, NULL, NULL, nothing, 4, 2, 0, 1, 0, 0};
    ttape_error err;

    ck_assert_int_eq(decode(example_header, sizeof example_header, data, sizeof data, &out, &err),
                     TTAPE_OK);
    ck_assert_mem_eq(codes, wanted, sizeof wanted);
    ck_assert_int_eq(ttest_check(&out, &err), TTAPE_OK);
}
END_TEST

/* A chain that is part of a longer one and rare alone is pointed to there: fewer chains stored,
 * bits used. */
START_TEST(rare_part_of_a_chain_is_left_by_bits)
{
    static uint32_t codes[4 * 40 + 3 * 3];
    static const struct ttp_symbol symbols[5] = {{0, TTP_CLASS_LEAF},
                                                 {1, TTP_CLASS_LEAF},
                                                 {2, TTP_CLASS_LEAF},
                                                 {3, TTP_CLASS_LEAF},
                                                 {4, TTP_CLASS_LEAF}};
    static const uint32_t segment_start[2] = {0, sizeof codes / sizeof *codes}, nothing[2] = {0, 0};
    struct ttp_order in = {
        codes, symbols, segment_start, nothing, NULL, NULL, nothing, segment_start[1], 5, 0, 1, 0};
    uint32_t at = 0, bits = 0;
    for (uint32_t i = 0; i < 43; i++) {
        uint32_t length = i % 15 == 7 ? 2 : 4;
        for (uint32_t k = 0; k < length; k++)
            codes[at++] = k << 1;
        if (length == 2)
            codes[at++] = 8;
    }
    ck_assert_uint_eq(at, segment_start[1]);
    struct sections s = encode(&in, NULL);
    ck_assert_uint_eq(s.header[11],
                      1); /* one chain: after a count, five classes and five arguments */
    for (size_t i = 0; i < s.data_bytes; i++)
        bits += s.data[i] == 0x80;
    ck_assert_uint_eq(bits, 3);
    assert_round_trip(&in, NULL);
    sections_free(&s);
}
END_TEST

/* Words made of two earlier words each, in random order: chains within chains, at every place of
 * them. */
START_TEST(chains_within_chains_come_back)
{
    enum { EVENTS = 4000, LEAVES = 6, WORDS = 14 };
    for (uint64_t seed = 0; seed < 60; seed++) {
        struct ttest_order *o = ttest_order_new(seed, EVENTS, 1, 0);
        uint32_t left[WORDS], right[WORDS], stack[WORDS + 1], depth, at = 0;
        struct ttp_literal_options opt = {2, 1 + (uint32_t)(seed % 3) * 100};
        for (uint32_t w = LEAVES; w < WORDS; w++) {
            left[w] = ttest_random(o, w);
            right[w] = ttest_random(o, w);
        }
        while (at < EVENTS) {
            stack[0] = ttest_random(o, 3) ? WORDS - 1 : ttest_random(o, WORDS);
            for (depth = 1; depth > 0 && at < EVENTS;) {
                uint32_t word = stack[--depth];
                if (word < LEAVES) {
                    o->codes[at++] = ttest_symbol(o, TTP_CLASS_LEAF, word) << 1;
                    continue;
                }
                stack[depth++] = right[word];
                stack[depth++] = left[word];
            }
        }
        assert_round_trip(&o->view, &opt);
        ttest_order_free(o);
    }
}
END_TEST

/* Everything is frequent: the tables of pairs and chains overflow, positions and lengths meet their
 * limits. */
START_TEST(crowded_tables_come_back)
{
    enum { EVENTS = 200000, SYMBOLS = 2000 };
    struct ttest_order *o = ttest_order_new(8, EVENTS, 1, 0);
    struct ttp_literal_options opt = {2, 1};
    o->view.symbol_count = SYMBOLS;
    o->view.given_count = 0;
    memset(o->open_start, 0, sizeof o->open_start);
    for (uint32_t s = 0; s < SYMBOLS; s++)
        o->symbols[s] = (struct ttp_symbol){s, TTP_CLASS_LEAF};
    for (uint32_t i = 0; i < EVENTS; i++)
        o->codes[i] = ttest_random(o, SYMBOLS) << 1;
    assert_round_trip(&o->view, &opt);
    /* The same twice. */
    memcpy(o->codes + EVENTS / 2, o->codes, EVENTS / 2 * sizeof *o->codes);
    assert_round_trip(&o->view, &opt);
    /* A long loop: chains as long as they may be, and not longer. */
    uint64_t longest = 0;
    for (uint32_t i = 0; i < EVENTS; i++)
        o->codes[i] = i % SYMBOLS << 1;
    assert_round_trip(&o->view, &opt);
    struct sections s = encode(&o->view, &opt);
    struct ttp_reader_cursor from = ttp_reader_cursor_init(s.header, s.header_bytes);
    ck_assert_uint_eq(ttp_read_varint(&from), SYMBOLS);
    (void)ttp_read_bytes(&from, SYMBOLS);
    for (uint32_t i = 0; i < SYMBOLS; i++)
        (void)ttp_read_svarint(&from);
    for (uint64_t chains = ttp_read_varint(&from); chains > 0; chains--) {
        uint64_t length = ttp_read_varint(&from);
        longest = length > longest ? length : longest;
    }
    ck_assert_uint_gt(longest, 64);
    ck_assert_uint_le(longest, 128);
    sections_free(&s);
    ttest_order_free(o);
}
END_TEST

/* 1,024 different pairs of 32 words of 64 events, each pair four times: 131,072 positions, if there
 * were room. */
START_TEST(positions_meet_their_limit)
{
    enum { WORDS = 32, LENGTH = 64, PAIRS = WORDS * WORDS, EVENTS = 4 * PAIRS * 2 * LENGTH };
    struct ttest_order *o = ttest_order_new(8, EVENTS, 1, 0);
    struct ttp_literal_options opt = {2, 1};
    uint32_t at = 0, pairs[PAIRS];
    o->view.symbol_count = WORDS * LENGTH;
    o->view.given_count = 0;
    memset(o->open_start, 0, sizeof o->open_start);
    for (uint32_t s = 0; s < WORDS * LENGTH; s++)
        o->symbols[s] = (struct ttp_symbol){s, TTP_CLASS_LEAF};
    for (uint32_t round = 0; round < 4; round++) {
        for (uint32_t i = 0; i < PAIRS; i++) {
            uint32_t other = ttest_random(o, i + 1);
            pairs[i] = pairs[other];
            pairs[other] = i;
        }
        for (uint32_t i = 0; i < PAIRS; i++)
            for (uint32_t k = 0; k < 2 * LENGTH; k++)
                o->codes[at++] =
                    ((k < LENGTH ? pairs[i] / WORDS : pairs[i] % WORDS) * LENGTH + k % LENGTH) << 1;
    }
    assert_round_trip(&o->view, &opt);
    ttest_order_free(o);
}
END_TEST

START_TEST(threshold_decides_which_chains_there_are)
{
    struct ttest_order *o = ttest_order_new(5, 5000, 3, 200);
    size_t last = 0;
    /* Stored chains make the header longer; a threshold that nothing reaches stores none. */
    for (uint32_t min_count = 4096; min_count >= 4; min_count /= 16) {
        struct ttp_literal_options opt = {min_count, 500};
        struct sections s = encode(&o->view, &opt);
        ck_assert_uint_gt(s.header_bytes, last);
        last = s.header_bytes;
        sections_free(&s);
    }
    struct ttp_literal_options never = {UINT32_MAX, 0};
    struct sections none = encode(&o->view, &never);
    ck_assert_uint_eq(none.header[none.header_bytes - 1], 0);
    sections_free(&none);
    ttest_order_free(o);
}
END_TEST

START_TEST(same_input_same_bytes)
{
    struct ttest_order *o = ttest_order_new(9, 10000, 5, 100);
    struct ttp_literal_options zero = {0, 0};
    struct ttp_order keyed = o->view;
    keyed.hash_key = UINT64_C(0x123456789abcdef1);
    struct sections a = encode(&o->view, NULL), b = encode(&keyed, &zero);
    ck_assert_uint_eq(a.header_bytes, b.header_bytes);
    ck_assert_uint_eq(a.data_bytes, b.data_bytes);
    ck_assert_mem_eq(a.header, b.header, a.header_bytes);
    ck_assert_mem_eq(a.data, b.data, a.data_bytes);
    sections_free(&a);
    sections_free(&b);
    ttest_order_free(o);
}
END_TEST

/* FNV-1a of many orders' sections: any compiler, any machine. */
START_TEST(same_bytes_everywhere)
{
    uint64_t digest = UINT64_C(0xcbf29ce484222325);
    for (uint32_t seed = 0; seed < 24; seed++) {
        static const struct ttp_literal_options options[] = {{0, 0}, {2, 1}, {3, 700}};
        struct ttest_order *o = ttest_order_new(seed, 3000, 1 + seed % 5, 1 + 20 * (seed % 4));
        struct sections s = encode(&o->view, &options[seed % 3]);
        for (size_t i = 0; i < s.header_bytes + s.data_bytes; i++) {
            uint8_t byte = i < s.header_bytes ? s.header[i] : s.data[i - s.header_bytes];
            digest = (digest ^ byte) * UINT64_C(0x100000001b3);
        }
        sections_free(&s);
        ttest_order_free(o);
    }
    ck_assert_uint_eq(digest, UINT64_C(0x1297929b1bca31c1));
}
END_TEST

START_TEST(capacity_passed_does_not_pay)
{
    struct ttest_order *o = ttest_order_new(3, 300, 2, 50);
    struct sections s = encode(&o->view, NULL);
    size_t ws_bytes = ttp_literal_encode_workspace(o->view.event_count, o->view.symbol_count);
    void *ws = malloc(ws_bytes);
    ttape_error err;

    for (size_t h = 0; h <= s.header_bytes; h += h + 9 < s.header_bytes ? 7 : 1)
        for (size_t d = 0; d <= s.data_bytes; d++) {
            uint8_t *header = malloc(h + 1), *data = malloc(d + 1);
            struct ttp_buffer head = {header, h, 0}, rest = {data, d, 0};
            ttape_status status = ttp_literal_encode(
                &o->view, NULL, (struct ttp_workspace){ws, ws_bytes}, &head, &rest, &err);
            ck_assert_int_eq(status,
                             h == s.header_bytes && d == s.data_bytes ? TTAPE_OK : TTAPE_E_LIMIT);
            free(header);
            free(data);
            if (h < s.header_bytes && d > 8)
                break;
        }
    struct ttp_buffer head = {s.header, s.header_bytes, 0}, rest = {s.data, s.data_bytes, 0};
    ck_assert_int_eq(ttp_literal_encode(&o->view, NULL, (struct ttp_workspace){ws, ws_bytes - 1},
                                        &head, &rest, &err),
                     TTAPE_E_ARGUMENT);
    free(ws);
    sections_free(&s);
    ttest_order_free(o);
}
END_TEST

START_TEST(too_many_symbols_do_not_pay)
{
    static const uint32_t segment_start[] = {0, 1}, nothing[2] = {0, 0};
    uint32_t codes[1] = {0};
    struct ttp_order in = {codes,   NULL, segment_start, nothing, NULL, NULL,
                           nothing, 1,    65537,         0,       1,    0};
    size_t ws_bytes = ttp_literal_encode_workspace(1, 65537);
    void *ws = malloc(ws_bytes);
    uint8_t room[16];
    ttape_error err;
    struct ttp_buffer head = {room, 16, 0}, rest = {room, 16, 0};
    ck_assert_int_eq(
        ttp_literal_encode(&in, NULL, (struct ttp_workspace){ws, ws_bytes}, &head, &rest, &err),
        TTAPE_E_LIMIT);
    free(ws);
}
END_TEST

START_TEST(workspaces_are_bounded)
{
    ck_assert_uint_le(ttp_literal_encode_workspace(1000000, 1000), 6u << 20);
    ck_assert_uint_le(ttp_literal_encode_workspace(1000000, UINT32_MAX), 17u << 20);
    ck_assert_uint_le(ttp_literal_decode_workspace(UINT32_MAX), 769u << 10);
}
END_TEST

/* Small sections in full: what is cut short is refused, what is flipped is refused or stays within
 * its bounds. */
START_TEST(damage_never_passes_the_buffers)
{
    for (uint64_t seed = 0; seed < 4; seed++) {
        struct ttest_order *o = ttest_order_new(seed, 300, 1 + (uint32_t)seed, 60);
        struct ttp_literal_options opt = {2, 300};
        struct sections s = encode(&o->view, &opt);
        struct ttp_order_out out = ttest_out_new(&o->view);
        ttape_error err;
        for (size_t cut = 0; cut < s.header_bytes; cut++) {
            uint8_t *header = malloc(cut + 1);
            memcpy(header, s.header, cut);
            ck_assert_int_ne(decode(header, cut, s.data, s.data_bytes, &out, &err), TTAPE_OK);
            free(header);
        }
        for (size_t cut = 0; cut < s.data_bytes; cut++) {
            uint8_t *data = malloc(cut + 1);
            memcpy(data, s.data, cut);
            ck_assert_int_ne(decode(s.header, s.header_bytes, data, cut, &out, &err), TTAPE_OK);
            free(data);
        }
        for (size_t bit = 0; bit < (s.header_bytes + s.data_bytes) * 8; bit++) {
            uint8_t *byte =
                bit / 8 < s.header_bytes ? s.header + bit / 8 : s.data + bit / 8 - s.header_bytes;
            *byte ^= (uint8_t)(1u << bit % 8);
            if (decode(s.header, s.header_bytes, s.data, s.data_bytes, &out, &err) == TTAPE_OK) {
                for (uint32_t i = 0; i < out.event_count; i++)
                    ck_assert_uint_lt(out.codes[i] >> 1, out.symbol_count);
                (void)ttest_check(&out, &err);
            }
            *byte ^= (uint8_t)(1u << bit % 8);
        }
        ttest_out_free(&out);
        sections_free(&s);
        ttest_order_free(o);
    }
}
END_TEST

#define BYTES(...)                                                                                 \
    (const uint8_t[]){__VA_ARGS__}, sizeof(const uint8_t[]) { __VA_ARGS__ }
#define HEADER example_header, sizeof example_header
#define DATA   example_data, sizeof example_data

static const struct broken {
    const uint8_t *header;
    size_t header_bytes;
    const uint8_t *data;
    size_t data_bytes;
    ttape_status status;
    const char *rule;
    uint64_t offset;
} broken[] = {
    {BYTES(0x82, 0), DATA, TTAPE_E_CORRUPT, "O-RAW-01", 2},
    {BYTES(3), DATA, TTAPE_E_LIMIT, "O-RAW-02", 1},
    {BYTES(2, 0), DATA, TTAPE_E_TRUNCATED, "O-RAW-03", 1},
    {BYTES(2, 0, 9, 0x14, 2), DATA, TTAPE_E_CORRUPT, "O-RAW-03", 2},
    {BYTES(2, 0, 0, 1), DATA, TTAPE_E_CORRUPT, "O-RAW-04", 4},
    {BYTES(2, 0, 0, 0x14, 2), DATA, TTAPE_E_TRUNCATED, "O-LIT-02", 5},
    {BYTES(2, 0, 0, 0x14, 2, 1), DATA, TTAPE_E_TRUNCATED, "O-LIT-03", 6},
    {BYTES(2, 0, 0, 0x14, 2, 1, 0, 2), DATA, TTAPE_E_CORRUPT, "O-LIT-03", 7},
    {BYTES(2, 0, 0, 0x14, 2, 1, 83, 2), DATA, TTAPE_E_CORRUPT, "O-LIT-04", 7},
    {BYTES(2, 0, 0, 0x14, 2, 2, 80, 3), DATA, TTAPE_E_CORRUPT, "O-LIT-04", 8},
    {BYTES(2, 0, 0, 0x14, 2, 1, 2, 4), DATA, TTAPE_E_CORRUPT, "O-LIT-05", 8},
    {BYTES(2, 0, 0, 0x14, 2, 1, 2, 2, 4), DATA, TTAPE_E_CORRUPT, "O-LIT-05", 9},
    {BYTES(2, 0, 0, 0x14, 2, 1, 2, 2, 5), DATA, TTAPE_E_CORRUPT, "O-LIT-05", 9},
    {BYTES(2, 0, 0, 0x14, 2, 1, 2, 2), DATA, TTAPE_E_TRUNCATED, "O-LIT-05", 8},
    {BYTES(2, 0, 0, 0x14, 2, 1, 2, 2, 2, 0), DATA, TTAPE_E_CORRUPT, "O-LIT-06", 9},
    {HEADER, BYTES(13), TTAPE_E_CORRUPT, "O-LIT-09", 1},
    {HEADER, BYTES(0x85, 0, 7), TTAPE_E_CORRUPT, "O-LIT-09", 2},
    {HEADER, BYTES(5), TTAPE_E_TRUNCATED, "O-LIT-09", 1},
    {HEADER, BYTES(5, 0), TTAPE_E_TRUNCATED, "O-LIT-11", 2},
    {HEADER, BYTES(5, 0, 0x40), TTAPE_E_CORRUPT, "O-LIT-11", 3},
    {HEADER, BYTES(5, 0, 0xa0), TTAPE_E_CORRUPT, "O-LIT-11", 3},
    {HEADER, BYTES(5, 0, 0xff), TTAPE_E_TRUNCATED, "O-LIT-12", 3},
    {HEADER, BYTES(5, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1),
     TTAPE_E_CORRUPT, "O-LIT-12", 13},
    {HEADER, BYTES(5, 0, 0xff, 0x49, 7), TTAPE_E_CORRUPT, "O-LIT-14", 4},
    {HEADER, BYTES(5, 0, 0xff, 0x47, 7, 7), TTAPE_E_CORRUPT, "O-LIT-15", 5},
};

START_TEST(broken_fields_are_named)
{
    struct ttest_order *o = example();
    struct ttp_order_out out = ttest_out_new(&o->view);
    const struct broken *b = &broken[_i];
    ttape_error err;
    ck_assert_int_eq(decode(b->header, b->header_bytes, b->data, b->data_bytes, &out, &err),
                     b->status);
    ck_assert_str_eq(err.rule, b->rule);
    ck_assert_uint_eq(err.offset, b->offset);
    ck_assert_int_eq(err.status, b->status);
    ttest_out_free(&out);
    ttest_order_free(o);
}
END_TEST

/* O-LIT-08 and O-LIT-14: the bytes of the example mean nothing when the events are those of two
 * segments. */
START_TEST(run_never_crosses_a_segment)
{
    struct ttest_order *o = example();
    struct ttp_order_out out = ttest_out_new(&o->view);
    static const uint32_t two[] = {0, 41, 82}, nothing[3] = {0, 0, 0};
    ttape_error err;
    out.segment_start = two;
    out.open_start = out.start_stack = nothing;
    out.segment_count = 2;
    ck_assert_int_eq(decode(HEADER, DATA, &out, &err), TTAPE_E_CORRUPT);
    ck_assert_str_eq(err.rule, "O-LIT-14");
    ck_assert_uint_eq(err.offset, 4);
    ttest_out_free(&out);
    ttest_order_free(o);
}
END_TEST

START_TEST(decoder_refuses_a_small_workspace)
{
    struct ttest_order *o = example();
    struct ttp_order_out out = ttest_out_new(&o->view);
    uint8_t ws[4];
    ttape_error err;
    ck_assert_int_eq(ttp_literal_decode(&out, (struct ttp_bytes){HEADER}, (struct ttp_bytes){DATA},
                                        (struct ttp_workspace){ws, sizeof ws}, &err),
                     TTAPE_E_ARGUMENT);
    ttest_out_free(&out);
    ttest_order_free(o);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("literal");
    TCase *tcase = tcase_create("literal");
    tcase_set_timeout(tcase, 240);
    tcase_add_test(tcase, random_orders_come_back);
    tcase_add_test(tcase, no_segments_come_back);
    tcase_add_test(tcase, loops_cost_a_few_bytes);
    tcase_add_test(tcase, worked_example_byte_for_byte);
    tcase_add_test(tcase, worked_example_leaves_by_bits);
    tcase_add_test(tcase, rare_part_of_a_chain_is_left_by_bits);
    tcase_add_test(tcase, chains_within_chains_come_back);
    tcase_add_test(tcase, crowded_tables_come_back);
    tcase_add_test(tcase, positions_meet_their_limit);
    tcase_add_test(tcase, threshold_decides_which_chains_there_are);
    tcase_add_test(tcase, same_input_same_bytes);
    tcase_add_test(tcase, same_bytes_everywhere);
    tcase_add_test(tcase, capacity_passed_does_not_pay);
    tcase_add_test(tcase, too_many_symbols_do_not_pay);
    tcase_add_test(tcase, workspaces_are_bounded);
    tcase_add_test(tcase, damage_never_passes_the_buffers);
    tcase_add_loop_test(tcase, broken_fields_are_named, 0, sizeof broken / sizeof *broken);
    tcase_add_test(tcase, run_never_crosses_a_segment);
    tcase_add_test(tcase, decoder_refuses_a_small_workspace);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}

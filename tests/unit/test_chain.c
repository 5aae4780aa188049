/* Full-form order codec: what goes in comes out, bad bytes are refused in bounded time, same bytes
 * every time. */
#include <stdlib.h>
#include <string.h>

#include "format/chain/chain_decode.h"
#include "format/chain/chain_encode.h"
#include "tests/asserts.h"
#include "tests/unit/chain_orders.h"
#include "tests/unit/every.h"

/* What encode and decode below start from. */
static const struct ttp_chain_primer *primer;

struct coded {
    uint8_t *header, *data; /* exactly as long as they are, so that ASan sees one byte over */
    size_t header_bytes, data_bytes;
    struct ttp_chain_stats stats;
};

static uint8_t *exact(const uint8_t *bytes, size_t size_bytes)
{
    uint8_t *p = malloc(size_bytes + (size_bytes == 0));
    if (size_bytes != 0)
        memcpy(p, bytes, size_bytes);
    return p;
}

static struct coded encode_filled(const struct ttp_order *in, int fill)
{
    size_t capacity = (size_t)in->event_count * 4 + 4096;
    struct ttp_chain_options options = {primer};
    size_t ws_bytes =
        ttp_chain_encode_workspace(in->event_count, in->symbol_count, in->segment_count,
                                   in->open_start[in->segment_count], &options);
    void *ws = malloc(ws_bytes);
    memset(ws, fill, ws_bytes);
    uint8_t *header = malloc(capacity), *data = malloc(capacity);
    struct coded c = {0};
    ttape_error err;
    struct ttp_buffer head = {header, capacity, 0}, rest = {data, capacity, 0};
    ttape_status status = ttp_chain_encode(in, &options, (struct ttp_workspace){ws, ws_bytes},
                                           &head, &rest, &c.stats, &err);
    ck_assert_int_eq(status, TTAPE_OK);
    c.header_bytes = head.size;
    c.data_bytes = rest.size;
    c.header = exact(header, c.header_bytes);
    c.data = exact(data, c.data_bytes);
    free(header);
    free(data);
    free(ws);
    return c;
}

static struct coded encode(const struct ttp_order *in) { return encode_filled(in, 0xa5); }

static void coded_free(struct coded *c)
{
    free(c->header);
    free(c->data);
}

/* Decodes into fresh, exact memory; the caller frees out's codes and symbols. */
static ttape_status decode(const struct ttp_order *in, const uint8_t *header, size_t header_bytes,
                           const uint8_t *data, size_t data_bytes, struct ttp_order_out *out,
                           ttape_error *err)
{
    uint32_t *codes = malloc(in->event_count * sizeof *codes + 1);
    struct ttp_symbol *symbols = malloc(in->symbol_count * sizeof *symbols + 1);
    memset(symbols, 0xee, in->symbol_count * sizeof *symbols);
    if (in->given_count != 0)
        memcpy(symbols, in->symbols, in->given_count * sizeof *symbols);
    *out = (struct ttp_order_out){codes,
                                  symbols,
                                  in->segment_start,
                                  in->open_start,
                                  in->open,
                                  in->open_stack,
                                  in->start_stack,
                                  in->event_count,
                                  in->symbol_count,
                                  in->given_count,
                                  in->segment_count,
                                  0,
                                  0};
    size_t ws_bytes = ttp_chain_decode_workspace(in->event_count, in->symbol_count,
                                                 in->open_start[in->segment_count], primer);
    void *ws = malloc(ws_bytes);
    memset(ws, 0x5a, ws_bytes);
    ttape_status status = ttp_chain_decode(out, primer, (struct ttp_bytes){header, header_bytes},
                                           (struct ttp_bytes){data, data_bytes},
                                           (struct ttp_workspace){ws, ws_bytes}, err);
    free(ws);
    return status;
}

static void out_free(struct ttp_order_out *out)
{
    free(out->codes);
    free(out->symbols);
}

static struct ttp_chain_stats round_trip(const struct made *m)
{
    struct ttp_order in = order_of(m);
    struct coded c = encode(&in);
    struct ttp_order_out out;
    ttape_error err = {0};
    ttape_status status = decode(&in, c.header, c.header_bytes, c.data, c.data_bytes, &out, &err);
    ck_assert_msg(status == TTAPE_OK, "%s %s", err.rule, err.message);
    ck_assert_uint_eq(out.symbol_count, in.symbol_count);
    for (uint32_t i = 0; i < in.event_count; i++)
        if (out.codes[i] != in.codes[i])
            ck_abort_msg("event %u: %u, not %u", i, out.codes[i], in.codes[i]);
    for (uint32_t i = 0; i < in.symbol_count; i++) {
        ck_assert_uint_eq(out.symbols[i].argument, in.symbols[i].argument);
        ck_assert_uint_eq(out.symbols[i].event_class, in.symbols[i].event_class);
    }
    struct ttp_chain_stats stats = c.stats;
    out_free(&out);
    coded_free(&c);
    return stats;
}

static struct made *one_segment(uint32_t events, uint64_t seed)
{
    struct made *m = made_new(events, 1, seed);
    start_segment(m);
    return m;
}

/* Segments with open frames on several stacks, each holding garbage or calls. */
static struct made *mixed_segments(uint32_t segments, uint32_t events_each, uint64_t seed)
{
    struct made *m = made_new(segments * (events_each + 1), segments, seed);
    for (uint32_t s = 0; s < segments; s++) {
        m->start_stack[s] = rnd(m, STACKS);
        for (uint32_t i = rnd(m, 20);
             i-- > 0;) { /* one rnd a statement: order of arguments differs */
            uint32_t stack = rnd(m, STACKS);
            if (rnd(m, 3))
                stack = m->start_stack[s];
            uint8_t event_class = rnd(m, 9) ? TTP_CLASS_ENTER : TTP_CLASS_SIGNAL;
            add_open(m, stack, symbol_of(m, event_class, rnd(m, 30)));
        }
        m->open_start[s + 1] = m->opens;
    }
    m->given = m->symbol_count;
    for (uint32_t s = 0; s < segments; s++) {
        start_segment(m);
        uint32_t events = rnd(m, events_each + 1);
        if (rnd(m, 2))
            garbage(m, events);
        else
            nested(m, events, 40);
        end_segment(m);
    }
    return m;
}

START_TEST(empty_and_single)
{
    struct made *m = one_segment(0, 1);
    end_segment(m);
    round_trip(m);
    made_free(m);
    m = made_new(0, 0, 1);
    round_trip(m);
    made_free(m);
    for (uint8_t event_class = 0; event_class < TTP_CLASS_COUNT; event_class++) {
        m = one_segment(1, 1);
        add(m, event_class, 1);
        end_segment(m);
        round_trip(m);
        made_free(m);
    }
}
END_TEST

START_TEST(random_calls)
{
    for (uint64_t seed = 0; seed < 60; seed += ttest_every(5)) {
        struct made *m = one_segment(70000, seed);
        nested(m, seed < 50 ? 10 + 40 * (uint32_t)seed : 60000, 5 + 3 * (uint32_t)seed);
        end_segment(m);
        struct ttp_chain_stats stats = round_trip(m);
        if (seed >= 50)
            ck_assert_uint_gt(stats.chains, 100);
        made_free(m);
    }
}
END_TEST

START_TEST(random_everything)
{
    for (uint64_t seed = 0; seed < 150; seed += ttest_every(5)) {
        struct made *m = mixed_segments(1 + (uint32_t)seed % 30, 20 + 10 * (uint32_t)seed, seed);
        round_trip(m);
        made_free(m);
    }
}
END_TEST

START_TEST(deep_recursion)
{
    enum { LEVELS = 300000 };
    struct made *m = one_segment(2 * LEVELS, 1);
    for (uint32_t i = 0; i < LEVELS; i++)
        add(m, TTP_CLASS_ENTER, i % 3);
    for (uint32_t i = 0; i < LEVELS; i++)
        add_close(m);
    end_segment(m);
    struct ttp_order in = order_of(m);
    struct coded c = encode(&in);
    ck_assert_uint_lt(c.header_bytes + c.data_bytes, 9000);
    coded_free(&c);
    round_trip(m);
    made_free(m);
}
END_TEST

START_TEST(never_closed)
{
    struct made *m = one_segment(300000, 1);
    for (uint32_t i = 0; i < 300000; i++)
        add(m, TTP_CLASS_ENTER, i % 7);
    end_segment(m);
    round_trip(m);
    made_free(m);
}
END_TEST

START_TEST(long_loops)
{
    struct made *m = one_segment(450000, 7);
    add(m, TTP_CLASS_ENTER, 0);
    for (uint32_t i = 0; i < 100000; i++) {
        add(m, TTP_CLASS_LEAF, 1 + i % 3);
        if (i % 1000 == 999) {
            add(m, TTP_CLASS_ENTER, 1);
            for (uint32_t k = 0; k < 20; k++)
                add(m, TTP_CLASS_LEAF, 9);
            add_close(m);
        }
    }
    end_segment(m);
    struct ttp_order in = order_of(m);
    struct coded c = encode(&in);
    ck_assert_uint_lt(c.header_bytes + c.data_bytes, 300);
    coded_free(&c);
    round_trip(m);
    made_free(m);
}
END_TEST

START_TEST(many_tiny_segments)
{
    struct made *m = mixed_segments(3000, 6, 99);
    round_trip(m);
    made_free(m);
}
END_TEST

START_TEST(too_many_chains)
{
    /* Every subtree is different: tables fill up, what does not fit stands open. */
    struct made *m = one_segment(200000, 3);
    for (uint32_t i = 0; i < 12000; i++) {
        add(m, TTP_CLASS_ENTER, i % 50);
        for (uint32_t k = 0; k < 14; k++)
            add(m, TTP_CLASS_LEAF, rnd(m, 400));
        add_close(m);
    }
    end_segment(m);
    round_trip(m);
    made_free(m);
}
END_TEST

START_TEST(same_bytes_whatever_memory_and_secrets_hold)
{
    struct made *m = mixed_segments(20, 400, 5);
    struct ttp_order in = order_of(m), keyed = in;
    keyed.hash_key = UINT64_C(0x123456789abcdef1);
    struct coded a = encode_filled(&in, 0), b = encode_filled(&keyed, 0xff);
    ck_assert_uint_eq(a.header_bytes, b.header_bytes);
    ck_assert_uint_eq(a.data_bytes, b.data_bytes);
    ck_assert_mem_eq(a.header, b.header, a.header_bytes);
    ck_assert_mem_eq(a.data, b.data, a.data_bytes);
    coded_free(&a);
    coded_free(&b);
    made_free(m);
}
END_TEST

/* The bytes are the format: any compiler and any optimisation must make these. */
START_TEST(same_bytes_everywhere)
{
    uint64_t digest = UINT64_C(0xcbf29ce484222325); /* FNV-1a */
    for (uint64_t seed = 0; seed < 12; seed++) {
        struct made *m = mixed_segments(5 + (uint32_t)seed, 900, seed);
        struct ttp_order in = order_of(m);
        struct coded c = encode(&in);
        for (size_t i = 0; i < c.header_bytes + c.data_bytes; i++) {
            uint8_t byte = i < c.header_bytes ? c.header[i] : c.data[i - c.header_bytes];
            digest = (digest ^ byte) * UINT64_C(0x100000001b3);
        }
        coded_free(&c);
        made_free(m);
    }
    ck_assert_uint_eq(digest, UINT64_C(0xaacc04716ed7b41e));
}
END_TEST

START_TEST(does_not_pay)
{
    struct made *m = mixed_segments(10, 300, 8);
    struct ttp_order in = order_of(m);
    struct coded c = encode(&in);
    size_t ws_bytes = ttp_chain_encode_workspace(in.event_count, in.symbol_count, in.segment_count,
                                                 in.open_start[in.segment_count], NULL);
    void *ws = malloc(ws_bytes);
    for (size_t less = 0; less <= c.header_bytes + c.data_bytes; less += ttest_every(7)) {
        size_t header_capacity = c.header_bytes, data_capacity = c.data_bytes;
        size_t *shrink = less % 2 ? &header_capacity : &data_capacity;
        *shrink -= *shrink < less ? *shrink : less;
        uint8_t *header = malloc(header_capacity + 1), *data = malloc(data_capacity + 1);
        struct ttp_buffer head = {header, header_capacity, 0}, rest = {data, data_capacity, 0};
        ttape_status status = ttp_chain_encode(&in, NULL, (struct ttp_workspace){ws, ws_bytes},
                                               &head, &rest, NULL, NULL);
        ck_assert_int_eq(status, less == 0 ? TTAPE_OK : TTAPE_E_LIMIT);
        free(header);
        free(data);
    }
    free(ws);
    coded_free(&c);
    made_free(m);
}
END_TEST

START_TEST(wrong_calls)
{
    struct made *m = mixed_segments(3, 50, 11);
    struct ttp_order in = order_of(m);
    uint8_t out[4096];
    struct ttp_buffer head = {out, 2048, 0}, rest = {out + 2048, 2048, 0};
    size_t ws_bytes = ttp_chain_encode_workspace(in.event_count, in.symbol_count, in.segment_count,
                                                 in.open_start[in.segment_count], NULL);
    void *ws = malloc(ws_bytes);
    ttape_error err = {0};
    ck_assert_int_eq(ttp_chain_encode(&in, NULL, (struct ttp_workspace){ws, ws_bytes - 1}, &head,
                                      &rest, NULL, &err),
                     TTAPE_E_ARGUMENT);
    /* Symbols that are not numbered by first appearance. */
    uint32_t last = in.symbol_count - 1, codes[1] = {last << 1}, start[2] = {0, 1},
             zero[2] = {0, 0};
    struct ttp_order bad = {codes, in.symbols, start,           zero, zero, zero,
                            zero,  1,          in.symbol_count, 0,    1,    0};
    ck_assert_int_eq(ttp_chain_encode(&bad, NULL, (struct ttp_workspace){ws, ws_bytes}, &head,
                                      &rest, NULL, &err),
                     TTAPE_E_ARGUMENT);
    free(ws);
    made_free(m);
}
END_TEST

/* Every truncation, every flipped bit: refused or decoded into something; never a crash, never
 * long. Returns how many were refused. */
static unsigned sweep_one(const struct ttp_order *in, unsigned *total)
{
    unsigned refused = 0;
    struct coded c = encode(in);
    for (size_t i = 0; i < (c.header_bytes + c.data_bytes) * 9; i += ttest_every(5)) {
        size_t at = i / 9, cut = i % 9 == 8;
        bool in_header = at < c.header_bytes;
        size_t offset = in_header ? at : at - c.header_bytes;
        size_t header_bytes = cut && in_header ? offset : c.header_bytes;
        size_t data_bytes = cut && !in_header ? offset : c.data_bytes;
        uint8_t *header = exact(c.header, header_bytes), *data = exact(c.data, data_bytes);
        struct ttp_order_out out;
        ttape_error err = {0};
        if (!cut)
            (in_header ? header : data)[offset] ^= (uint8_t)(1u << i % 9);
        ttape_status status = decode(in, header, header_bytes, data, data_bytes, &out, &err);
        *total += 1;
        if (status != TTAPE_OK) {
            refused++;
            ck_assert(status == TTAPE_E_CORRUPT || status == TTAPE_E_TRUNCATED);
            ck_assert_int_eq(strncmp(err.rule, "O-FUL-", 6), 0);
            ck_assert_uint_le(err.offset, c.header_bytes + c.data_bytes);
        }
        out_free(&out);
        free(header);
        free(data);
    }
    coded_free(&c);
    return refused;
}

START_TEST(sweep)
{
    unsigned refused = 0, total = 0;
    for (uint64_t seed = 0; seed < 5; seed++) {
        struct made *m = mixed_segments(2 + (uint32_t)seed, 50, 40 + seed);
        struct ttp_order in = order_of(m);
        refused += sweep_one(&in, &total);
        made_free(m);
    }
    ck_assert_uint_gt(refused, total / 2);
}
END_TEST

/* A snapshot of what `m` teaches, in memory of its own. */
static struct ttp_chain_primer *primer_of(const struct made *m)
{
    struct ttp_order in = order_of(m);
    struct coded c = encode(&in);
    struct ttp_order_out out;
    ttape_error err = {0};
    ck_assert_int_eq(decode(&in, c.header, c.header_bytes, c.data, c.data_bytes, &out, &err),
                     TTAPE_OK);
    uint32_t opens = in.open_start[in.segment_count];
    size_t ws_bytes = ttp_chain_prime_workspace(in.event_count, in.symbol_count, opens);
    size_t capacity = ttp_chain_prime_capacity(in.event_count, in.symbol_count);
    void *ws = malloc(ws_bytes), *snapshot = malloc(capacity);
    struct ttp_bytes header = {c.header, c.header_bytes}, data = {c.data, c.data_bytes};
    struct ttp_workspace workspace = {ws, ws_bytes};
    struct ttp_buffer to = {snapshot, 100, 0};
    ck_assert_int_eq(ttp_chain_prime(&out, header, data, workspace, &to, &err), TTAPE_E_ARGUMENT);
    to.capacity = capacity;
    ck_assert_int_eq(ttp_chain_prime(&out, header, data, workspace, &to, &err), TTAPE_OK);
    struct ttp_chain_primer *copy = malloc(to.size);
    memcpy(copy, snapshot, to.size);
    ck_assert_uint_eq(copy->symbol_count, in.symbol_count);
    free(ws);
    free(snapshot);
    out_free(&out);
    coded_free(&c);
    return copy;
}

/* Makes `m`, still empty, begin with the primer's symbols. */
static void begin_with(struct made *m, const struct ttp_chain_primer *p)
{
    for (uint32_t i = 0; i < p->symbol_count; i++)
        (void)symbol_of(m, ttp_chain_primer_symbols(p)[i].event_class,
                        ttp_chain_primer_symbols(p)[i].argument);
    m->given = m->symbol_count;
}

START_TEST(primed)
{
    for (uint64_t seed = 0; seed < 12; seed += ttest_every(5)) {
        struct made *first = one_segment(20040, seed);
        nested(first, 20000, 20);
        end_segment(first);
        struct ttp_chain_primer *p = primer_of(first);
        for (uint32_t events = 1; events < 20000; events = events * 7 + 60) {
            struct made *m = one_segment(events + 40, seed + 1000);
            begin_with(m, p);
            start_segment(m);
            nested(m, events, 20 + (uint32_t)seed % 2);
            end_segment(m);
            struct ttp_order in = order_of(m);
            struct coded plain = encode(&in);
            primer = p;
            struct coded coded = encode(&in);
            ck_assert_uint_le(coded.header_bytes + coded.data_bytes,
                              plain.header_bytes + plain.data_bytes + 16);
            coded_free(&plain);
            coded_free(&coded);
            round_trip(m);
            if (events == 67) {
                unsigned total = 0;
                (void)sweep_one(&in, &total);
                ck_assert_uint_gt(total, 0);
            }
            primer = NULL;
            made_free(m);
        }
        /* The very same events again cost next to nothing. */
        struct made *again = one_segment(20040, seed);
        begin_with(again, p);
        nested(again, 20000, 20);
        end_segment(again);
        struct ttp_order in = order_of(again);
        struct coded plain = encode(&in);
        primer = p;
        struct coded coded = encode(&in);
        ck_assert_uint_lt((coded.header_bytes + coded.data_bytes) * 2,
                          plain.header_bytes + plain.data_bytes);
        coded_free(&plain);
        coded_free(&coded);
        round_trip(again);
        /* An order that does not begin with the primer's symbols is refused. */
        uint8_t bytes[64];
        struct ttp_chain_options options = {p};
        struct ttp_buffer to[2] = {{bytes, sizeof bytes, 0}, {bytes, sizeof bytes, 0}};
        size_t ws_bytes =
            ttp_chain_encode_workspace(in.event_count, in.symbol_count, 1, 0, &options);
        void *ws = malloc(ws_bytes);
        in.given_count = 0;
        ck_assert_int_eq(ttp_chain_encode(&in, &options, (struct ttp_workspace){ws, ws_bytes},
                                          &to[0], &to[1], NULL, NULL),
                         TTAPE_E_ARGUMENT);
        free(ws);
        primer = NULL;
        free(p);
        made_free(again);
        made_free(first);
    }
}
END_TEST

/* Bytes that no encoder made, for an order of many events. */
START_TEST(noise)
{
    for (uint64_t seed = 0; seed < 200; seed += ttest_every(5)) {
        struct made *m = mixed_segments(4, 2000, seed);
        struct ttp_order in = order_of(m);
        uint8_t header[600], data[600];
        for (size_t i = 0; i < sizeof header; i++) {
            header[i] = (uint8_t)rnd(m, 256);
            data[i] = (uint8_t)(seed % 3 ? rnd(m, 256) : seed % 2 * 255);
        }
        size_t header_bytes = rnd(m, 600), data_bytes = rnd(m, 600);
        uint8_t *h = exact(header, header_bytes), *d = exact(data, data_bytes);
        struct ttp_order_out out;
        (void)decode(&in, h, header_bytes, d, data_bytes, &out, NULL);
        out_free(&out);
        free(h);
        free(d);
        made_free(m);
    }
}
END_TEST

START_TEST(workspace_is_bounded)
{
    ck_assert_uint_le(ttp_chain_encode_workspace(1000000, 65535, 1, 0, NULL), 11u << 20);
    ck_assert_uint_le(ttp_chain_decode_workspace(1000000, 65535, 0, NULL), 12u << 20);
    ck_assert_uint_le(ttp_chain_encode_workspace(100, 50, 1, 0, NULL), 64u << 10);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("chain");
    TCase *tc = tcase_create("chain");
    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, empty_and_single);
    tcase_add_test(tc, random_calls);
    tcase_add_test(tc, random_everything);
    tcase_add_test(tc, deep_recursion);
    tcase_add_test(tc, never_closed);
    tcase_add_test(tc, long_loops);
    tcase_add_test(tc, many_tiny_segments);
    tcase_add_test(tc, too_many_chains);
    tcase_add_test(tc, same_bytes_whatever_memory_and_secrets_hold);
    tcase_add_test(tc, same_bytes_everywhere);
    tcase_add_test(tc, does_not_pay);
    tcase_add_test(tc, wrong_calls);
    tcase_add_test(tc, sweep);
    tcase_add_test(tc, primed);
    tcase_add_test(tc, noise);
    tcase_add_test(tc, workspace_is_bounded);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}

/* The raw forms of order and times: round trips, the specification's bytes, and every kind of
 * damage. */
#include "format/times/raw_times.h"
#include "literal_fixture.h"
#include "tests/asserts.h"

static uint8_t *raw_encode(const struct ttp_order *in, size_t *bytes)
{
    size_t room = ttp_raw_order_bound(in->event_count, in->symbol_count);
    uint8_t *wide = malloc(room + 1), *exact;
    ttape_error err;

    ck_assert_int_eq(ttp_raw_order_encode(in, wide, room, bytes, &err), TTAPE_OK);
    exact = malloc(*bytes + 1);
    memcpy(exact, wide, *bytes);
    free(wide);
    return exact;
}

START_TEST(order_comes_back)
{
    for (uint32_t seed = 0; seed < 40; seed++) {
        struct ttest_order *o = ttest_order_new(seed, seed * seed, seed % 9 + 1, 50);
        struct ttp_order_out out = ttest_out_new(&o->view);
        ttape_error err;
        size_t bytes;
        uint8_t *data = raw_encode(&o->view, &bytes);
        ck_assert_int_eq(ttp_raw_order_decode(data, bytes, &out, &err), TTAPE_OK);
        ck_assert(ttest_out_equal(&out, &o->view));
        ck_assert_int_eq(ttest_check(&out, &err), TTAPE_OK);
        free(data);
        ttest_out_free(&out);
        ttest_order_free(o);
    }
}
END_TEST

/* O-RAW-05: the width follows from the number of symbols, at every edge of it. */
START_TEST(order_codes_take_the_fewest_bytes)
{
    static const struct {
        uint32_t symbols, width;
    } edges[] = {{1, 1},     {128, 1},      {129, 2},           {32768, 2},
                 {32769, 3}, {1u << 23, 3}, {(1u << 23) + 1, 4}};
    for (uint32_t e = 0; e < sizeof edges / sizeof *edges; e++) {
        uint32_t count = edges[e].symbols, codes[2] = {0, (count - 1) << 1 | 1};
        uint32_t segment_start[2] = {0, 2}, nothing[2] = {0, 0};
        struct ttp_symbol *symbols = calloc(count, sizeof *symbols);
        struct ttp_order in = {codes,   symbols, segment_start, nothing, NULL, NULL,
                               nothing, 2,       count,         0,       1,    0};
        struct ttp_order_out out = ttest_out_new(&in);
        ttape_error err;
        size_t bytes;
        uint8_t *data = raw_encode(&in, &bytes), head[TTP_VARINT_MAX];
        struct ttp_writer_cursor c = ttp_writer_cursor_init(head, sizeof head);
        ttp_write_varint(&c, count);
        ck_assert_uint_eq(bytes, ttp_written(&c) + 2 * (size_t)count + 2 * edges[e].width);
        ck_assert_int_eq(ttp_raw_order_decode(data, bytes, &out, &err), TTAPE_OK);
        ck_assert(ttest_out_equal(&out, &in));
        free(data);
        free(symbols);
        ttest_out_free(&out);
    }
}
END_TEST

static const struct ttp_symbol two_symbols[2] = {{10, TTP_CLASS_ENTER}, {11, TTP_CLASS_LEAF}};
static const uint32_t three_codes[3] = {0, 1, 2};
static const uint32_t three_start[2] = {0, 3}, nothing2[2] = {0, 0};
static const struct ttp_order three = {three_codes, two_symbols, three_start, nothing2, NULL, NULL,
                                       nothing2,    3,           2,           0,        1,    0};

START_TEST(order_example_byte_for_byte)
{
    static const uint8_t wanted[] = {2, 0, 1, 0x14, 0x16, 0, 1, 2};
    size_t bytes;
    uint8_t *data = raw_encode(&three, &bytes);
    ck_assert_uint_eq(bytes, sizeof wanted);
    ck_assert_mem_eq(data, wanted, sizeof wanted);
    free(data);
}
END_TEST

START_TEST(order_capacity_is_respected)
{
    uint8_t room[8];
    ttape_error err;
    size_t bytes;
    for (size_t n = 0; n < 8; n++) {
        uint8_t *exact = malloc(n + 1);
        ck_assert_int_eq(ttp_raw_order_encode(&three, exact, n, &bytes, &err), TTAPE_E_ARGUMENT);
        free(exact);
    }
    ck_assert_int_eq(ttp_raw_order_encode(&three, room, 8, &bytes, &err), TTAPE_OK);
}
END_TEST

static const struct {
    uint8_t data[12];
    size_t bytes;
    ttape_status status;
    const char *rule;
    uint64_t offset;
} broken_orders[] = {
    {{0}, 0, TTAPE_E_CORRUPT, "O-RAW-01", 0},
    {{0x80, 0}, 2, TTAPE_E_CORRUPT, "O-RAW-01", 2},
    {{1, 0, 0x14, 0, 0, 0}, 6, TTAPE_E_CORRUPT, "O-RAW-02", 1},
    {{4, 0, 0, 0}, 4, TTAPE_E_LIMIT, "O-RAW-02", 1},
    {{3, 9, 0x14, 0, 0, 0}, 6, TTAPE_E_CORRUPT, "O-RAW-03", 1},
    {{3}, 1, TTAPE_E_TRUNCATED, "O-RAW-03", 1},
    {{3, 1}, 2, TTAPE_E_CORRUPT, "O-RAW-04", 2},
    {{3, 1, 0x80, 0x80, 0x80, 0x80, 0x20, 0, 0, 0}, 10, TTAPE_E_CORRUPT, "O-RAW-04", 7},
    {{3, 1, 0x14, 0, 0}, 5, TTAPE_E_TRUNCATED, "O-RAW-05", 5},
    {{3, 1, 0x14, 0, 0, 0, 0}, 7, TTAPE_E_CORRUPT, "O-RAW-05", 6},
    {{3, 1, 0x14, 0, 6, 0}, 6, TTAPE_E_CORRUPT, "O-RAW-06", 4},
};

START_TEST(broken_order_is_named)
{
    uint32_t codes[3];
    struct ttp_symbol symbols[3] = {{1, 0}, {2, 0}, {0, 0}};
    struct ttp_order_out out = {codes, symbols, three_start, nothing2, NULL, NULL, nothing2,
                                3,     3,       2,           1,        0,    0};
    ttape_error err;
    ck_assert_int_eq(
        ttp_raw_order_decode(broken_orders[_i].data, broken_orders[_i].bytes, &out, &err),
        broken_orders[_i].status);
    ck_assert_str_eq(err.rule, broken_orders[_i].rule);
    ck_assert_uint_eq(err.offset, broken_orders[_i].offset);
}
END_TEST

START_TEST(damaged_order_stays_in_bounds)
{
    struct ttest_order *o = ttest_order_new(77, 500, 4, 20);
    struct ttp_order_out out = ttest_out_new(&o->view);
    ttape_error err;
    size_t bytes;
    uint8_t *data = raw_encode(&o->view, &bytes);
    for (size_t cut = 0; cut < bytes; cut++) {
        uint8_t *exact = malloc(cut + 1);
        memcpy(exact, data, cut);
        ck_assert_int_ne(ttp_raw_order_decode(exact, cut, &out, &err), TTAPE_OK);
        free(exact);
    }
    for (size_t bit = 0; bit < bytes * 8; bit++) {
        data[bit / 8] ^= (uint8_t)(1u << bit % 8);
        if (ttp_raw_order_decode(data, bytes, &out, &err) == TTAPE_OK)
            (void)ttest_check(&out, &err);
        data[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    free(data);
    ttest_out_free(&out);
    ttest_order_free(o);
}
END_TEST

/* Times for `events` events in segments of uneven length; every fifth difference or so is wide. */
static struct ttp_times times_new(uint32_t events, uint32_t segments, uint32_t *starts,
                                  uint64_t seed)
{
    struct ttest_order random = {.seed = seed};
    struct ttp_times t = {
        .segment_start = starts, .event_count = events, .segment_count = segments};

    t.delta = malloc(events * sizeof *t.delta + 1);
    t.wide = malloc(events * sizeof *t.wide + 1);
    starts[0] = 0;
    for (uint32_t s = 0; s < segments; s++)
        starts[s + 1] =
            s + 1 == segments ? events : starts[s] + ttest_random(&random, events - starts[s] + 1);
    for (uint32_t i = 0; i < events; i++) {
        t.delta[i] = ttest_random(&random, 3) ? ttest_random(&random, 200) : TTP_DELTA_WIDE - 1;
        if (ttest_random(&random, 5) != 0)
            continue;
        t.delta[i] = TTP_DELTA_WIDE;
        t.wide[t.wide_count++] =
            ttest_random(&random, 2) ? INT64_MIN + (int64_t)ttest_random(&random, 9) : INT64_MAX;
        if (ttest_random(&random, 2))
            t.wide[t.wide_count - 1] = (int64_t)TTP_DELTA_WIDE;
    }
    t.wide_capacity = t.wide_count;
    return t;
}

static struct ttp_times times_room(const struct ttp_times *in)
{
    struct ttp_times t = *in;
    t.delta = malloc(in->event_count * sizeof *t.delta + 1);
    t.wide = malloc(in->wide_count * sizeof *t.wide + 1);
    t.wide_count = 0;
    return t;
}

static void times_free(struct ttp_times *t)
{
    free(t->delta);
    free(t->wide);
}

static uint8_t *times_encode(const struct ttp_times *in, size_t *bytes)
{
    size_t room = ttp_raw_times_bound(in->event_count);
    uint8_t *wide = malloc(room + 1), *exact;
    ttape_error err;
    ck_assert_int_eq(ttp_raw_times_encode(in, wide, room, bytes, &err), TTAPE_OK);
    exact = malloc(*bytes + 1);
    memcpy(exact, wide, *bytes);
    free(wide);
    return exact;
}

START_TEST(times_come_back)
{
    static const uint32_t events[] = {0, 1, 2, 1000, 32767, 32768, 32769, 65536, 100000};
    uint32_t starts[9];
    for (uint32_t e = 0; e < sizeof events / sizeof *events; e++) {
        struct ttp_times in = times_new(events[e], 1 + e % 8, starts, e), out = times_room(&in);
        ttape_error err;
        size_t bytes;
        uint8_t *data = times_encode(&in, &bytes);
        ck_assert_int_eq(ttp_raw_times_decode(data, bytes, &out, &err), TTAPE_OK);
        ck_assert_uint_eq(out.wide_count, in.wide_count);
        ck_assert_int_eq(memcmp(out.delta, in.delta, events[e] * sizeof *in.delta), 0);
        ck_assert_int_eq(memcmp(out.wide, in.wide, in.wide_count * sizeof *in.wide), 0);
        free(data);
        times_free(&in);
        times_free(&out);
    }
}
END_TEST

/* T-RAW-04: differences at both sides of each power of two take the bytes of their zigzag. */
START_TEST(times_of_every_width)
{
    uint32_t delta[66], starts[2] = {0, 66}, n = 0;
    size_t bytes, wanted = 16;
    ttape_error err;
    for (uint32_t bit = 0; bit < 32; bit++) {
        delta[n++] = (1u << bit) - 1;
        delta[n++] = 1u << bit;
    }
    delta[n++] = TTP_DELTA_WIDE - 1;
    delta[n++] = TTP_DELTA_WIDE - 2;
    for (uint32_t i = 0; i < n; i++)
        for (uint64_t left = 2ull * delta[i], more = 1; more; left >>= 7, wanted++)
            more = left >= 0x80;
    struct ttp_times in = {NULL, starts, delta, NULL, n, 1, 0, 0, 0}, out = times_room(&in);
    uint8_t *data = times_encode(&in, &bytes);
    ck_assert_uint_eq(bytes, wanted);
    ck_assert_int_eq(ttp_raw_times_decode(data, bytes, &out, &err), TTAPE_OK);
    ck_assert_int_eq(memcmp(out.delta, delta, sizeof delta), 0);
    uint8_t *tight = malloc(bytes); /* where there is no room to store eight bytes at once */
    size_t again;
    ck_assert_int_eq(ttp_raw_times_encode(&in, tight, bytes, &again, &err), TTAPE_OK);
    ck_assert_uint_eq(again, bytes);
    ck_assert_int_eq(memcmp(tight, data, bytes), 0);
    ck_assert_int_eq(ttp_raw_times_encode(&in, tight, bytes - 1, &again, &err), TTAPE_E_ARGUMENT);
    free(tight);
    free(data);
    times_free(&out);
}
END_TEST

/* T-RAW-03: each block alone, against sums made here. */
START_TEST(times_blocks_stand_alone)
{
    uint32_t starts[6];
    struct ttp_times in = times_new(150000, 5, starts, 4711), out = times_room(&in);
    ttape_error err;
    size_t bytes;
    uint8_t *data = times_encode(&in, &bytes);
    uint32_t wide = 0, segment = 0;
    uint64_t time = 0;
    int64_t ticks;
    for (uint32_t i = 0; i < in.event_count; i++) {
        while (segment < 5 && starts[segment] <= i)
            time = starts[segment++] == i ? 0 : time;
        if (i % TTP_TIME_BLOCK_EVENTS == 0) {
            uint32_t count = in.event_count - i < TTP_TIME_BLOCK_EVENTS ? in.event_count - i
                                                                        : TTP_TIME_BLOCK_EVENTS;
            ck_assert_int_eq(ttp_raw_times_decode_block(data, bytes, i / TTP_TIME_BLOCK_EVENTS,
                                                        &out, &ticks, &err),
                             TTAPE_OK);
            ck_assert_uint_eq((uint64_t)ticks, time);
            ck_assert_mem_eq(out.delta + i, in.delta + i, count * sizeof *in.delta);
            ck_assert_mem_eq(out.wide, in.wide + wide, out.wide_count * sizeof *in.wide);
        }
        time += in.delta[i] == TTP_DELTA_WIDE ? (uint64_t)in.wide[wide++] : in.delta[i];
    }
    ck_assert_int_eq(ttp_raw_times_decode_block(data, bytes, 5, &out, &ticks, &err),
                     TTAPE_E_ARGUMENT);
    free(data);
    times_free(&in);
    times_free(&out);
}
END_TEST

static const uint8_t times_example[18] = {[16] = 0x0a, [17] = 0x01};

START_TEST(times_example_byte_for_byte)
{
    uint32_t delta[2] = {5, TTP_DELTA_WIDE}, starts[2] = {0, 2};
    int64_t wide[1] = {-1};
    struct ttp_times in = {NULL, starts, delta, wide, 2, 1, 0, 1, 1};
    ttape_error err;
    size_t bytes;
    uint8_t *data = times_encode(&in, &bytes), small[17];
    ck_assert_uint_eq(bytes, sizeof times_example);
    ck_assert_mem_eq(data, times_example, sizeof times_example);
    ck_assert_int_eq(ttp_raw_times_encode(&in, small, sizeof small, &bytes, &err),
                     TTAPE_E_ARGUMENT);
    free(data);
}
END_TEST

static const struct {
    uint32_t events;
    size_t bytes, at; /* data[at] = value, in the example */
    uint8_t value;
    ttape_status status;
    const char *rule;
    uint64_t offset;
} broken_times[] = {
    {2, 15, 0, 0, TTAPE_E_TRUNCATED, "T-RAW-01", 15},
    {0, 1, 0, 0, TTAPE_E_CORRUPT, "T-RAW-01", 0},
    {2, 18, 0, 1, TTAPE_E_CORRUPT, "T-RAW-02", 0},
    {1, 18, 0, 0, TTAPE_E_CORRUPT, "T-RAW-02", 17},
    {2, 18, 8, 1, TTAPE_E_CORRUPT, "T-RAW-03", 8},
    {2, 18, 17, 0x81, TTAPE_E_CORRUPT, "T-RAW-04", 18},
    {2, 17, 0, 0, TTAPE_E_CORRUPT, "T-RAW-04", 17},
    {2, 18, 16, 0x0b, TTAPE_E_LIMIT, "T-RAW-05", 18},
};

START_TEST(broken_times_are_named)
{
    uint32_t delta[2], starts[2] = {0, broken_times[_i].events};
    int64_t wide[1];
    struct ttp_times out = {NULL, starts, delta, wide, broken_times[_i].events, 1, 0, 0, 1};
    uint8_t data[18];
    ttape_error err;
    memcpy(data, times_example, sizeof data);
    data[broken_times[_i].at] = broken_times[_i].value;
    ck_assert_int_eq(ttp_raw_times_decode(data, broken_times[_i].bytes, &out, &err),
                     broken_times[_i].status);
    ck_assert_str_eq(err.rule, broken_times[_i].rule);
    ck_assert_uint_eq(err.offset, broken_times[_i].offset);
}
END_TEST

START_TEST(damaged_times_stay_in_bounds)
{
    uint32_t starts[4];
    struct ttp_times in = times_new(33000, 3, starts, 5), out = times_room(&in);
    ttape_error err;
    size_t bytes;
    int64_t ticks;
    uint8_t *data = times_encode(&in, &bytes);
    /* Both directory entries in full, then the edge between the blocks, then samples. */
    for (size_t at = 0; at < bytes; at += at < 40 || at + 40 > bytes ? 1 : 5003)
        for (unsigned bit = 0; bit < 8; bit++) {
            data[at] ^= (uint8_t)(1u << bit);
            (void)ttp_raw_times_decode(data, bytes, &out, &err);
            (void)ttp_raw_times_decode_block(data, bytes, 1, &out, &ticks, &err);
            data[at] ^= (uint8_t)(1u << bit);
        }
    for (size_t cut = 0; cut < bytes; cut += cut < 40 || cut + 40 > bytes ? 1 : 5003) {
        uint8_t *exact = malloc(cut + 1);
        memcpy(exact, data, cut);
        ck_assert_int_ne(ttp_raw_times_decode(exact, cut, &out, &err), TTAPE_OK);
        free(exact);
    }
    free(data);
    times_free(&in);
    times_free(&out);
}
END_TEST

/* T-RAW-04: a number with a byte too many is one wherever it stands: most are read in windows. */
START_TEST(times_too_long_are_named_anywhere)
{
    uint32_t delta[299], starts[2] = {0, 299};
    for (uint32_t at = 0; at < 299; at++) {
        struct ttp_times out = {NULL, starts, delta, NULL, 299, 1, 0, 0, 0};
        uint8_t data[316];
        ttape_error err;
        memset(data, 0, 16);
        memset(data + 16, 0x0a, 300);
        data[16 + at] = 0x8a;
        data[17 + at] = 0;
        ck_assert_int_eq(ttp_raw_times_decode(data, sizeof data, &out, &err), TTAPE_E_CORRUPT);
        ck_assert_str_eq(err.rule, "T-RAW-04");
        ck_assert_uint_eq(err.offset, 18 + at);
    }
}
END_TEST

/* One that is wide or negative among others that are not, at every place of a window: of windows
 * with long numbers, and of those without. */
START_TEST(times_wide_stand_anywhere)
{
    static const int64_t numbers[] = {-1,        -5000,           -70000,    TTP_DELTA_WIDE,
                                      1ll << 33, (1ll << 34) - 1, 1ll << 34, 1ll << 40,
                                      INT64_MAX, INT64_MIN};
    uint32_t delta[299], starts[2] = {0, 299};
    for (uint32_t at = 0; at < 299 * 20; at++) {
        int64_t wide[1] = {numbers[at % 10]};
        uint32_t step = at / 10 % 2 != 0 ? 1000 : 20;
        struct ttp_times in = {NULL, starts, delta, wide, 299, 1, 0, 1, 1}, out;
        ttape_error err;
        size_t bytes;
        for (uint32_t i = 0; i < 299; i++)
            delta[i] = i % 7 == 0 ? i * step : i % 80;
        delta[at / 20] = TTP_DELTA_WIDE;
        out = times_room(&in);
        uint8_t *data = times_encode(&in, &bytes);
        ck_assert_int_eq(ttp_raw_times_decode(data, bytes, &out, &err), TTAPE_OK);
        ck_assert_mem_eq(out.delta, delta, sizeof delta);
        ck_assert_uint_eq(out.wide_count, 1);
        ck_assert_int_eq(out.wide[0], wide[0]);
        free(data);
        times_free(&out);
    }
}
END_TEST

/* Ids that are uniform random numbers, and times besides: no more than 16-byte records and one
 * percent. */
START_TEST(random_ids_cost_no_more_than_records)
{
    enum { EVENTS = 66000 };
    static uint32_t codes[EVENTS], delta[EVENTS];
    static struct ttp_symbol symbols[EVENTS];
    uint32_t starts[2] = {0, EVENTS};
    struct ttest_order random = {.seed = 6};
    struct ttp_order in = {codes,    symbols, starts, nothing2, NULL, NULL,
                           nothing2, EVENTS,  EVENTS, 0,        1,    0};
    struct ttp_times times = {codes, starts, delta, NULL, EVENTS, 1, 0, 0, 0};
    size_t order_bytes, times_bytes;
    for (uint32_t i = 0; i < EVENTS; i++) {
        codes[i] = i << 1;
        symbols[i].argument = ttest_random(&random, 65536) << 16 | ttest_random(&random, 65536);
        delta[i] = ttest_random(&random, 1u << 30);
    }
    free(raw_encode(&in, &order_bytes));
    free(times_encode(&times, &times_bytes));
    ck_assert_uint_le((order_bytes + times_bytes) * 100, (size_t)EVENTS * 16 * 101);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("raw");
    TCase *tcase = tcase_create("raw");
    tcase_set_timeout(tcase, 240);
    tcase_add_test(tcase, order_comes_back);
    tcase_add_test(tcase, order_codes_take_the_fewest_bytes);
    tcase_add_test(tcase, order_example_byte_for_byte);
    tcase_add_test(tcase, order_capacity_is_respected);
    tcase_add_loop_test(tcase, broken_order_is_named, 0,
                        sizeof broken_orders / sizeof *broken_orders);
    tcase_add_test(tcase, damaged_order_stays_in_bounds);
    tcase_add_test(tcase, times_come_back);
    tcase_add_test(tcase, times_of_every_width);
    tcase_add_test(tcase, times_blocks_stand_alone);
    tcase_add_test(tcase, times_example_byte_for_byte);
    tcase_add_loop_test(tcase, broken_times_are_named, 0,
                        sizeof broken_times / sizeof *broken_times);
    tcase_add_test(tcase, damaged_times_stay_in_bounds);
    tcase_add_test(tcase, times_too_long_are_named_anywhere);
    tcase_add_test(tcase, times_wide_stand_anywhere);
    tcase_add_test(tcase, random_ids_cost_no_more_than_records);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}

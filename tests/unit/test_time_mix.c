/* The mixing time form: round trips, partial decoding, the directory, same bytes everywhere, and
 * any damage ends in a refusal or in other numbers, never in a crash. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "format/times/time_mix.h"
#include "tests/asserts.h"
#include "tests/unit/every.h"

struct input {
    struct ttp_times times;
    uint32_t *codes, *segment_start, *delta;
    int64_t *wide;
    uint8_t *section;
    size_t size_bytes;
};

static uint64_t seed;

static uint32_t random_below(uint32_t limit)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((seed >> 33) % limit);
}

enum kind {
    CONSTANT,
    RANDOM,
    BURSTY,
    WIDE,
    ALL_WIDE,
    SEGMENTS,
    TINY_SEGMENTS,
    COARSE,
    MANY_CODES,
    KINDS
};

static uint32_t draw_delta(enum kind kind, uint32_t code, uint32_t i)
{
    uint32_t usual = 30 + code % 13 * 9 + random_below(6), high = random_below(1u << 16);
    switch (kind) {
    case CONSTANT: return 42;
    case RANDOM: return (high << 16 | usual * 997u % 65536u) >> random_below(32);
    case BURSTY: return random_below(500) == 0 ? 1u << random_below(31) : usual << (i / 700 % 3);
    case WIDE: return random_below(40) == 0 ? TTP_DELTA_WIDE - random_below(3) : usual;
    case ALL_WIDE: return TTP_DELTA_WIDE;
    case COARSE: return random_below(9) == 0;
    default: return usual;
    }
}

static int64_t draw_wide(uint32_t i)
{
    static const int64_t edges[] = {INT64_MIN, INT64_MAX, -1, 0, UINT32_MAX, INT64_C(1) << 62};
    if (i % 3 == 0)
        return edges[random_below(6)];
    uint64_t value = random_below(1u << 30); /* one draw a statement: a fixed order */
    return (int64_t)(value << random_below(33)) - (1 << 20);
}

static bool starts_segment(enum kind kind)
{
    return (kind == SEGMENTS && random_below(457) == 0) ||
           (kind == TINY_SEGMENTS && random_below(3) == 0);
}

static void make_input(struct input *in, enum kind kind, uint32_t events)
{
    uint32_t segments = 0, wide = 0;

    seed = 1000u * events + kind;
    in->codes = malloc(sizeof(uint32_t) * (events + 1));
    in->delta = malloc(sizeof(uint32_t) * (events + 1));
    in->wide = malloc(sizeof(int64_t) * (events + 1));
    in->segment_start = malloc(sizeof(uint32_t) * (2 * (size_t)events + 4));
    in->segment_start[segments++] = 0;
    for (uint32_t i = 0; i < events; i++) {
        in->codes[i] = kind == MANY_CODES      ? random_below(1u << 31) << 1 | (i & 1)
                       : random_below(10) == 0 ? random_below(60)
                                               : i % 24;
        if (i != 0 && starts_segment(kind)) {
            in->segment_start[segments++] = i;
            if (random_below(4) == 0)
                in->segment_start[segments++] = i; /* an empty one */
        }
        in->delta[i] = draw_delta(kind, in->codes[i], i);
        if (in->delta[i] == TTP_DELTA_WIDE)
            in->wide[wide++] = draw_wide(i);
    }
    in->segment_start[segments] = events;
    in->times = (struct ttp_times){in->codes, in->segment_start, in->delta, in->wide, events,
                                   segments,  UINT32_MAX,        wide,      wide};
}

static void free_input(struct input *in)
{
    free(in->codes);
    free(in->delta);
    free(in->wide);
    free(in->segment_start);
    free(in->section);
}

/* The section goes to a buffer of just its size: a sanitizer sees every byte read past it. */
static void encode_input(struct input *in)
{
    size_t workspace_bytes = ttp_time_mix_encode_workspace(in->times.event_count);
    size_t bound = ttp_time_mix_encode_bound(in->times.event_count);
    void *workspace = malloc(workspace_bytes);
    uint8_t *out = malloc(bound);
    ttape_error err;

    memset(workspace, 0xa5, workspace_bytes);
    struct ttp_buffer to = {out, bound, 0};
    ck_assert_int_eq(ttp_time_mix_encode(
                         &in->times, (struct ttp_workspace){workspace, workspace_bytes}, &to, &err),
                     TTAPE_OK);
    in->size_bytes = to.size;
    ck_assert_uint_le(in->size_bytes, bound);
    in->section = malloc(in->size_bytes + (in->size_bytes == 0));
    memcpy(in->section, out, in->size_bytes);
    free(out);
    free(workspace);
}

struct output {
    struct ttp_times times;
    ttape_error err;
    ttape_status status;
};

static void decode(struct output *o, const struct input *in, const uint8_t *data, size_t size,
                   uint32_t first, uint32_t count)
{
    uint32_t events = in->times.event_count;
    size_t workspace_bytes = ttp_time_mix_decode_workspace(events, in->times.symbol_count);
    void *workspace = malloc(workspace_bytes);
    uint8_t *exact = malloc(size + (size == 0));

    memcpy(exact, data, size);
    memset(workspace, 0x5a, workspace_bytes);
    o->times = in->times;
    o->times.delta = calloc(events + 1, sizeof(uint32_t));
    o->times.wide = calloc(in->times.wide_count + 1, sizeof(int64_t));
    o->status = ttp_time_mix_decode(&o->times, first, count, (struct ttp_bytes){exact, size},
                                    (struct ttp_workspace){workspace, workspace_bytes}, &o->err);
    if (o->status != TTAPE_OK) {
        ck_assert_int_eq(o->status, o->err.status);
        ck_assert_uint_le(o->err.offset, size);
        ck_assert(strncmp(o->err.rule, "T-MIX-", 6) == 0);
    }
    free(exact);
    free(workspace);
}

static void free_output(struct output *o)
{
    free(o->times.delta);
    free(o->times.wide);
}

static uint32_t wide_before(const struct input *in, uint32_t event)
{
    uint32_t wide = 0;
    for (uint32_t i = 0; i < event; i++)
        wide += in->delta[i] == TTP_DELTA_WIDE;
    return wide;
}

static void check_blocks(const struct input *in, uint32_t first, uint32_t count)
{
    uint32_t events = in->times.event_count;
    uint64_t start = (uint64_t)first * TTP_TIME_BLOCK_EVENTS;
    uint64_t end = start + (uint64_t)count * TTP_TIME_BLOCK_EVENTS;
    struct output o;

    start = start < events ? start : events;
    end = end < events ? end : events;
    decode(&o, in, in->section, in->size_bytes, first, count);
    ck_assert_int_eq(o.status, TTAPE_OK);
    for (uint32_t i = 0; i < events; i++) /* nothing outside of the blocks is written */
        ck_assert_uint_eq(o.times.delta[i], i >= start && i < end ? in->delta[i] : 0);
    uint32_t before = wide_before(in, (uint32_t)start);
    ck_assert_uint_eq(o.times.wide_count, wide_before(in, (uint32_t)end) - before);
    for (uint32_t w = 0; w < o.times.wide_count; w++)
        ck_assert_int_eq(o.times.wide[w], in->wide[before + w]);
    free_output(&o);
}

static void check_directory(const struct input *in)
{
    uint32_t events = in->times.event_count, blocks = ttp_time_mix_block_count(events);
    int64_t *ticks = malloc(sizeof(int64_t) * (blocks + 1));
    uint32_t segment = 0, wide = 0;
    uint64_t sum = 0;
    ttape_error err;

    ck_assert_int_eq(ttp_time_mix_directory(events, ticks, in->section, in->size_bytes, &err),
                     TTAPE_OK);
    for (uint32_t i = 0; i < events; i++) {
        for (; segment < in->times.segment_count && in->segment_start[segment] == i; segment++)
            sum = 0;
        if (i % TTP_TIME_BLOCK_EVENTS == 0)
            ck_assert_int_eq(ticks[i / TTP_TIME_BLOCK_EVENTS], (int64_t)sum);
        sum += in->delta[i] != TTP_DELTA_WIDE ? in->delta[i] : (uint64_t)in->wide[wide++];
    }
    free(ticks);
}

START_TEST(round_trip) /* T-MIX-01 T-MIX-03 T-MIX-04 T-MIX-08 T-MIX-09 */
{
    static const uint32_t sizes[] = {0, 1, 2, 3, 5, 17, 100, 457, 3000, 32769, 32768, 70000};
    size_t count = sizeof(sizes) / sizeof(sizes[0]);
    count -= ttest_every(2) == 1 ? 0 : 2; /* the last two take as long as all others */

    for (size_t s = 0; s < count; s++) {
        struct input in = {0};
        if (sizes[s] >= TTP_TIME_BLOCK_EVENTS && (s + (size_t)_i) % ttest_step(2, 2) != 0)
            continue; /* the long sizes in turn */
        make_input(&in, (enum kind)_i, sizes[s]);
        encode_input(&in);
        ck_assert_uint_eq(in.size_bytes == 0, sizes[s] == 0);
        check_blocks(&in, 0, UINT32_MAX);
        check_directory(&in);
        if (sizes[s] > TTP_TIME_BLOCK_EVENTS) {
            check_blocks(&in, 0, 1);
            check_blocks(&in, 1, 1);
            check_blocks(&in, 1, 7);
            check_blocks(&in, 9, UINT32_MAX);
        }
        free_input(&in);
    }
}
END_TEST

/* FNV-1a of the sections of all sizes: any compiler, any level of optimisation, any machine. */
START_TEST(same_bytes) /* T-MIX-05 T-MIX-07 and T-MIX-11 to T-MIX-20 */
{
    static const uint32_t sizes[] = {1, 457, 3000, 40000};
    static const uint32_t expected[KINDS] = {
        0x6107927,  0xa858260f, 0x535aff83, 0xb34763ed, 0x5bbd3b42,
        0xd57dc211, 0x9ce7ba5e, 0x38593527, 0x62a1fa32,
    };
    uint32_t hash = 2166136261u;

    for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
        struct input in = {0};
        make_input(&in, (enum kind)_i, sizes[s]);
        encode_input(&in);
        for (size_t i = 0; i < in.size_bytes; i++)
            hash = (hash ^ in.section[i]) * 16777619u;
        free_input(&in);
    }
    ck_assert_msg(hash == expected[_i], "kind %d: 0x%x", _i, hash);
}
END_TEST

START_TEST(every_truncation) /* T-MIX-02 T-MIX-06 T-MIX-10 */
{
    struct input in = {0};

    make_input(&in, (enum kind)_i, 300);
    encode_input(&in);
    for (size_t size = 0; size < in.size_bytes; size += ttest_every(5)) {
        struct output o;
        decode(&o, &in, in.section, size, 0, UINT32_MAX);
        free_output(&o);
    }
    free_input(&in);
}
END_TEST

START_TEST(every_bit) /* T-MIX-06 T-MIX-09 T-MIX-10 */
{
    struct input in = {0};

    make_input(&in, (enum kind)_i, 200);
    encode_input(&in);
    for (size_t bit = 0; bit < 8 * in.size_bytes; bit += ttest_every(11)) {
        struct output o;
        in.section[bit / 8] ^= (uint8_t)(1u << bit % 8);
        decode(&o, &in, in.section, in.size_bytes, 0, UINT32_MAX);
        free_output(&o);
        in.section[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    free_input(&in);
}
END_TEST

START_TEST(garbage)
{
    struct input in = {0};

    make_input(&in, WIDE, 4000);
    in.section = malloc(5000);
    for (unsigned round = 0; round < 300; round += ttest_every(5)) {
        struct output o;
        size_t size = random_below(round < 200 ? 300 : 5000);
        for (size_t i = 0; i < size; i++)
            in.section[i] = (uint8_t)(round % 3 == 0 ? random_below(3) - 1 : random_below(256));
        decode(&o, &in, in.section, size, 0, UINT32_MAX);
        free_output(&o);
    }
    free_input(&in);
}
END_TEST

static void expect(const struct input *in, const uint8_t *data, size_t size, ttape_status status,
                   const char *rule)
{
    struct output o;
    decode(&o, in, data, size, 0, UINT32_MAX);
    ck_assert_int_eq(o.status, status);
    ck_assert_str_eq(o.err.rule, rule);
    free_output(&o);
}

START_TEST(fields)
{
    struct input in = {0};
    uint8_t ones[16], bytes[64] = {0};
    int64_t ticks[2];
    ttape_error err;

    memset(ones, 0xff, sizeof(ones));
    make_input(&in, BURSTY, 40000);
    encode_input(&in);
    expect(&in, in.section, 0, TTAPE_E_TRUNCATED, "T-MIX-02");
    expect(&in, ones, 16, TTAPE_E_CORRUPT, "T-MIX-02");
    ck_assert_int_eq(ttp_time_mix_directory(40000, ticks, ones, 16, &err), TTAPE_E_CORRUPT);
    ck_assert_str_eq(err.rule, "T-MIX-02");
    in.section[0] ^= 4;
    expect(&in, in.section, in.size_bytes, TTAPE_E_CORRUPT, "T-MIX-03");
    in.section[0] ^= 4;
    in.section = realloc(in.section, in.size_bytes + 1);
    in.section[in.size_bytes] = 0;
    expect(&in, in.section, in.size_bytes + 1, TTAPE_E_CORRUPT, "T-MIX-10");
    expect(&in, in.section, in.size_bytes / 2, TTAPE_E_TRUNCATED, "T-MIX-10");
    free_input(&in);
    in = (struct input){0};
    make_input(&in, CONSTANT, 5);
    expect(&in, bytes, sizeof(bytes), TTAPE_E_CORRUPT, "T-MIX-06");
    free_input(&in);
    in = (struct input){0};
    make_input(&in, CONSTANT, 0);
    expect(&in, bytes, 1, TTAPE_E_CORRUPT, "T-MIX-01");
    free_input(&in);
}
END_TEST

START_TEST(limits) /* T-MIX-09: more wide values than the caller has room for */
{
    struct input in = {0};
    struct output o;

    make_input(&in, ALL_WIDE, 20);
    encode_input(&in);
    in.times.wide_count = in.times.wide_capacity = 19;
    decode(&o, &in, in.section, in.size_bytes, 0, UINT32_MAX);
    ck_assert_int_eq(o.status, TTAPE_E_LIMIT);
    ck_assert_str_eq(o.err.rule, "T-MIX-09");
    free_output(&o);
    free_input(&in);
    ck_assert_uint_le(ttp_time_mix_encode_workspace(1000000), 12u << 20);
    ck_assert_uint_le(ttp_time_mix_decode_workspace(1000000, 5000), 12u << 20);
    ck_assert_uint_le(ttp_time_mix_encode_workspace(457), 1u << 18);
}
END_TEST

START_TEST(too_little_room)
{
    struct input in = {0};
    make_input(&in, SEGMENTS, 1000);
    size_t workspace_bytes = ttp_time_mix_encode_workspace(1000);
    size_t bound = ttp_time_mix_encode_bound(1000);
    void *workspace = malloc(workspace_bytes);
    uint8_t *out = malloc(bound);
    ttape_error err;

    struct ttp_workspace enough = {workspace, workspace_bytes}, less = enough;
    struct ttp_buffer to = {out, bound, 0};
    less.size--;
    ck_assert_int_eq(ttp_time_mix_encode(&in.times, less, &to, &err), TTAPE_E_ARGUMENT);
    ck_assert_int_eq(ttp_time_mix_decode(&in.times, 0, 1, (struct ttp_bytes){out, 0}, less, &err),
                     TTAPE_E_ARGUMENT);
    to.capacity--;
    ck_assert_int_eq(ttp_time_mix_encode(&in.times, enough, &to, &err), TTAPE_E_ARGUMENT);
    free(out);
    free(workspace);
    free_input(&in);
}
END_TEST

/* Times that repeat must cost next to nothing, and noise not much more than itself. */
START_TEST(worth_it)
{
    struct input in = {0};

    make_input(&in, CONSTANT, 70000);
    encode_input(&in);
    ck_assert_uint_le(in.size_bytes, 60);
    free_input(&in);
    in = (struct input){0};
    make_input(&in, SEGMENTS, 70000); /* 6 values of equal chance: 22,618 bytes, and learning */
    encode_input(&in);
    ck_assert_uint_le(in.size_bytes, 26500);
    free_input(&in);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("time_mix");
    TCase *tests = tcase_create("all");
    tcase_set_timeout(tests, 280);
    tcase_add_loop_test(tests, round_trip, 0, KINDS);
    tcase_add_loop_test(tests, same_bytes, 0, KINDS);
    tcase_add_loop_test(tests, every_truncation, 0, KINDS);
    tcase_add_loop_test(tests, every_bit, 0, KINDS);
    tcase_add_test(tests, garbage);
    tcase_add_test(tests, fields);
    tcase_add_test(tests, limits);
    tcase_add_test(tests, too_little_room);
    tcase_add_test(tests, worth_it);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}

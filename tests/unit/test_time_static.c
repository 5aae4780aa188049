/* The static time form: round trips, partial decoding, the directory, same bytes everywhere, and
 * any damage ends in a refusal or in other numbers, never in a crash. */
#include <stdlib.h>
#include <string.h>

#include "format/base/bytes.h"
#include "format/times/time_static.h"
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

enum kind { CONSTANT, RANDOM, BURSTY, WIDE, SEGMENTS, COARSE, MANY_CODES, SMALL, KINDS };

/* Calls of a few functions, each with its own time; `i` draws what the kind asks for. */
static uint32_t draw_delta(enum kind kind, uint32_t code, uint32_t i)
{
    uint32_t usual = 30 + code % 13 * 9 + random_below(6);
    switch (kind) {
    case CONSTANT: return 42;
    case RANDOM: return random_below(1u << (1 + random_below(20)));
    case BURSTY: return random_below(500) == 0 ? 1u << random_below(31) : usual << (i / 700 % 3);
    case WIDE: return random_below(40) == 0 ? TTP_DELTA_WIDE - random_below(3) : usual;
    case COARSE: return random_below(9) == 0;
    case SMALL: return code == 5 ? 70 : 40;
    default: return usual;
    }
}

static uint32_t draw_code(enum kind kind, uint32_t i)
{
    if (kind == MANY_CODES)
        return random_below(1u << 25);
    if (kind == SMALL)
        return i % 6;
    return random_below(10) == 0 ? random_below(60) : i % 24;
}

static void make_input(struct input *in, enum kind kind, uint32_t events)
{
    seed = 1000u * events + kind;
    memset(in, 0, sizeof(*in));
    in->codes = malloc(sizeof(uint32_t) * (events + 1));
    in->delta = malloc(sizeof(uint32_t) * (events + 1));
    in->wide = malloc(sizeof(int64_t) * (events + 1));
    in->segment_start = malloc(sizeof(uint32_t) * (events + 2));
    uint32_t segments = 0, wide = 0;
    in->segment_start[segments++] = 0;
    for (uint32_t i = 0; i < events; i++) {
        in->codes[i] = draw_code(kind, i);
        in->delta[i] = draw_delta(kind, in->codes[i], i);
        if (in->delta[i] == TTP_DELTA_WIDE) { /* one draw a statement: the order is the input */
            uint64_t bits = random_below(1u << 30);
            bits <<= random_below(35);
            in->wide[wide++] = (int64_t)bits * (random_below(2) ? 1 : -1);
        }
        if (kind == SEGMENTS && segments <= i && random_below(457) == 0) {
            uint32_t last = in->segment_start[segments - 1];
            in->segment_start[segments++] = random_below(9) ? i + 1 : last; /* some are empty */
        }
    }
    in->segment_start[segments] = events;
    in->times = (struct ttp_times){in->codes, in->segment_start, in->delta, in->wide, events,
                                   segments,  1u << 24,          wide,      wide};
}

static void free_input(struct input *in)
{
    free(in->codes);
    free(in->delta);
    free(in->wide);
    free(in->segment_start);
    free(in->section);
}

static ttape_status encode(struct input *in, int dirt)
{
    size_t workspace_bytes = ttp_time_static_encode_workspace(in->times.event_count);
    size_t out_bytes = ttp_time_static_encode_bound(in->times.event_count);
    void *workspace = malloc(workspace_bytes);
    ttape_error err;
    memset(workspace, dirt, workspace_bytes);
    free(in->section);
    in->section = malloc(out_bytes);
    struct ttp_buffer out = {in->section, out_bytes, 0};
    ttape_status status = ttp_time_static_encode(
        &in->times, (struct ttp_workspace){workspace, workspace_bytes}, &out, &err);
    in->size_bytes = out.size;
    free(workspace);
    ck_assert(in->size_bytes <= out_bytes);
    return status;
}

struct output {
    struct ttp_times times;
    ttape_error err;
    ttape_status status;
};

/* Decodes from a copy of just that size, so that the sanitizer sees one byte over. */
static struct output decode(const struct input *in, const uint8_t *section, size_t size_bytes,
                            uint32_t first, uint32_t count)
{
    struct output out = {.times = in->times};
    uint32_t events = in->times.event_count;
    size_t workspace_bytes = ttp_time_static_decode_workspace(events, in->times.symbol_count);
    uint8_t *workspace = malloc(workspace_bytes), *copy = malloc(size_bytes + !size_bytes);
    memcpy(copy, section, size_bytes);
    out.times.delta = calloc(events + 1, sizeof(uint32_t));
    out.times.wide = calloc(in->times.wide_count + 1, sizeof(int64_t));
    out.times.wide_count = 77;
    out.status =
        ttp_time_static_decode(&out.times, first, count, (struct ttp_bytes){copy, size_bytes},
                               (struct ttp_workspace){workspace, workspace_bytes}, &out.err);
    ck_assert(out.times.wide_count <= in->times.wide_count);
    free(workspace);
    free(copy);
    return out;
}

static void free_output(struct output *out)
{
    free(out->times.delta);
    free(out->times.wide);
}

static void check_same(const struct input *in, const struct output *out)
{
    ck_assert_int_eq(out->status, TTAPE_OK);
    ck_assert_uint_eq(out->times.wide_count, in->times.wide_count);
    ck_assert_mem_eq(out->times.delta, in->delta, sizeof(uint32_t) * in->times.event_count);
    ck_assert_mem_eq(out->times.wide, in->wide, sizeof(int64_t) * in->times.wide_count);
}

/* Every block alone, and two together: the same numbers as all at once. */
static void check_parts(const struct input *in)
{
    uint32_t blocks = ttp_time_static_block_count(in->times.event_count), wide_at = 0;
    for (uint32_t b = 0; b < blocks; b++) {
        uint32_t begin = b * TTP_TIME_BLOCK_EVENTS, left = in->times.event_count - begin, wide = 0;
        uint32_t count = left < TTP_TIME_BLOCK_EVENTS ? left : TTP_TIME_BLOCK_EVENTS;
        struct output out = decode(in, in->section, in->size_bytes, b, 1);
        ck_assert_int_eq(out.status, TTAPE_OK);
        ck_assert_mem_eq(out.times.delta + begin, in->delta + begin, sizeof(uint32_t) * count);
        for (uint32_t i = 0; i < count; i++)
            wide += in->delta[begin + i] == TTP_DELTA_WIDE;
        ck_assert_uint_eq(out.times.wide_count, wide);
        ck_assert_mem_eq(out.times.wide, in->wide + wide_at, sizeof(int64_t) * wide);
        wide_at += wide;
        free_output(&out);
    }
    struct output out = decode(in, in->section, in->size_bytes, blocks, UINT32_MAX);
    ck_assert_int_eq(out.status, TTAPE_OK);
    free_output(&out);
}

/* The second half beside the first, with the same workspace: the numbers of both as of all. */
static void check_halves(const struct input *in)
{
    struct ttp_times first = in->times, second;
    uint32_t events = in->times.event_count, blocks = ttp_time_static_block_count(events);
    uint32_t half = (blocks + 1) / 2;
    size_t workspace_bytes = ttp_time_static_decode_workspace(events, in->times.symbol_count);
    uint8_t *workspace = malloc(workspace_bytes);
    uint8_t *scratch = malloc(ttp_time_static_scratch_bytes());
    ttape_error err;
    first.delta = calloc(events + 1, sizeof(uint32_t));
    second = first;
    first.wide = calloc(in->times.wide_count + 1, sizeof(int64_t));
    second.wide = calloc(in->times.wide_count + 1, sizeof(int64_t));
    ck_assert_int_eq(ttp_time_static_open(&first, (struct ttp_bytes){in->section, in->size_bytes},
                                          (struct ttp_workspace){workspace, workspace_bytes}, &err),
                     TTAPE_OK);
    ttape_status status =
        ttp_time_static_blocks_beside(&second, half, blocks - half, workspace, scratch, &err);
    bool is_tiny = events != 0 && in->section[0] == TTP_STA_FORM_TINY;
    ck_assert_int_eq(status, is_tiny ? TTAPE_E_ARGUMENT : TTAPE_OK);
    if (!is_tiny) {
        ck_assert_int_eq(ttp_time_static_blocks(&first, 0, half, workspace, &err), TTAPE_OK);
        ck_assert_mem_eq(first.delta, in->delta, sizeof(uint32_t) * events);
        ck_assert_uint_eq(first.wide_count + second.wide_count, in->times.wide_count);
        ck_assert_mem_eq(first.wide, in->wide, sizeof(int64_t) * first.wide_count);
        ck_assert_mem_eq(second.wide, in->wide + first.wide_count,
                         sizeof(int64_t) * second.wide_count);
    }
    free(first.delta);
    free(first.wide);
    free(second.wide);
    free(workspace);
    free(scratch);
}

/* T-STA-15: the directory's ticks are the sum of the segment's differences before the block. */
static void check_directory(const struct input *in)
{
    uint32_t blocks = ttp_time_static_block_count(in->times.event_count), segment = 0, wide = 0;
    int64_t *ticks = malloc(sizeof(int64_t) * (blocks + 1));
    uint64_t sum = 0;
    ck_assert_int_eq(
        ttp_time_static_directory(in->times.event_count, ticks, in->section, in->size_bytes, NULL),
        TTAPE_OK);
    for (uint32_t i = 0; i < in->times.event_count; i++) {
        while (in->segment_start[segment + 1] <= i) {
            segment++;
            sum = 0;
        }
        if (i % TTP_TIME_BLOCK_EVENTS == 0)
            ck_assert_int_eq(ticks[i / TTP_TIME_BLOCK_EVENTS], (int64_t)sum);
        sum += in->delta[i] == TTP_DELTA_WIDE ? (uint64_t)in->wide[wide++] : in->delta[i];
    }
    free(ticks);
}

START_TEST(round_trip)
{
    static const uint32_t sizes[] = {0,    1,    2,    3,     7,     64,    200,   457,   1000,
                                     5000, 8192, 8193, 32767, 32768, 32769, 65536, 70000, 150000};
    uint32_t count = sizeof(sizes) / sizeof(*sizes);
    count -= ttest_every(2) == 1 ? 0 : 3; /* the last three take longer than all others */
    for (uint32_t i = 0; i < count; i++) {
        struct input in;
        make_input(&in, (enum kind)_i, sizes[i]);
        ck_assert_int_eq(encode(&in, 0xa5), TTAPE_OK);
        struct output out = decode(&in, in.section, in.size_bytes, 0, UINT32_MAX);
        check_same(&in, &out);
        check_parts(&in);
        check_halves(&in);
        check_directory(&in);
        free_output(&out);
        free_input(&in);
    }
}
END_TEST

/* A code whose differences are all wide: its mean is the most that a mean can be (once, rounding
 * went past that, and the decoder refused the section). */
START_TEST(all_wide_code)
{
    struct input in;
    make_input(&in, SMALL, 700);
    in.times.wide_count = in.times.wide_capacity = 0;
    for (uint32_t i = 0; i < 700; i++)
        if (in.codes[i] == 5 || in.codes[i] == 2) {
            in.delta[i] = TTP_DELTA_WIDE;
            in.wide[in.times.wide_count++] = -(int64_t)i;
        }
    in.times.wide_capacity = in.times.wide_count;
    ck_assert_int_eq(encode(&in, 0xa5), TTAPE_OK);
    struct output out = decode(&in, in.section, in.size_bytes, 0, UINT32_MAX);
    check_same(&in, &out);
    free_output(&out);
    free_input(&in);
}
END_TEST

/* From 16 blocks on only half of them are clustered by: contexts that stand in the others alone get
 * a table too (once, they had whatever the workspace held before). */
START_TEST(unsampled_contexts)
{
    struct input in;
    make_input(&in, SMALL, 20 * TTP_TIME_BLOCK_EVENTS);
    for (uint32_t i = 0; i < in.times.event_count; i++)
        if (i / TTP_TIME_BLOCK_EVENTS % 2 == 1)
            in.codes[i] += 100 + random_below(50);
    ck_assert_int_eq(encode(&in, 0xff), TTAPE_OK);
    struct output out = decode(&in, in.section, in.size_bytes, 0, UINT32_MAX);
    check_same(&in, &out);
    free_output(&out);
    free_input(&in);
}
END_TEST

/* T-STA-03: what is left in the workspace does not matter, nor does the compiler: the sums were
 * made by gcc -O3 and hold everywhere. */
START_TEST(same_bytes)
{
    static const uint64_t sums[KINDS] = {
        0x20599c55988341fcu, 0xd067251a2eb79349u, 0x89b06c88eff70818u, 0xafca4f34e575d884u,
        0xf359bdfeb0f39e6eu, 0x947c91ff587311b0u, 0x2ac6d828cfdb25d5u, 0x7ef801d79095e589u};
    struct input in;
    uint64_t sum = 0xcbf29ce484222325u;
    for (uint32_t events = 300; events < 100000; events = events * 6 + 1) {
        make_input(&in, (enum kind)_i, events);
        ck_assert_int_eq(encode(&in, 0), TTAPE_OK);
        uint8_t *first = malloc(in.size_bytes);
        size_t size_bytes = in.size_bytes;
        memcpy(first, in.section, size_bytes);
        ck_assert_int_eq(encode(&in, 0xff), TTAPE_OK);
        ck_assert_uint_eq(size_bytes, in.size_bytes);
        ck_assert_mem_eq(first, in.section, size_bytes);
        for (size_t i = 0; i < size_bytes; i++)
            sum = (sum ^ first[i]) * 0x100000001b3u;
        free(first);
        free_input(&in);
    }
    ck_assert_uint_eq(sum, sums[_i]);
}
END_TEST

/* Sizes that a change may only lower: few events must stay cheap. */
START_TEST(small_is_cheap)
{
    struct input in;
    make_input(&in, SMALL, 1);
    ck_assert_int_eq(encode(&in, 1), TTAPE_OK);
    ck_assert_uint_le(in.size_bytes, 4);
    free_input(&in);
    make_input(&in, SMALL, 200);
    ck_assert_int_eq(encode(&in, 1), TTAPE_OK);
    ck_assert_uint_le(in.size_bytes, 70);
    free_input(&in);
    make_input(&in, CONSTANT, 1000000);
    ck_assert_int_eq(encode(&in, 1), TTAPE_OK);
    ck_assert_uint_le(in.size_bytes, 1000);
    free_input(&in);
}
END_TEST

START_TEST(does_not_pay)
{
    for (uint32_t events = 900; events < 100000; events *= 9) {
        struct input in;
        make_input(&in, CONSTANT, events);
        in.times.wide_count = in.times.wide_capacity = events;
        for (uint32_t i = 0; i < events; i++) {
            in.delta[i] = TTP_DELTA_WIDE;
            in.wide[i] = INT64_MIN + (int64_t)random_below(1u << 30);
        }
        ck_assert_int_eq(encode(&in, 0), TTAPE_E_LIMIT);
        free_input(&in);
    }
}
END_TEST

START_TEST(too_little_room)
{
    struct input in;
    uint8_t bytes[16];
    struct ttp_workspace workspace = {bytes, sizeof bytes};
    struct ttp_buffer out = {bytes, sizeof bytes, 0};
    ttape_error err;
    make_input(&in, SMALL, 100);
    ck_assert_int_eq(ttp_time_static_encode(&in.times, workspace, &out, &err), TTAPE_E_ARGUMENT);
    ck_assert_int_eq(ttp_time_static_decode(
                         &in.times, 0, 1, (struct ttp_bytes){bytes, sizeof bytes}, workspace, &err),
                     TTAPE_E_ARGUMENT);
    free_input(&in);
}
END_TEST

/* ---- damage ---- */

/* Small sections of either form. */
static const struct {
    enum kind kind;
    uint32_t events;
} victims[] = {{SMALL, 8200}, {WIDE, 120}, {COARSE, 9000}, {WIDE, 8193}};

START_TEST(every_truncation)
{
    struct input in;
    make_input(&in, victims[_i].kind, victims[_i].events);
    ck_assert_int_eq(encode(&in, 0), TTAPE_OK);
    size_t stride = in.size_bytes / 500 + 1;
    for (size_t size = 0; size < in.size_bytes; size += size < 64 ? 1 : stride * ttest_every(5)) {
        struct output out = decode(&in, in.section, size, 0, UINT32_MAX);
        if (in.section[0] == TTP_STA_FORM_TABLES)
            ck_assert_int_eq(out.status, TTAPE_E_TRUNCATED);
        free_output(&out);
    }
    free_input(&in);
}
END_TEST

START_TEST(every_bit)
{
    struct input in;
    make_input(&in, victims[_i].kind, victims[_i].events);
    ck_assert_int_eq(encode(&in, 0), TTAPE_OK);
    size_t stride = in.size_bytes * 8 / 3000 + 1;
    for (size_t bit = 0; bit < in.size_bytes * 8;
         bit += (bit < 512 ? 1 : stride) * ttest_every(11)) {
        in.section[bit / 8] ^= (uint8_t)(1u << bit % 8);
        struct output out = decode(&in, in.section, in.size_bytes, 0, UINT32_MAX);
        if (out.status != TTAPE_OK)
            ck_assert(out.err.offset <= in.size_bytes && out.err.rule[0] == 'T');
        free_output(&out);
        in.section[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    free_input(&in);
}
END_TEST

START_TEST(garbage)
{
    struct input in;
    make_input(&in, SEGMENTS, 40000);
    uint8_t bytes[400];
    for (uint32_t round = 0; round < 60; round++) {
        for (size_t i = 0; i < sizeof(bytes); i++)
            bytes[i] = (uint8_t)random_below(256);
        bytes[0] = TTP_STA_FORM_TABLES;
        bytes[1] &= 0x3f;
        bytes[2] &= 0x3f;
        bytes[3] = 100;
        struct output out = decode(&in, bytes, sizeof(bytes), 0, UINT32_MAX);
        ck_assert_int_ne(out.status, TTAPE_OK);
        free_output(&out);
    }
    free_input(&in);
}
END_TEST

/* T-STA-51: a damaged word of a block is noticed at the block's end at the latest. */
START_TEST(every_word)
{
    struct input in;
    make_input(&in, COARSE, 9000);
    ck_assert_int_eq(encode(&in, 0), TTAPE_OK);
    struct ttp_reader_cursor c = ttp_reader_cursor_init(in.section, in.size_bytes);
    ttp_read_bytes(&c, 3);
    uint64_t model_bytes = ttp_read_varint(&c);
    ttp_read_svarint(&c);
    uint64_t words = ttp_read_varint(&c) + 2;
    ttp_read_varint(&c);
    ck_assert_uint_gt(words, 100);
    for (uint64_t i = 0; i < 2 * words; i += i < 8 ? 1 : 7) {
        in.section[(size_t)(c.at - c.start) + model_bytes + i] ^= 0x11;
        struct output out = decode(&in, in.section, in.size_bytes, 0, UINT32_MAX);
        ck_assert_int_eq(out.status, TTAPE_E_CORRUPT);
        ck_assert_mem_eq(out.err.rule, "T-STA-5", 7);
        free_output(&out);
        in.section[(size_t)(c.at - c.start) + model_bytes + i] ^= 0x11;
    }
    free_input(&in);
}
END_TEST

/* T-STA-50: a block that starts below the states that there are, or above them. */
START_TEST(no_state)
{
    struct input in;
    make_input(&in, COARSE, 9000);
    ck_assert_int_eq(encode(&in, 0), TTAPE_OK);
    struct ttp_reader_cursor c = ttp_reader_cursor_init(in.section, in.size_bytes);
    ttp_read_bytes(&c, 3);
    uint64_t model_bytes = ttp_read_varint(&c);
    ttp_read_svarint(&c);
    ttp_read_varint(&c);
    ttp_read_varint(&c);
    uint8_t *state = in.section + (size_t)(c.at - c.start) + model_bytes;
    for (int byte = 0; byte < 256; byte += 255) {
        memset(state, byte, 4);
        struct output out = decode(&in, in.section, in.size_bytes, 0, UINT32_MAX);
        ck_assert_int_eq(out.status, TTAPE_E_CORRUPT);
        ck_assert_str_eq(out.err.rule, "T-STA-50");
        ck_assert_uint_eq(out.err.offset, (uint64_t)(state - in.section));
        free_output(&out);
    }
    free_input(&in);
}
END_TEST

/* T-STA-38: what rounds to nothing beside three that are 4,096 times as frequent still has one. */
START_TEST(rare_symbols_have_a_share)
{
    uint8_t level[TTP_STA_SYMBOLS] = {0};
    uint16_t frequency[TTP_STA_SYMBOLS];
    uint32_t sum = 0;
    level[3] = level[70] = level[245] = TTP_STA_LEVEL_MAX;
    level[5] = level[100] = 1;
    ttp_sta_frequencies(level, frequency);
    for (uint32_t s = 0; s < TTP_STA_SYMBOLS; s++)
        sum += frequency[s];
    ck_assert_uint_eq(sum, TTP_STA_PROB_ONE);
    ck_assert(frequency[5] == 1 && frequency[100] == 1 && frequency[4] == 0);
    ck_assert(frequency[3] >= 1364 && frequency[70] >= 1364 && frequency[245] >= 1364);
}
END_TEST

/* One field at a time: status, rule and offset. */
static void expect(const struct input *in, const uint8_t *section, size_t size_bytes,
                   ttape_status status, const char *rule, uint64_t offset)
{
    struct output out = decode(in, section, size_bytes, 0, UINT32_MAX);
    ck_assert_int_eq(out.status, status);
    ck_assert_str_eq(out.err.rule, rule);
    ck_assert_uint_eq(out.err.offset, offset);
    free_output(&out);
}

START_TEST(fields)
{
    struct input in;
    uint8_t copy[4000];
    make_input(&in, SMALL, 8200);
    ck_assert_int_eq(encode(&in, 0), TTAPE_OK);
    size_t size = in.size_bytes;
    ck_assert_uint_lt(size, sizeof(copy) - 1);
    expect(&in, copy, 0, TTAPE_E_TRUNCATED, "T-STA-01", 0);
    memcpy(copy, in.section, size);
    copy[0] = 9;
    expect(&in, copy, size, TTAPE_E_CORRUPT, "T-STA-02", 0);
    copy[0] = TTP_STA_FORM_TINY; /* too many events for it */
    expect(&in, copy, size, TTAPE_E_CORRUPT, "T-STA-02", 0);
    memcpy(copy, in.section, size);
    copy[1] |= 0x40;
    expect(&in, copy, size, TTAPE_E_CORRUPT, "T-STA-11", 1);
    memcpy(copy, in.section, size);
    copy[2] = 64;
    expect(&in, copy, size, TTAPE_E_CORRUPT, "T-STA-12", 2);
    memcpy(copy, in.section, size);
    copy[size] = 0;
    expect(&in, copy, size + 1, TTAPE_E_CORRUPT, "T-STA-13", size + 1);
    expect(&in, copy, size - 1, TTAPE_E_TRUNCATED, "T-STA-13", size - 1);
    free_input(&in);
    make_input(&in, SMALL, 0);
    expect(&in, copy, 1, TTAPE_E_CORRUPT, "T-STA-01", 0);
    free_input(&in);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("time_static");
    TCase *tests = tcase_create("all");
    tcase_set_timeout(tests, 280);
    tcase_add_loop_test(tests, round_trip, 0, KINDS);
    tcase_add_loop_test(tests, same_bytes, 0, KINDS);
    tcase_add_test(tests, all_wide_code);
    tcase_add_test(tests, unsampled_contexts);
    tcase_add_test(tests, small_is_cheap);
    tcase_add_test(tests, does_not_pay);
    tcase_add_test(tests, too_little_room);
    tcase_add_loop_test(tests, every_truncation, 0, 4);
    tcase_add_loop_test(tests, every_bit, 0, 4);
    tcase_add_test(tests, every_word);
    tcase_add_test(tests, no_state);
    tcase_add_test(tests, rare_symbols_have_a_share);
    tcase_add_test(tests, garbage);
    tcase_add_test(tests, fields);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}

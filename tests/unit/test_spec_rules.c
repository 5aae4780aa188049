/* Rules of the specification that no reader can break an error out of, because they say how bytes
 * are made. Each test writes with the format layer and reads the bytes as the page says, field by
 * field: what is shared with the writer is the coder alone. */
#include <stdlib.h>
#include <string.h>

#include "format/base/bytes.h"
#include "format/base/checksum.h"
#include "format/base/coder.h"
#include "format/container/chunk.h"
#include "format/container/definitions.h"
#include "format/container/measures/summary.h"
#include "format/container/segments.h"
#include "format/container/values.h"
#include "tests/asserts.h"

enum { ROOM = 32768 };

/* F-NUM-01 */
START_TEST(fixed_numbers_are_little_endian)
{
    static const uint8_t numbers[] = {0x02, 0x01, 0x06, 0x05, 0x04, 0x03, 0xfe, 0xff,
                                      0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x05, 0x04};
    uint8_t out[14], chunk[TTP_CHUNK_HEADER_BYTES];
    ttp_store16(out, 0x0102);
    ttp_store32(out + 2, 0x03040506);
    ttp_store64(out + 6, (uint64_t)INT64_C(-2));
    ck_assert_mem_eq(out, numbers, sizeof out);
    ck_assert_uint_eq(ttp_load16(numbers), 0x0102);
    ck_assert_uint_eq(ttp_load32(numbers + 2), 0x03040506);
    ck_assert_int_eq((int64_t)ttp_load64(numbers + 6), -2);
    ttp_chunk_write(&(struct ttp_chunk){.kind = 0x8001, .scope = 0x0a0b0c0d}, chunk);
    ck_assert(chunk[8] == 0x01 && chunk[9] == 0x80 && chunk[12] == 0x0d && chunk[15] == 0x0a);
}
END_TEST

/* F-NUM-03 */
START_TEST(signed_varints_are_zigzag)
{
    static const struct {
        int64_t value;
        uint8_t size, bytes[10];
    } all[] = {{0, 1, {0}},
               {-1, 1, {1}},
               {1, 1, {2}},
               {-2, 1, {3}},
               {64, 2, {0x80, 0x01}},
               {INT64_MAX, 10, {0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01}},
               {INT64_MIN, 10, {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01}}};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        uint8_t out[10];
        struct ttp_writer_cursor w = ttp_writer_cursor_init(out, sizeof out);
        ttp_write_svarint(&w, all[i].value);
        ck_assert_uint_eq(ttp_written(&w), all[i].size);
        ck_assert_mem_eq(out, all[i].bytes, all[i].size);
        struct ttp_reader_cursor r = ttp_reader_cursor_init(out, all[i].size);
        ck_assert_int_eq(ttp_read_svarint(&r), all[i].value);
        ck_assert(!r.bad && ttp_reader_left(&r) == 0);
    }
}
END_TEST

/* F-NUM-04: any bytes, zeros and broken UTF-8 too. */
START_TEST(strings_are_a_length_and_bytes)
{
    static const char text[] = {'a', 0, (char)0xff, (char)0xc3};
    static const uint8_t expected[] = {4, 'a', 0, 0xff, 0xc3};
    uint8_t out[300];
    char longer[200];
    ttape_string read;
    ttape_error err = {0};
    struct ttp_writer_cursor w = ttp_writer_cursor_init(out, sizeof out);
    ttp_string_write(&w, (ttape_string){text, sizeof text});
    ck_assert_uint_eq(ttp_written(&w), sizeof expected);
    ck_assert_mem_eq(out, expected, sizeof expected);
    memset(longer, 'x', sizeof longer);
    ttp_string_write(&w, (ttape_string){longer, sizeof longer});
    ck_assert(out[5] == (200 | 0x80) && out[6] == 1 && out[7] == 'x');
    struct ttp_reader_cursor r = ttp_reader_cursor_init(out, ttp_written(&w));
    ck_assert_int_eq(ttp_string_read(&r, 1000, &read, &err), TTAPE_OK);
    ck_assert(read.size_bytes == sizeof text && memcmp(read.data, text, sizeof text) == 0);
    ck_assert_int_eq(ttp_string_read(&r, 1000, &read, &err), TTAPE_OK);
    ck_assert(read.size_bytes == sizeof longer && ttp_reader_left(&r) == 0);
}
END_TEST

/* ---- F-NUM-06: every reserved bit of every fixed block ---- */

enum block { FILE_HEADER, CHUNK_HEADER, FOOTER, HEAD };

/* Writes a good block and returns its size; where its hash stands, and what that covers. */
static size_t write_block(enum block block, uint8_t *out)
{
    struct ttp_partition_head head = {.section_count = 1,
                                      .event_count = 1,
                                      .segment_count = 1,
                                      .model = TTP_NO_MODEL,
                                      .sections = {{.kind = 1}}};
    switch (block) {
    case FILE_HEADER:
        ttp_file_header_write(&(struct ttp_file_header){0}, out);
        return TTP_FILE_HEADER_BYTES;
    case CHUNK_HEADER:
        ttp_chunk_write(&(struct ttp_chunk){.kind = 1}, out);
        return TTP_CHUNK_HEADER_BYTES;
    case FOOTER:
        ttp_footer_write(&(struct ttp_footer){TTP_FILE_HEADER_BYTES, 1000, 1}, out);
        return TTP_FOOTER_BYTES;
    default: ttp_partition_head_write(&head, out); return ttp_partition_head_bytes(1);
    }
}

static void seal(enum block block, uint8_t *bytes, size_t size)
{
    if (block == HEAD)
        ttp_store64(bytes, ttp_checksum(bytes + 8, size - 8));
    else
        ttp_store64(bytes + size - 8, ttp_checksum(bytes, size - 8));
}

static ttape_status read_block(enum block block, const uint8_t *bytes, size_t size,
                               ttape_error *err)
{
    struct ttp_file_header file;
    struct ttp_chunk chunk;
    struct ttp_footer footer;
    struct ttp_partition_head head;
    switch (block) {
    case FILE_HEADER: return ttp_file_header_read(bytes, size, &file, err);
    case CHUNK_HEADER: return ttp_chunk_read(bytes, 0, &chunk, err);
    case FOOTER: return ttp_footer_read(bytes, 1000 - TTP_FOOTER_BYTES, &footer, err);
    default: return ttp_partition_head_read(bytes, size, size, &head, err);
    }
}

START_TEST(reserved_bits_are_refused)
{
    static const struct {
        enum block block;
        size_t first_bit, end_bit;
        const char *rule;
    } all[] = {{FILE_HEADER, 12 * 8, 16 * 8, "F-FIL-06"},
               {FILE_HEADER, 32 * 8, 56 * 8, "F-FIL-06"},
               {CHUNK_HEADER, 10 * 8 + 2, 12 * 8, "F-CHK-04"},
               {FOOTER, 32 * 8, 56 * 8, "F-FOO-03"},
               {HEAD, 36 * 8, 40 * 8, "F-PAR-04"},
               {HEAD, 84 * 8, 88 * 8, "F-PAR-04"},
               {HEAD, 98 * 8 + 2, 100 * 8, "F-PAR-08"},
               {HEAD, 108 * 8, 112 * 8, "F-PAR-08"}};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        uint8_t bytes[256];
        ttape_error err = {0};
        size_t size = write_block(all[i].block, bytes);
        ck_assert_int_eq(read_block(all[i].block, bytes, size, &err), TTAPE_OK);
        for (size_t bit = all[i].first_bit; bit < all[i].end_bit; bit++) {
            write_block(all[i].block, bytes);
            bytes[bit / 8] = (uint8_t)(bytes[bit / 8] | 1u << bit % 8);
            seal(all[i].block, bytes, size);
            ck_assert_int_eq(read_block(all[i].block, bytes, size, &err), TTAPE_E_CORRUPT);
            ck_assert_str_eq(err.rule, all[i].rule);
        }
    }
}
END_TEST

/* ---- F-COD-06 ---- */

static uint64_t next_random(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state >> 33;
}

/* Whether the bytes decode to the same bits, as the page has it: at most four zeros made up. */
static bool decodes(const uint8_t *bytes, size_t size, const uint8_t *bits, size_t count,
                    uint32_t p)
{
    struct ttp_decoder d = ttp_decoder_init(bytes, size);
    for (size_t i = 0; i < count; i++)
        if (ttp_decode_with(&d, p) != bits[i])
            return false;
    return !ttp_decoder_cut(&d);
}

START_TEST(streams_end_with_the_fewest_bytes)
{
    static const uint32_t chances[] = {0, 6, 900, 32768, 60000, 65535};
    uint64_t state = 1;
    unsigned kept[2] = {0};
    for (int round = 0; round < 20000; round++) {
        uint8_t bits[80], bytes[256];
        size_t count = next_random(&state) % sizeof bits;
        uint32_t p = chances[next_random(&state) % (sizeof chances / sizeof chances[0])];
        struct ttp_encoder e = ttp_encoder_init(bytes, sizeof bytes);
        for (size_t i = 0; i < count; i++) {
            bits[i] = next_random(&state) % 65536 < p;
            ttp_encode_with(&e, p, bits[i]);
        }
        size_t before = (size_t)(e.at - bytes), size = ttp_encoder_finish(&e);
        ck_assert(decodes(bytes, size, bits, count, p));
        ck_assert(size == 0 || !decodes(bytes, size - 1, bits, count, p));
        ck_assert_uint_le(size - before, 1);
        kept[size - before]++;
    }
    ck_assert(kept[0] != 0 && kept[1] != 0);
}
END_TEST

/* ---- edges, F-EDG-01 ---- */

/* Reads what comes next and compares. */
static void number_is(struct ttp_decoder *d, struct ttp_number_model *m, uint64_t expected)
{
    ck_assert_uint_eq(ttp_decode_number(d, m), expected);
}

static void signed_is(struct ttp_decoder *d, struct ttp_signed_model *m, int64_t expected)
{
    ck_assert_int_eq(ttp_decode_signed(d, m), expected);
}

START_TEST(edges_stand_as_the_page_says)
{
    static uint8_t bytes[ROOM];
    struct ttp_segment segments[] = {{.base_tick = 1000,
                                      .end_tick = 1500,
                                      .min_depth = 2,
                                      .kept = 1,
                                      .start = {3, 1, 0, 0, 2},
                                      .end = {4, 0, -1, 0, 2}},
                                     {.base_tick = 5000,
                                      .end_tick = 4000,
                                      .min_depth = 0,
                                      .kept = 1,
                                      .start = {0, 0, 7, 2, 1},
                                      .end = {0, 0, 7, 1, 2}}};
    struct ttp_frame starts[] = {{10, 3, TTP_CLASS_ENTER, 900, 40, 45, 0},
                                 {11, 3, TTP_CLASS_OPEN, 950, 20, 0, 0},
                                 {12, 0, TTP_CLASS_ENTER, 4990, 5, 9, 0}};
    struct ttp_frame ends[] = {{14, 4, TTP_CLASS_ENTER, 1100, 70, 0, 0},
                               {9, 0, TTP_CLASS_ENTER, 3990, 6, 0, 0}};
    struct ttp_segments in = {segments, starts, ends, 2, 3, 2};
    size_t size = ttp_edges_write(&in, true, bytes, ROOM);
    static struct ttp_number_model min_depth, stack, kept, added, frame_class, frame_stack;
    static struct ttp_signed_model end_tick, enter, self, unknown, offset, entered;
    struct ttp_number_model *numbers[] = {&min_depth, &stack,       &kept,
                                          &added,     &frame_class, &frame_stack};
    struct ttp_signed_model *signs[] = {&end_tick, &enter, &self, &unknown, &offset, &entered};
    for (int i = 0; i < 6; i++) {
        ttp_number_init(numbers[i]);
        ttp_signed_init(signs[i]);
    }
    struct ttp_decoder d = ttp_decoder_init(bytes, size);
    number_is(&d, &min_depth, 2);
    signed_is(&d, &end_tick, 500);
    signed_is(&d, &enter, -100); /* of the base */
    signed_is(&d, &self, 40);
    signed_is(&d, &enter, 50); /* of the frame before */
    signed_is(&d, &self, 20);
    number_is(&d, &stack, 4);
    signed_is(&d, &unknown, -1);
    signed_is(&d, &offset, -1);
    number_is(&d, &kept, 1); /* 2 - 1 */
    number_is(&d, &added, 1);
    signed_is(&d, &self, 5); /* of the kept frame, 45 - 40 */
    number_is(&d, &frame_class, TTP_CLASS_ENTER);
    signed_is(&d, &entered, 14);
    number_is(&d, &frame_stack, 4);
    signed_is(&d, &enter, 100);
    signed_is(&d, &self, 70);
    number_is(&d, &min_depth, 0);
    signed_is(&d, &end_tick, -1000);
    signed_is(&d, &enter, -10);
    signed_is(&d, &self, 5);
    number_is(&d, &stack, 0);
    signed_is(&d, &unknown, 0);
    signed_is(&d, &offset, 0);
    number_is(&d, &kept, 0);
    number_is(&d, &added, 1);
    signed_is(&d, &self, 4);
    number_is(&d, &frame_class, TTP_CLASS_ENTER);
    signed_is(&d, &entered, -5); /* of the last argument of the class */
    number_is(&d, &frame_stack, 0);
    signed_is(&d, &enter, -1010);
    signed_is(&d, &self, 6);
    ck_assert(d.at == d.end && !ttp_decoder_cut(&d));
}
END_TEST

/* F-SUM-01 */
START_TEST(summaries_stand_as_the_page_says)
{
    static const struct ttp_measure rows[] = {{5, 3, 0, 100, 130, 0, 0, {0, 0}, 0},
                                              {6, 1, 1, 7, 7, 9, 9, {81, 0}, 0},
                                              {9, 0, 2, -1, 0, -3, 4, {25, 0}, 0},
                                              {10, 4, 3, 0, 5, 1, 2, {12345, (1ull << 63) + 7}, 0}};
    static uint8_t bytes[ROOM];
    size_t size = ttp_summary_write(rows, 4, true, bytes, ROOM);
    static struct ttp_number_model site, calls, high, middle, low;
    static struct ttp_signed_model exits, self, total, max, min;
    struct ttp_number_model *numbers[] = {&site, &calls, &high, &middle, &low};
    struct ttp_signed_model *signs[] = {&exits, &self, &total, &max, &min};
    for (int i = 0; i < 5; i++) {
        ttp_number_init(numbers[i]);
        ttp_signed_init(signs[i]);
    }
    struct ttp_decoder d = ttp_decoder_init(bytes, size);
    number_is(&d, &site, 4); /* the row count, in the model of sites */
    for (int i = 0; i < 4; i++) {
        number_is(&d, &site, i == 0 ? 5 : rows[i].site - rows[i - 1].site - 1);
        number_is(&d, &calls, rows[i].call_count);
        signed_is(&d, &exits, (int64_t)(rows[i].exit_count - rows[i].call_count));
        signed_is(&d, &self, rows[i].self_ticks);
        signed_is(&d, &total, rows[i].total_ticks - rows[i].self_ticks);
        if (rows[i].exit_count > 0)
            signed_is(&d, &max, rows[i].max_ticks);
        if (rows[i].exit_count > 1)
            signed_is(&d, &min, rows[i].min_ticks);
    }
    /* (2^63 + 7) * 2^64 + 12345: bits 86 and up, 43 .. 85, 0 .. 42 */
    number_is(&d, &high, 1ull << 41);
    number_is(&d, &middle, 7ull << 21);
    number_is(&d, &low, 12345);
    ck_assert(d.at == d.end && !ttp_decoder_cut(&d));
}
END_TEST

/* F-VAL-01: columns, each over all events or all values. */
START_TEST(values_stand_as_the_page_says)
{
    static const uint8_t expected[] = {2,    9, 5, /* events, values, bytes */
                                       3,    1,    /* event 3; event 5 */
                                       8,    1,    /* values of each */
                                       0,    1, 2,   3,   4,  5, 6,    0,    7, /* types */
                                       0xac, 2,                                 /* unsigned 300 */
                                       3,                                       /* signed -2 */
                                       16,                                      /* pointer 16 */
                                       0,    0, 0,   0,   0,  0, 0xf0, 0x3f,    /* 1.0 */
                                       2,    3, /* lengths; null takes nothing */
                                       1,    9, /* unsigned 1; gap count 9 */
                                       'x',  0, 'a', 'b', 'c'};
    uint32_t event[] = {3, 5}, start[] = {0, 8, 9};
    uint8_t text[] = {'x', 0, 'a', 'b', 'c'}, out[100];
    struct ttp_value values[] = {{0, 300, 0},
                                 {1, (uint64_t)INT64_C(-2), 0},
                                 {2, 16, 0},
                                 {3, UINT64_C(0x3ff0000000000000), 0},
                                 {4, 2, 0},
                                 {5, 3, 2},
                                 {6, 0, 0},
                                 {0, 1, 0},
                                 {TTP_VALUE_GAP_COUNT, 9, 0}};
    struct ttp_values in = {event, start, values, text, 2, 9, 5};
    ck_assert_uint_eq(ttp_values_write(&in, out, sizeof out), sizeof expected);
    ck_assert_mem_eq(out, expected, sizeof expected);
}
END_TEST

/* F-DEP-01: changes at events 4, 5 and 200. */
START_TEST(depths_stand_as_the_page_says)
{
    static const uint8_t expected[] = {3, 4, 1, 0, 4, 0xc2, 0x01, 0};
    const struct ttp_depth_change changes[] = {{4, -1}, {5, 2}, {200, 0}};
    uint8_t out[32];
    ck_assert_uint_eq(ttp_depths_write(changes, 3, out, sizeof out), sizeof expected);
    ck_assert_mem_eq(out, expected, sizeof expected);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("spec_rules");
    TCase *rules = tcase_create("rules");
    tcase_add_test(rules, fixed_numbers_are_little_endian);
    tcase_add_test(rules, signed_varints_are_zigzag);
    tcase_add_test(rules, strings_are_a_length_and_bytes);
    tcase_add_test(rules, reserved_bits_are_refused);
    tcase_add_test(rules, streams_end_with_the_fewest_bytes);
    tcase_add_test(rules, edges_stand_as_the_page_says);
    tcase_add_test(rules, summaries_stand_as_the_page_says);
    tcase_add_test(rules, values_stand_as_the_page_says);
    tcase_add_test(rules, depths_stand_as_the_page_says);
    suite_add_tcase(suite, rules);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

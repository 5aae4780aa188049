/* The fixed blocks and the partition head: round trips, every field broken by its name, every
 * truncation. */
#include <stdlib.h>
#include <string.h>

#include "format/base/bytes.h"
#include "format/base/checksum.h"
#include "format/container/chunk.h"
#include "format/container/partition.h"
#include "tests/asserts.h"

enum { BASE = 1000 }; /* where a block stands in its file */

struct damage {
    const char *field;
    uint32_t at, width;
    uint64_t value;
    bool reseal;
    ttape_status status;
    const char *rule;
    uint64_t offset;
};

static void store(uint8_t *to, uint32_t width, uint64_t value)
{
    uint8_t bytes[8];
    ttp_store64(bytes, value);
    memcpy(to, bytes, width);
}

static void expect(const struct damage *d, ttape_status status, const ttape_error *err)
{
    ck_assert_msg(status == d->status, "%s: status %d, not %d (%s)", d->field, status, d->status,
                  err->message);
    ck_assert_msg(strcmp(err->rule, d->rule) == 0, "%s: rule %s, not %s", d->field, err->rule,
                  d->rule);
    ck_assert_msg(err->offset == d->offset, "%s: offset %llu, not %llu", d->field,
                  (unsigned long long)err->offset, (unsigned long long)d->offset);
    ck_assert_int_eq(err->status, status);
}

static void reseal(uint8_t *block, uint32_t hash_at)
{
    ttp_store64(block + hash_at, ttp_checksum(block, hash_at));
}

static const struct damage file_damages[] = {
    {"magic", 0, 1, 'T', true, TTAPE_E_NOT_TRACE, "F-FIL-01", 0},
    {"magic's end", 7, 1, '\r', true, TTAPE_E_NOT_TRACE, "F-FIL-01", 0},
    {"major version", TTP_FILE_MAJOR_AT, 1, '2', true, TTAPE_E_VERSION, "F-FIL-02", 6},
    {"hash", TTP_FILE_HASH_AT, 1, 0x5a, false, TTAPE_E_CHECKSUM, "F-FIL-04", 0},
    {"trace id", TTP_FILE_TRACE_ID_AT, 1, 0x5a, false, TTAPE_E_CHECKSUM, "F-FIL-04", 0},
    {"required minor", TTP_FILE_REQUIRED_AT, 2, 2, true, TTAPE_E_VERSION, "F-FIL-05", 10},
    {"flags", TTP_FILE_FLAGS_AT, 4, 1u << 31, true, TTAPE_E_CORRUPT, "F-FIL-06", 12},
    {"reserved", TTP_FILE_RESERVED_AT, 1, 1, true, TTAPE_E_CORRUPT, "F-FIL-06", 12},
    {"reserved's end", TTP_FILE_HASH_AT - 1, 1, 1, true, TTAPE_E_CORRUPT, "F-FIL-06", 12},
};

START_TEST(file_header)
{
    struct ttp_file_header in = {.minor = 3, .trace_id = {1, 2, 3}}, out;
    uint8_t block[TTP_FILE_HEADER_BYTES], bad[TTP_FILE_HEADER_BYTES];
    ttape_error err = {0};
    ttp_file_header_write(&in, block);
    ck_assert_int_eq(ttp_file_header_read(block, sizeof block, &out, &err), TTAPE_OK);
    ck_assert_uint_eq(out.minor, 3);
    ck_assert_uint_eq(out.required_minor, 0);
    ck_assert_mem_eq(out.trace_id, in.trace_id, TTP_TRACE_ID_BYTES);
    for (size_t i = 0; i < sizeof file_damages / sizeof file_damages[0]; i++) {
        const struct damage *d = &file_damages[i];
        memcpy(bad, block, sizeof bad);
        store(bad + d->at, d->width, d->value);
        if (d->reseal)
            reseal(bad, TTP_FILE_HASH_AT);
        expect(d, ttp_file_header_read(bad, sizeof bad, &out, &err), &err);
    }
    for (size_t size = 0; size < sizeof block; size++) {
        uint8_t *exact = malloc(size + (size == 0));
        memcpy(exact, block, size);
        ttape_status wanted = size < 8 ? TTAPE_E_NOT_TRACE : TTAPE_E_TRUNCATED;
        ck_assert_int_eq(ttp_file_header_read(exact, size, &out, &err), wanted);
        ck_assert_str_eq(err.rule, size < 8 ? "F-FIL-01" : "F-FIL-03");
        free(exact);
    }
}
END_TEST

static const struct damage chunk_damages[] = {
    {"sync", 0, 1, 0, true, TTAPE_E_CORRUPT, "F-CHK-01", BASE},
    {"hash", TTP_CHUNK_HASH_AT, 1, 0x5a, false, TTAPE_E_CHECKSUM, "F-CHK-02", BASE},
    {"kind", TTP_CHUNK_KIND_AT, 2, 9, false, TTAPE_E_CHECKSUM, "F-CHK-02", BASE},
    {"scope", TTP_CHUNK_SCOPE_AT, 4, 9, false, TTAPE_E_CHECKSUM, "F-CHK-02", BASE},
    {"sequence", TTP_CHUNK_SEQUENCE_AT, 8, 9, false, TTAPE_E_CHECKSUM, "F-CHK-02", BASE},
    {"payload hash", TTP_CHUNK_PAYLOAD_HASH_AT, 8, 9, false, TTAPE_E_CHECKSUM, "F-CHK-02", BASE},
    {"last index", TTP_CHUNK_LAST_INDEX_AT, 8, 99, false, TTAPE_E_CHECKSUM, "F-CHK-02", BASE},
    {"flags", TTP_CHUNK_FLAGS_AT, 2, 4, true, TTAPE_E_CORRUPT, "F-CHK-04", BASE + 10},
    {"flags' end", TTP_CHUNK_FLAGS_AT, 2, 0x8000, true, TTAPE_E_CORRUPT, "F-CHK-04", BASE + 10},
    {"content bytes", TTP_CHUNK_CONTENT_AT, 8, 101, true, TTAPE_E_CORRUPT, "F-CHK-05", BASE + 32},
};

START_TEST(chunk_header)
{
    struct ttp_chunk in = {.kind = 4,
                           .flags = 2,
                           .scope = 5,
                           .sequence = 6,
                           .stored_bytes = 100,
                           .content_bytes = 100,
                           .payload_hash = 8,
                           .last_index = 9},
                     out;
    uint8_t block[TTP_CHUNK_HEADER_BYTES], bad[TTP_CHUNK_HEADER_BYTES];
    ttape_error err = {0};
    ttp_chunk_write(&in, block);
    ck_assert_int_eq(ttp_chunk_read(block, BASE, &out, &err), TTAPE_OK);
    ck_assert(out.kind == 4 && out.flags == 2 && out.scope == 5 && out.sequence == 6);
    ck_assert(out.stored_bytes == 100 && out.content_bytes == 100 && out.payload_hash == 8 &&
              out.last_index == 9);
    for (size_t i = 0; i < sizeof chunk_damages / sizeof chunk_damages[0]; i++) {
        const struct damage *d = &chunk_damages[i];
        memcpy(bad, block, sizeof bad);
        store(bad + d->at, d->width, d->value);
        if (d->reseal)
            reseal(bad, TTP_CHUNK_HASH_AT);
        memset(&out, 0xee, sizeof out);
        expect(d, ttp_chunk_read(bad, BASE, &out, &err), &err);
        ck_assert_uint_eq(out.kind, 0xeeee); /* untouched */
    }
    in.stored_bytes = in.content_bytes = TTP_MAX_PAYLOAD_BYTES + 1ull;
    ttp_chunk_write(&in, bad);
    ck_assert_int_eq(ttp_chunk_read(bad, BASE, &out, &err), TTAPE_E_LIMIT);
    ck_assert_str_eq(err.rule, "F-CHK-06");
    in.flags = TTP_FLAG_ZSTD;
    in.stored_bytes = 10;
    ttp_chunk_write(&in, bad);
    ck_assert_int_eq(ttp_chunk_read(bad, BASE, &out, &err), TTAPE_E_LIMIT);
}
END_TEST

static const struct damage footer_damages[] = {
    {"magic", 0, 1, 0, true, TTAPE_E_TRUNCATED, "F-FOO-01", BASE},
    {"hash", TTP_FOOTER_HASH_AT, 1, 0x5a, false, TTAPE_E_CHECKSUM, "F-FOO-02", BASE},
    {"reserved", TTP_FOOTER_RESERVED_AT, 1, 1, true, TTAPE_E_CORRUPT, "F-FOO-03", BASE + 32},
    {"reserved's end", TTP_FOOTER_HASH_AT - 1, 1, 1, true, TTAPE_E_CORRUPT, "F-FOO-03", BASE + 32},
    {"file bytes", TTP_FOOTER_FILE_BYTES_AT, 8, BASE, true, TTAPE_E_CORRUPT, "F-FOO-04", BASE + 16},
    {"index in header", TTP_FOOTER_INDEX_AT, 8, 63, true, TTAPE_E_CORRUPT, "F-FOO-05", BASE + 8},
    {"index in footer", TTP_FOOTER_INDEX_AT, 8, BASE - 63, true, TTAPE_E_CORRUPT, "F-FOO-05",
     BASE + 8},
    {"index far", TTP_FOOTER_INDEX_AT, 8, UINT64_MAX, true, TTAPE_E_CORRUPT, "F-FOO-05", BASE + 8},
};

START_TEST(footer)
{
    struct ttp_footer in = {700, BASE + TTP_FOOTER_BYTES, 12}, out;
    uint8_t block[TTP_FOOTER_BYTES], bad[TTP_FOOTER_BYTES];
    ttape_error err = {0};
    ttp_footer_write(&in, block);
    ck_assert_int_eq(ttp_footer_read(block, BASE, &out, &err), TTAPE_OK);
    ck_assert(out.index_offset == 700 && out.chunk_count == 12);
    for (size_t i = 0; i < sizeof footer_damages / sizeof footer_damages[0]; i++) {
        const struct damage *d = &footer_damages[i];
        memcpy(bad, block, sizeof bad);
        store(bad + d->at, d->width, d->value);
        if (d->reseal)
            reseal(bad, TTP_FOOTER_HASH_AT);
        expect(d, ttp_footer_read(bad, BASE, &out, &err), &err);
    }
}
END_TEST

START_TEST(every_bit_of_a_block_counts)
{
    struct ttp_chunk chunk = {.kind = 1, .stored_bytes = 5, .content_bytes = 5}, out;
    uint8_t block[TTP_CHUNK_HEADER_BYTES];
    ttp_chunk_write(&chunk, block);
    for (size_t bit = 0; bit < sizeof block * 8; bit++) {
        block[bit / 8] ^= (uint8_t)(1u << bit % 8);
        ck_assert_int_ne(ttp_chunk_read(block, 0, &out, NULL), TTAPE_OK);
        block[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    ck_assert_str_eq(ttp_chunk_kind_name(TTP_CHUNK_PARTITION), "partition");
    ck_assert_str_eq(ttp_chunk_kind_name(999), "unknown");
    ck_assert(!ttp_chunk_kind_known(0) && ttp_chunk_kind_known(9) && !ttp_chunk_kind_known(0x7fff));
}
END_TEST

/* A head with two sections of 10 and 20 bytes. */
static const struct ttp_partition_head sample = {
    .section_count = 2,
    .event_count = 50,
    .segment_count = 3,
    .symbol_count = 9,
    .given_count = 4,
    .wide_count = 2,
    .model = TTP_NO_MODEL,
    .start_frame_count = 6,
    .end_frame_count = 7,
    .resolution_ns = 64,
    .origin_ns = 5,
    .first_tick = -10,
    .end_tick = 99,
    .gap_count = 3,
    .lost_count = 1ull << 40,
    .sections = {{.kind = 1, .stored_bytes = 10, .content_bytes = 10, .hash = 11},
                 {.kind = 20, .flags = TTP_FLAG_ZSTD, .stored_bytes = 20, .content_bytes = 2000}}};
enum {
    HEAD = TTP_HEAD_BYTES + 2 * TTP_SECTION_ENTRY_BYTES,
    PAYLOAD = HEAD + 30,
    FIRST = TTP_HEAD_BYTES,
    SECOND = TTP_HEAD_BYTES + TTP_SECTION_ENTRY_BYTES
};

#define C TTAPE_E_CORRUPT
static const struct damage head_damages[] = {
    {"hash", 0, 1, 0x5a, false, TTAPE_E_CHECKSUM, "F-PAR-03", 0},
    {"sections", TTP_HEAD_SECTIONS_AT, 4, 65, true, C, "F-PAR-02", 8},
    {"sections past", TTP_HEAD_SECTIONS_AT, 4, 64, true, C, "F-PAR-01", HEAD},
    {"flags", TTP_HEAD_FLAGS_AT, 4, 1, true, C, "F-PAR-04", TTP_HEAD_FLAGS_AT},
    {"reserved", TTP_HEAD_RESERVED_AT, 4, 1, true, C, "F-PAR-04", TTP_HEAD_FLAGS_AT},
    {"gaps", TTP_HEAD_GAPS_AT, 4, 51, true, C, "F-PAR-05", TTP_HEAD_EVENTS_AT},
    {"lost", TTP_HEAD_GAPS_AT, 4, 0, true, C, "F-PAR-05", TTP_HEAD_EVENTS_AT},
    {"events", TTP_HEAD_EVENTS_AT, 4, 0, true, C, "F-PAR-05", TTP_HEAD_EVENTS_AT},
    {"events many", TTP_HEAD_EVENTS_AT, 4, (1u << 24) + 1, true, TTAPE_E_LIMIT, "F-PAR-05", 12},
    {"segments", TTP_HEAD_SEGMENTS_AT, 4, 0, true, C, "F-PAR-05", TTP_HEAD_EVENTS_AT},
    {"segments many", TTP_HEAD_SEGMENTS_AT, 4, 51, true, C, "F-PAR-05", TTP_HEAD_EVENTS_AT},
    {"symbols", TTP_HEAD_SYMBOLS_AT, 4, 3, true, C, "F-PAR-06", TTP_HEAD_SYMBOLS_AT},
    {"symbols many", TTP_HEAD_SYMBOLS_AT, 4, 55, true, C, "F-PAR-06", TTP_HEAD_SYMBOLS_AT},
    {"given", TTP_HEAD_GIVEN_AT, 4, 7, true, C, "F-PAR-06", TTP_HEAD_SYMBOLS_AT},
    {"wide", TTP_HEAD_WIDE_AT, 4, 51, true, C, "F-PAR-12", TTP_HEAD_RESOLUTION_AT},
    {"resolution", TTP_HEAD_RESOLUTION_AT, 8, 1ull << 63, true, C, "F-PAR-12", 48},
    {"no resolution", TTP_HEAD_RESOLUTION_AT, 8, 0, true, C, "F-PAR-12", 48},
    {"first tick", TTP_HEAD_FIRST_TICK_AT, 8, 99, true, C, "F-PAR-12", 48},
    {"end tick", TTP_HEAD_END_TICK_AT, 8, (uint64_t)-10, true, C, "F-PAR-12", 48},
    {"kind 0", FIRST, 2, 0, true, C, "F-PAR-07", FIRST},
    {"kind again", SECOND, 2, 1, true, C, "F-PAR-07", SECOND},
    {"section flags", FIRST + 2, 2, 4, true, C, "F-PAR-08", FIRST},
    {"section reserved", FIRST + 12, 4, 1u << 31, true, C, "F-PAR-08", FIRST},
    {"section content", FIRST + 8, 4, 9, true, C, "F-PAR-09", FIRST},
    {"section limit", SECOND + 8, 4, (1u << 30) + 1, true, TTAPE_E_LIMIT, "F-PAR-10", SECOND},
    {"section stored", SECOND + 4, 4, 21, true, C, "F-PAR-11", TTP_HEAD_BYTES},
    {"section short", SECOND + 4, 4, 19, true, C, "F-PAR-11", TTP_HEAD_BYTES},
};

START_TEST(partition_head)
{
    struct ttp_partition_head out;
    uint8_t block[HEAD], bad[HEAD];
    ttape_error err = {0};
    ttp_partition_head_write(&sample, block);
    ck_assert_int_eq(ttp_partition_head_read(block, HEAD, PAYLOAD, &out, &err), TTAPE_OK);
    ck_assert(out.event_count == 50 && out.segment_count == 3 && out.symbol_count == 9 &&
              out.given_count == 4 && out.wide_count == 2 && out.model == TTP_NO_MODEL);
    ck_assert(out.start_frame_count == 6 && out.end_frame_count == 7 && out.resolution_ns == 64 &&
              out.origin_ns == 5 && out.first_tick == -10 && out.end_tick == 99 &&
              out.gap_count == 3 && out.lost_count == 1ull << 40);
    ck_assert_uint_eq(out.sections[0].offset, HEAD);
    ck_assert_uint_eq(out.sections[1].offset, HEAD + 10);
    ck_assert_ptr_eq(ttp_partition_section(&out, 20), &out.sections[1]);
    ck_assert_ptr_null(ttp_partition_section(&out, 2));
    for (size_t i = 0; i < sizeof head_damages / sizeof head_damages[0]; i++) {
        const struct damage *d = &head_damages[i];
        memcpy(bad, block, sizeof bad);
        store(bad + d->at, d->width, d->value);
        if (d->reseal)
            ttp_store64(bad, ttp_checksum(bad + 8, HEAD - 8));
        expect(d, ttp_partition_head_read(bad, HEAD, PAYLOAD, &out, &err), &err);
    }
    for (size_t size = 0; size < HEAD; size++) {
        uint8_t *exact = malloc(size + (size == 0));
        memcpy(exact, block, size);
        ck_assert_int_eq(ttp_partition_head_read(exact, size, PAYLOAD, &out, &err), C);
        ck_assert_str_eq(err.rule, "F-PAR-01");
        free(exact);
    }
    for (size_t bit = 0; bit < HEAD * 8; bit++) {
        block[bit / 8] ^= (uint8_t)(1u << bit % 8);
        ck_assert_int_ne(ttp_partition_head_read(block, HEAD, PAYLOAD, &out, &err), TTAPE_OK);
        block[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
}
END_TEST

START_TEST(ticks_round_halves_up)
{
    ck_assert_int_eq(ttp_tick_of(31, 0, 64), 0);
    ck_assert_int_eq(ttp_tick_of(32, 0, 64), 1);
    ck_assert_int_eq(ttp_tick_of(0, 32, 64), 0);
    ck_assert_int_eq(ttp_tick_of(0, 33, 64), -1);
    ck_assert_int_eq(ttp_tick_of(1, 0, 3), 0);
    ck_assert_int_eq(ttp_tick_of(2, 0, 3), 1);
    ck_assert_int_eq(ttp_tick_of(UINT64_MAX, 0, 1), -1);
    ck_assert_uint_eq(ttp_time_of(-1, 0, 1), UINT64_MAX);
    ck_assert_uint_eq(ttp_time_of(-2, 100, 64), UINT64_MAX - 27);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("format_blocks");
    TCase *cases = tcase_create("blocks");
    tcase_add_test(cases, file_header);
    tcase_add_test(cases, chunk_header);
    tcase_add_test(cases, footer);
    tcase_add_test(cases, every_bit_of_a_block_counts);
    tcase_add_test(cases, partition_head);
    tcase_add_test(cases, ticks_round_halves_up);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}

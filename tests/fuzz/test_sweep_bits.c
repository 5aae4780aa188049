/* R2: every single bit of a trace of 64 KiB with every kind of chunk. A flipped bit is detected, it
 * harms one partition at most (a model: those that start from it), and everything else is read as
 * if it had not happened.
 *
 * What a partition gives depends on the bytes that are read for it and on nothing else. So it is
 * enough to read, for each bit, what reads that byte: the rest is the same by construction. The
 * sets of bytes are taken from reads of the sound file. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/chunk.h"
#include "sweep_trace.h"

/* One bit in so many: a sample here, all of them in test_sweep_bits_slow.c. */
#ifndef STRIDE
#define STRIDE 7u
#endif
#ifdef __SANITIZE_ADDRESS__
#define STEP (7u * STRIDE)
#else
#define STEP STRIDE
#endif
#define VERIFY_STRIDE 509u /* verify reads the whole file: one bit in so many */

#define MAX_PARTITIONS 256u
#define OF_OPEN        1u
#define OF_PARTITION   2u

static struct ttest_trace trace;
static uint32_t partition_count;
static uint8_t *touched[MAX_PARTITIONS]; /* what is read for each partition, opening included */
static uint8_t *by_open;
static uint64_t wanted[MAX_PARTITIONS], wanted_definitions;

static ttape_reader *try_open(struct ttest_watch *watch, ttape_source *source, ttape_error *err)
{
    ttape_reader *reader;
    *source = ttest_watch_source(watch);
    ttape_status status = ttape_reader_open(&reader, source, NULL, err);
    ck_assert((status == TTAPE_OK) == (reader != NULL));
    return reader;
}

static void prepare(void)
{
    ttape_error err = {0};
    ttape_source source;
    ttape_info info;
    trace = ttest_sweep_trace(TTEST_SWEEP_BYTES);
    by_open = calloc(trace.size_bytes, 1);
    struct ttest_watch watch = {trace.data, trace.size_bytes, by_open, OF_OPEN};
    ttape_reader *reader = try_open(&watch, &source, &err);
    ck_assert_msg(reader != NULL, "%s", err.message);
    ttape_reader_get_info(reader, &info);
    wanted_definitions = ttest_read_definitions(reader);
    ttape_reader_close(reader);
    ck_assert(info.by_index && info.unknown_chunk_count == 1 && info.bytes.models > 0);
    partition_count = (uint32_t)info.partition_count;
    ck_assert(partition_count > 40 && partition_count <= MAX_PARTITIONS);
    for (uint32_t p = 0; p < partition_count; p++) {
        ttape_status status;
        touched[p] = calloc(trace.size_bytes, 1);
        watch = (struct ttest_watch){trace.data, trace.size_bytes, touched[p], OF_PARTITION};
        reader = try_open(&watch, &source, &err);
        wanted[p] = ttest_read_partition(reader, p, &status, &err);
        ck_assert_msg(status == TTAPE_OK, "partition %u: %s", p, err.message);
        ttape_reader_close(reader);
    }
}

/* Models serve several partitions, whatever else is read belongs to one. */
static bool in_model(size_t byte)
{
    size_t at = TTP_FILE_HEADER_BYTES;
    struct ttp_chunk chunk;
    while (ttp_chunk_read(trace.data + at, at, &chunk, NULL) == TTAPE_OK) {
        size_t end = at + TTP_CHUNK_HEADER_BYTES + (size_t)chunk.stored_bytes;
        if (byte < end)
            return chunk.kind == TTP_CHUNK_MODEL;
        at = end;
    }
    return false;
}

static void check_sharing(void)
{
    for (size_t byte = 0; byte < trace.size_bytes; byte++) {
        uint32_t readers = 0;
        for (uint32_t p = 0; p < partition_count; p++)
            readers += touched[p][byte] != 0;
        ck_assert_msg(by_open[byte] || readers <= 1 || in_model(byte),
                      "byte %zu is read for %u partitions", byte, readers);
    }
}

static uint64_t count_findings(void)
{
    ttape_source source = ttape_source_memory(trace.data, trace.size_bytes);
    ttape_error err = {0};
    uint64_t findings = 0;
    ck_assert_int_eq(ttape_verify(&source, NULL, NULL, NULL, NULL, &findings, &err), TTAPE_OK);
    return findings;
}

/* Of a byte that opening reads: refused, or found by a scan, and then all is there. */
static void check_open(size_t bit)
{
    struct ttest_watch watch = {trace.data, trace.size_bytes, NULL, 0};
    ttape_error err = {0};
    ttape_source source;
    ttape_info info;
    ttape_reader *reader = try_open(&watch, &source, &err);
    if (reader == NULL) {
        ck_assert_msg(err.status >= TTAPE_E_TRUNCATED && err.rule[0] != '\0', "bit %zu", bit);
        return;
    }
    ttape_reader_get_info(reader, &info);
    ck_assert_msg(!info.by_index, "bit %zu of what the index is read with goes unnoticed", bit);
    ck_assert_uint_eq(info.partition_count, partition_count);
    if (bit % 31 == 0) /* all of it is much: of some bits */
        for (uint32_t p = 0; p < partition_count; p++) {
            ttape_status status;
            ck_assert(ttest_read_partition(reader, p, &status, &err) == wanted[p]);
            ck_assert_int_eq(status, TTAPE_OK);
        }
    ck_assert_uint_eq(ttest_read_definitions(reader), wanted_definitions);
    ttape_reader_close(reader);
}

/* Of a byte that one partition reads: that says so. Returns whether it did. */
static bool check_partition(uint32_t p, size_t bit)
{
    struct ttest_watch watch = {trace.data, trace.size_bytes, NULL, 0};
    ttape_error err = {0};
    ttape_source source;
    ttape_status status;
    ttape_reader *reader = try_open(&watch, &source, &err);
    ck_assert(reader != NULL);
    uint64_t hash = ttest_read_partition(reader, p, &status, &err);
    ck_assert_msg(status >= TTAPE_E_TRUNCATED && err.rule[0] != '\0',
                  "bit %zu changes partition %u, silently (%d, hash %d)", bit, p, status,
                  hash == wanted[p]);
    ttape_reader_close(reader);
    return true;
}

START_TEST(r2_every_bit_is_detected_and_localised)
{
    uint64_t refused = 0, harmed = 0, unread = 0, verified = 0;
    uint32_t most = 0;
    prepare();
    check_sharing();
    ck_assert_uint_eq(count_findings(), 0);
    for (size_t bit = _i; bit < trace.size_bytes * 8; bit += STEP) {
        uint8_t *byte = &trace.data[bit / 8], mask = (uint8_t)(1u << (bit % 8));
        uint32_t readers = 0;
        *byte ^= mask;
        if (by_open[bit / 8]) {
            refused++;
            check_open(bit);
        } else {
            for (uint32_t p = 0; p < partition_count; p++)
                readers += touched[p][bit / 8] != 0 && check_partition(p, bit);
            harmed += readers > 0;
            unread += readers == 0;
            most = readers > most ? readers : most;
        }
        if (bit % VERIFY_STRIDE == 0 || (readers == 0 && !by_open[bit / 8] && bit % 64 == 3)) {
            ck_assert_msg(count_findings() > 0, "bit %zu is covered by nothing", bit);
            verified++;
        }
        *byte ^= mask;
    }
    printf("%zu bits: %llu met when opening, %llu in partitions (%u at most share one), %llu read "
           "by verify only (early indexes, private chunks); %llu verified\n",
           trace.size_bytes * 8, (unsigned long long)refused, (unsigned long long)harmed, most,
           (unsigned long long)unread, (unsigned long long)verified);
    ck_assert(harmed > 2 * refused);
    for (uint32_t p = 0; p < partition_count; p++)
        free(touched[p]);
    free(by_open);
    free(trace.data);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sweep_bits");
    TCase *tests = tcase_create("bits");
    tcase_set_timeout(tests, 3000);
    tcase_add_loop_test(tests, r2_every_bit_is_detected_and_localised, 0, 1);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}

/* R2: every single bit of a trace of 64 KiB with every kind of chunk. A flipped bit is detected,
 * and one of these holds, by index, by scan and as a pipe, as the list in sweep_map.c says for its
 * place:
 *
 *   exact     nothing is lost: what the index says was found by a scan
 *   one       one partition fails (a model: those that start from it), with an error inside of the
 *             chunk that has the bit; everything else is read as if it had not happened
 *   refused   with status, rule and an offset inside of the chunk that has the bit; recover gives
 *             back every partition but that one, byte for byte, in a trace that verifies
 *   unread    nothing but verify reads it, and verify finds it, in that chunk
 *
 * What a partition gives depends on the bytes that are read for it and on nothing else. So it is
 * enough to read, for each bit, what reads that byte: the rest is the same by construction, and is
 * read for a sample. The sets of bytes are taken from reads of the sound file. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tracetape/recover.h>
#include <tracetape/writer.h>

#include "format/base/checksum.h"
#include "format/container/chunk.h"
#include "sweep_map.h"
#include "sweep_trace.h"
#include "tests/asserts.h"
#include "tests/unit/every.h"

/* One bit in so many: a sample here, all of them in test_sweep_bits_slow.c. Of these: by scan one
 * in so many of those in payloads of partitions, as a pipe, recovered, verified though something
 * else fails with them, verified because nothing else reads them. */
#ifndef STRIDE
#define STRIDE         61u
#define SCAN_STRIDE    8u
#define PIPE_STRIDE    64u
#define RECOVER_STRIDE 64u
#define VERIFY_STRIDE  512u
#define UNREAD_STRIDE  8u
#define ALL_STRIDE     512u /* everything is read, whatever the bit */
#endif
#if TTEST_SANITIZED
#define STEP (7u * STRIDE)
#else
#define STEP STRIDE
#endif

#define MAX_PARTITIONS 256u

static struct ttest_trace trace;
static struct ttest_map map;
static uint32_t partition_count;
static uint8_t *touched[MAX_PARTITIONS]; /* what is read for each partition, opening included */
static uint8_t *by_open[2];              /* by index, by scan */
static uint64_t wanted[MAX_PARTITIONS], wanted_by_pipe[MAX_PARTITIONS], wanted_definitions;
static ttape_partition_info wanted_infos[MAX_PARTITIONS];
static uint64_t recovered, verified;

static bool sampled(size_t bit, uint32_t stride)
{
    return ((bit * 0x9E3779B97F4A7C15ull) >> 33) % stride == 0;
}

static ttape_reader *try_open(enum ttest_way way, struct ttest_watch *watch, ttape_source *source,
                              ttape_error *err)
{
    ttape_reader_options options = {.size = sizeof options, .ignore_index = way == TTEST_BY_SCAN};
    ttape_reader *reader;
    *source = ttest_watch_source(watch);
    ttape_status status = ttape_reader_open(&reader, source, &options, err);
    ck_assert((status == TTAPE_OK) == (reader != NULL));
    return reader;
}

/* ---- the sound file ---- */

static void watch_opening(enum ttest_way way)
{
    ttape_error err = {0};
    ttape_source source;
    ttape_info info;
    by_open[way] = calloc(trace.size_bytes, 1);
    struct ttest_watch watch = {trace.data, trace.size_bytes, by_open[way], 1};
    ttape_reader *reader = try_open(way, &watch, &source, &err);
    ck_assert_msg(reader != NULL, "%s", err.message);
    ttape_reader_get_info(reader, &info);
    wanted_definitions = ttest_read_definitions(reader);
    ck_assert(info.by_index == (way == TTEST_BY_INDEX) && info.complete);
    ck_assert(info.unknown_chunk_count == 1 && info.bytes.models > 0);
    partition_count = (uint32_t)info.partition_count;
    ck_assert(partition_count > 40 && partition_count <= MAX_PARTITIONS);
    for (uint32_t p = 0; p < partition_count; p++) {
        ttape_partition_info before = wanted_infos[p];
        ck_assert_int_eq(ttape_reader_get_partition(reader, p, &wanted_infos[p]), TTAPE_OK);
        ck_assert(way == TTEST_BY_INDEX || memcmp(&before, &wanted_infos[p], sizeof before) == 0);
    }
    ttape_reader_close(reader);
}

static void watch_partitions(void)
{
    for (uint32_t p = 0; p < partition_count; p++) {
        ttape_status status;
        ttape_error err = {0};
        ttape_source source;
        touched[p] = calloc(trace.size_bytes, 1);
        struct ttest_watch watch = {trace.data, trace.size_bytes, touched[p], 1};
        ttape_reader *reader = try_open(TTEST_BY_INDEX, &watch, &source, &err);
        wanted[p] = ttest_read_partition(reader, p, &status, &err);
        ck_assert_msg(status == TTAPE_OK, "partition %u: %s", p, err.message);
        ttape_reader_close(reader);
    }
}

/* Does this partition read a byte that opening by the index does not? */
static bool reads(uint32_t p, size_t byte)
{
    return touched[p][byte] && !by_open[TTEST_BY_INDEX][byte];
}

/* Models serve several partitions, whatever else is read belongs to one, in its own chunk. */
static void check_sharing(void)
{
    for (size_t byte = 0; byte < trace.size_bytes; byte++) {
        const struct ttest_block *block = &map.blocks[map.block_of[byte]];
        bool shared = block->place == TTEST_PLACE_CHUNK(TTP_CHUNK_MODEL);
        for (uint32_t p = 0; p < partition_count; p++)
            ck_assert_msg(!reads(p, byte) || shared ||
                              (block->place == TTEST_PLACE_CHUNK(TTP_CHUNK_PARTITION) &&
                               block->partitions_before == p),
                          "byte %zu is read for partition %u", byte, p);
    }
}

/* ---- verify, and recover ---- */

static bool keep_first(void *context, const ttape_finding *finding)
{
    *(ttape_error *)context = finding->error;
    return false;
}

static bool lies_in(const struct ttest_block *block, uint64_t offset)
{
    return offset >= block->start && offset < block->end;
}

/* The first finding is about the chunk that has the bit. */
static void check_verify(size_t bit)
{
    ttape_source source = ttape_source_memory(trace.data, trace.size_bytes);
    ttape_error err = {0}, first = {0};
    uint64_t count = 0;
    ttape_status status = ttape_verify(&source, NULL, keep_first, NULL, &first, &count, &err);
    ck_assert_int_eq(status, TTAPE_OK);
    ck_assert_msg(count > 0, "bit %zu is covered by nothing", bit);
    ck_assert_msg(first.rule[0] != '\0' &&
                      lies_in(&map.blocks[map.block_of[bit / 8]], first.offset),
                  "bit %zu is found elsewhere: %s at %llu: %s", bit, first.rule,
                  (unsigned long long)first.offset, first.message);
    verified++;
}

/* Payloads of partitions stand in the output as they were, in their order; those that need the byte
 * of the bit may be missing. */
static void check_output(const ttape_memory_sink *out, size_t bit)
{
    const struct ttest_trace file = {out->data, out->size_bytes};
    struct ttest_map output = ttest_map_make(&file);
    uint32_t at = 0;
    for (uint32_t i = 0; i < map.block_count; i++) {
        const struct ttest_block *block = &map.blocks[i];
        size_t size = block->end - block->payload;
        if (block->place != TTEST_PLACE_CHUNK(TTP_CHUNK_PARTITION))
            continue;
        uint32_t found = at;
        for (; found < output.block_count; found++) {
            const struct ttest_block *b = &output.blocks[found];
            if (b->place == block->place && b->end - b->payload == size &&
                memcmp(out->data + b->payload, trace.data + block->payload, size) == 0)
                break;
        }
        if (found < output.block_count)
            at = found + 1;
        else
            ck_assert_msg(reads(block->partitions_before, bit / 8),
                          "bit %zu: partition %u is not recovered", bit, block->partitions_before);
    }
    ttest_map_free(&output);
}

static void check_recover(size_t bit)
{
    ttape_source source = ttape_source_memory(trace.data, trace.size_bytes);
    ttape_memory_sink memory = {0};
    ttape_sink sink = ttape_sink_memory(&memory);
    ttape_recover_report report;
    ttape_error err = {0};
    uint64_t count = 0;
    ttape_status status = ttape_recover_trace(&source, &sink, NULL, &report, &err);
    ck_assert_msg(status == TTAPE_OK, "bit %zu: %s", bit, err.message);
    check_output(&memory, bit);
    source = ttape_source_memory(memory.data, memory.size_bytes);
    ck_assert_int_eq(ttape_verify(&source, NULL, NULL, NULL, NULL, &count, &err), TTAPE_OK);
    ck_assert_msg(count == 0, "bit %zu: what is recovered does not verify", bit);
    ttape_memory_sink_close(&memory);
    recovered++;
}

/* ---- reading ---- */

static uint32_t check_refused(size_t bit, const ttape_error *err)
{
    const struct ttest_block *block = &map.blocks[map.block_of[bit / 8]];
    ck_assert_msg(err->status >= TTAPE_E_TRUNCATED && err->rule[0] != '\0' &&
                      lies_in(block, err->offset),
                  "bit %zu is refused as %d, %s, at %llu: %s", bit, err->status, err->rule,
                  (unsigned long long)err->offset, err->message);
    if (sampled(bit, RECOVER_STRIDE))
        check_recover(bit);
    return TTEST_REFUSED;
}

/* One that needs the byte says so, and where: there, or, of a model that cannot be told from others
 * any more, at the partition that names it. */
static void check_harmed(ttape_reader *reader, uint32_t p, size_t bit)
{
    const struct ttest_block *block = &map.blocks[map.block_of[bit / 8]];
    const struct ttest_block *own = &map.blocks[map.block_of[wanted_infos[p].offset]];
    ttape_error err = {0};
    ttape_status status;
    (void)ttest_read_partition(reader, p, &status, &err);
    ck_assert_msg(status >= TTAPE_E_TRUNCATED && err.rule[0] != '\0',
                  "bit %zu changes partition %u, silently (%d)", bit, p, status);
    ck_assert_msg(lies_in(block, err.offset) ||
                      (strcmp(err.rule, "F-MOD-02") == 0 && lies_in(own, err.offset)),
                  "bit %zu: partition %u fails elsewhere: %s at %llu: %s", bit, p, err.rule,
                  (unsigned long long)err.offset, err.message);
}

static void check_exact(ttape_reader *reader, uint32_t p, uint64_t hash, size_t bit)
{
    ttape_error err = {0};
    ttape_status status;
    uint64_t got = ttest_read_partition(reader, p, &status, &err);
    ck_assert_msg(status == TTAPE_OK, "bit %zu harms partition %u: %s", bit, p, err.message);
    ck_assert_msg(got == hash, "bit %zu changes partition %u", bit, p);
}

/* What a reader gives that was opened in spite of the bit. Returns how many partitions fail. */
static uint32_t check_partitions(ttape_reader *reader, size_t bit, bool met_by_open)
{
    uint32_t harmed = 0, other = (uint32_t)(bit / STEP % partition_count);
    bool all = sampled(bit, ALL_STRIDE);
    for (uint32_t p = 0; p < partition_count; p++) {
        ttape_partition_info info;
        ck_assert_int_eq(ttape_reader_get_partition(reader, p, &info), TTAPE_OK);
        if (reads(p, bit / 8)) {
            check_harmed(reader, p, bit);
            harmed++;
            continue;
        }
        ck_assert_msg(memcmp(&info, &wanted_infos[p], sizeof info) == 0,
                      "bit %zu changes what is said of partition %u", bit, p);
        if (all || (met_by_open && p == other))
            check_exact(reader, p, wanted[p], bit);
    }
    return harmed;
}

static uint32_t check_way(enum ttest_way way, size_t bit, uint32_t *most)
{
    struct ttest_watch watch = {trace.data, trace.size_bytes, NULL, 0};
    ttape_error err = {0};
    ttape_source source;
    ttape_info info;
    ttape_reader *reader = try_open(way, &watch, &source, &err);
    if (reader == NULL)
        return check_refused(bit, &err);
    bool met = by_open[way][bit / 8] != 0;
    ttape_reader_get_info(reader, &info);
    ck_assert_uint_eq(info.partition_count, partition_count);
    uint32_t harmed = check_partitions(reader, bit, met);
    if (met) {
        ck_assert_msg(harmed > 0 || /* its events are in the counts of streams */
                          ttest_read_definitions(reader) == wanted_definitions,
                      "bit %zu changes definitions", bit);
        ck_assert_msg(!info.by_index, "bit %zu of what the index is read with goes unnoticed", bit);
        ck_assert_msg(harmed > 0 || !info.complete, "bit %zu of what a scan reads goes unnoticed",
                      bit);
    }
    ttape_reader_close(reader);
    *most = harmed > *most ? harmed : *most;
    return harmed > 0 ? TTEST_ONE : met ? TTEST_EXACT : TTEST_UNREAD;
}

/* ---- as a pipe ---- */

struct pipe {
    size_t at;
};

static ttape_status pipe_read(void *context, void *buffer, size_t size_bytes, size_t *got_bytes,
                              ttape_error *err)
{
    struct pipe *pipe = context;
    (void)err;
    *got_bytes =
        size_bytes < trace.size_bytes - pipe->at ? size_bytes : trace.size_bytes - pipe->at;
    memcpy(buffer, trace.data + pipe->at, *got_bytes);
    pipe->at += *got_bytes;
    return TTAPE_OK;
}

/* From front to back; without a bit that is flipped, into wanted_by_pipe. */
static uint32_t check_pipe(size_t bit, bool flipped)
{
    struct pipe pipe = {0};
    ttape_input input = {&pipe, pipe_read};
    ttape_forward *forward;
    ttape_reader *reader;
    ttape_error err = {0};
    uint32_t partitions = 0, harmed = 0;
    ttape_status status = ttape_forward_open(&forward, &input, NULL, &err);
    while (status == TTAPE_OK) {
        status = ttape_forward_next(forward, &reader, &err);
        if (status != TTAPE_OK)
            break;
        ttape_status read;
        ttape_error ignored;
        ck_assert_uint_lt(partitions, partition_count);
        if (!flipped)
            wanted_by_pipe[partitions] = ttest_read_partition(reader, 0, &read, &ignored);
        else if (reads(partitions, bit / 8))
            check_harmed(reader, 0, bit);
        else
            check_exact(reader, 0, wanted_by_pipe[partitions], bit);
        harmed += flipped && reads(partitions, bit / 8);
        partitions++;
    }
    ttape_forward_close(forward);
    if (status == TTAPE_END) {
        ck_assert_uint_eq(partitions, partition_count);
        return harmed > 0 ? TTEST_ONE : TTEST_UNREAD;
    }
    ck_assert(flipped && harmed == 0);
    ck_assert_uint_eq(partitions, map.blocks[map.block_of[bit / 8]].partitions_before);
    return check_refused(bit, &err);
}

/* ---- the sweep ---- */

static void check_bit(size_t bit, uint32_t *most)
{
    uint32_t place = ttest_map_place(&map, bit / 8), seen = 0;
    uint32_t outcomes[TTEST_WAYS] = {0};
    trace.data[bit / 8] ^= (uint8_t)(1u << (bit % 8));
    outcomes[TTEST_BY_INDEX] = check_way(TTEST_BY_INDEX, bit, most);
    if (place != TTEST_PLACE_PAYLOAD(TTP_CHUNK_PARTITION) || sampled(bit, SCAN_STRIDE))
        outcomes[TTEST_BY_SCAN] = check_way(TTEST_BY_SCAN, bit, most);
    if (sampled(bit, PIPE_STRIDE))
        outcomes[TTEST_BY_PIPE] = check_pipe(bit, true);
    for (uint32_t way = 0; way < TTEST_WAYS; way++) {
        ck_assert_msg((outcomes[way] & ~(uint32_t)ttest_allowed[place][way]) == 0,
                      "bit %zu, way %u: %u is not in the list for place %u", bit, way,
                      outcomes[way], place);
        ttest_map_count(place, way, outcomes[way]);
        seen |= outcomes[way];
    }
    if (sampled(bit, seen == TTEST_UNREAD ? UNREAD_STRIDE : VERIFY_STRIDE))
        check_verify(bit);
    trace.data[bit / 8] ^= (uint8_t)(1u << (bit % 8));
}

START_TEST(r2_every_bit_is_detected_and_localised)
{
    uint32_t most = 0;
    trace = ttest_sweep_trace(TTEST_SWEEP_BYTES);
    map = ttest_map_make(&trace);
    watch_opening(TTEST_BY_INDEX);
    watch_opening(TTEST_BY_SCAN);
    watch_partitions();
    check_sharing();
    (void)check_pipe(0, false);
    for (size_t bit = 0; bit < trace.size_bytes * 8; bit += STEP)
        check_bit(bit, &most);
    printf("%zu bits, one in %u; a model serves %u partitions at most; %llu recoveries, %llu "
           "verified\n",
           trace.size_bytes * 8, STEP, most, (unsigned long long)recovered,
           (unsigned long long)verified);
    ttest_map_print();
    ck_assert(recovered > 0 && verified > 0);
    for (uint32_t p = 0; p < partition_count; p++)
        free(touched[p]);
    free(by_open[TTEST_BY_INDEX]);
    free(by_open[TTEST_BY_SCAN]);
    ttest_map_free(&map);
    free(trace.data);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sweep_bits");
    TCase *tests = tcase_create("bits");
    tcase_set_timeout(tests, 3000);
    tcase_add_test(tests, r2_every_bit_is_detected_and_localised);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}

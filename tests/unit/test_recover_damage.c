/* A recording whose recorder was killed, and whose files were damaged since: everything that
 * verifies is kept, what is missing is a gap with a count, and what comes behind goes on. */
#define _GNU_SOURCE /* asprintf */
#include "recover_damage.h"

/* One partition is lost, with its head or only with its end: the others stay, and all else. */
static void expect_one_lost(unsigned nth, size_t bit)
{
    const struct chunk_place *place = nth_chunk(TTP_CHUNK_PARTITION, nth);
    struct tried t;
    flip_in("trace.0", bit, &t);
    check_tried(&t, place->events, "partition", nth);
    ck_assert_uint_eq(t.report.partition_count, ROUNDS - 2);
    ck_assert_uint_eq(t.report.lost_events, place->events);
    ck_assert_uint_eq(t.report.gap_count, THREADS);
    ck_assert_uint_eq(t.report.uncounted_losses, 0);
    ck_assert_uint_eq(t.events.count, before.count - place->events);
    ck_assert_uint_eq(t.report.recovered_events, before.count / ROUNDS);
    ck_assert(t.is_named && t.told_pieces >= chunk_count);
}

START_TEST(a_partition_without_its_head)
{
    for (unsigned i = 0; i + 1 < ROUNDS; i++)
        expect_one_lost(i, nth_chunk(TTP_CHUNK_PARTITION, i)->offset * 8 + 200);
}
END_TEST

START_TEST(a_partition_without_its_end)
{
    for (unsigned i = 0; i + 1 < ROUNDS; i++) {
        const struct chunk_place *place = nth_chunk(TTP_CHUNK_PARTITION, i);
        expect_one_lost(i, (place->offset + place->size_bytes) * 8 - 1);
    }
}
END_TEST

/* Only names are lost, whether a chunk's head or what is in it is damaged. */
START_TEST(definitions_of_a_recording)
{
    const uint32_t kinds[] = {TTP_CHUNK_METADATA, TTP_CHUNK_SITES, TTP_CHUNK_STREAMS};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        for (size_t byte = 20; byte < 80; byte += 50) {
            struct tried t;
            flip_in("trace.0", (nth_chunk(kinds[i], 0)->offset + byte) * 8, &t);
            check_tried(&t, 0, "definitions", i);
            ck_assert_uint_eq(t.report.lost_events, 0);
            ck_assert_uint_eq(t.report.uncounted_losses, 0);
            ck_assert_uint_eq(t.events.count, before.count);
            ck_assert_uint_ge(t.report.loss_count, 2);
        }
}
END_TEST

START_TEST(sampled_flips)
{
    size_t end = chunks[chunk_count - 1].offset + chunks[chunk_count - 1].size_bytes;
    for (size_t bit = 3; bit < end * 8; bit += 331) {
        struct tried t;
        flip_in("trace.0", bit, &t);
        check_tried(&t, cost_of(bit / 8), "bit", bit);
    }
}
END_TEST

/* What the journal counts and the file has not is lost, and counted; also where it ends between two
 * chunks, and nothing in it tells. */
static void cut_trace(size_t size, const uint8_t *bytes)
{
    char *path = path_of(left->directory, "trace.0");
    struct tried t;
    uint64_t lost = 0;
    for (size_t i = 0; i < chunk_count; i++)
        lost += chunks[i].offset + chunks[i].size_bytes > size ? chunks[i].events : 0;
    write_file(path, bytes, size);
    try_folder(&t);
    check_tried(&t, lost, "cut at", size);
    ck_assert_msg(t.report.lost_events == lost, "cut at %zu: %lu of %lu lost events", size,
                  (unsigned long)t.report.lost_events, (unsigned long)lost);
    ck_assert_uint_eq(t.report.uncounted_losses, 0);
    ck_assert_uint_eq(t.report.recovered_events, before.count / ROUNDS);
    free(path);
}

START_TEST(a_trace_that_ends_early)
{
    static uint8_t bytes[BYTES];
    char *path = path_of(left->directory, "trace.0");
    size_t size = read_file(path, bytes, sizeof bytes);
    for (size_t i = 0; i < chunk_count; i++) {
        cut_trace(chunks[i].offset, bytes);
        cut_trace(chunks[i].offset + chunks[i].size_bytes / 2, bytes);
    }
    cut_trace(0, bytes);
    cut_trace(TTP_FILE_HEADER_BYTES, bytes);
    write_file(path, bytes, size);
    free(path);
}
END_TEST

/* Chunks behind the checkpoint are in the spill file too: they are not taken, and are no loss. */
START_TEST(what_is_behind_the_checkpoint)
{
    static uint8_t bytes[BYTES];
    char *path = path_of(left->directory, "trace.0");
    size_t size = read_file(path, bytes, sizeof bytes);
    struct tried t;
    memset(bytes + size, 7, 500);
    write_file(path, bytes, size + 500);
    try_folder(&t);
    check_tried(&t, 0, "noise behind", size);
    ck_assert_uint_eq(t.report.loss_count, 1); /* the arena */
    ck_assert_uint_eq(t.report.pieces[TTAPE_RECOVER_BYTES][TTAPE_RECOVER_SKIPPED], 1);
    free(path);
}
END_TEST

/* The file is gone altogether. */
START_TEST(no_trace_file)
{
    struct tried t;
    char *path = path_of(left->directory, "trace.0");
    write_file(path, "", 0);
    try_folder(&t);
    check_tried(&t, before.count, "empty", 0);
    ck_assert_uint_eq(t.report.lost_events, before.count - before.count / ROUNDS);
    ck_assert_uint_eq(t.events.count, before.count / ROUNDS);
    free(path);
}
END_TEST

START_TEST(a_journal_that_is_damaged) { sweep("journal", 777); }
END_TEST

START_TEST(a_spill_file_that_is_damaged) { sweep("spill", 3333); }
END_TEST

int main(void)
{
    Suite *suite = suite_create("recover_damage");
    TCase *tests = tcase_create("tests");
    tcase_set_timeout(tests, 120);
    tcase_add_checked_fixture(tests, leave_folder, tear_down);
    tcase_add_test(tests, a_partition_without_its_head);
    tcase_add_test(tests, a_partition_without_its_end);
    tcase_add_test(tests, definitions_of_a_recording);
    tcase_add_test(tests, sampled_flips);
    tcase_add_test(tests, a_journal_that_is_damaged);
    tcase_add_test(tests, a_spill_file_that_is_damaged);
    tcase_add_test(tests, a_trace_that_ends_early);
    tcase_add_test(tests, what_is_behind_the_checkpoint);
    tcase_add_test(tests, no_trace_file);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}

/* A journal that says what cannot be, and slots of the spill file that are damaged: no loss is made
 * up, and none goes without a word. */
#define _GNU_SOURCE /* asprintf */
#include "recover_damage.h"

#include "format/base/bytes.h"
#include "format/base/checksum.h"
#include "format/base/limits.h"
#include "recorder/state/journal.h"

#define NUMBER_AT 8u /* in a REACHED, behind its serial */
#define TIME_AT   16u
#define DISBELIEF "the journal's numbers of events cannot be"

static uint8_t journal[BYTES];

/* The first thread's last entry of a kind has another number there. */
static void set_number(uint32_t kind, size_t offset, uint64_t number)
{
    char *path = path_of(left->directory, "journal");
    size_t size = read_file(path, journal, sizeof journal), found = 0;
    for (size_t at = 0; at + TTP_JOURNAL_HEAD_BYTES <= size;
         at += TTP_JOURNAL_HEAD_BYTES + ttp_load32(journal + at + 4))
        if (ttp_load32(journal + at) == kind &&
            (kind == TTP_JOURNAL_CHECKPOINT || journal[at + TTP_JOURNAL_HEAD_BYTES] == 1))
            found = at;
    ck_assert_uint_ne(found, 0);
    uint8_t *bytes = journal + found + TTP_JOURNAL_HEAD_BYTES;
    ttp_store64(bytes + offset, number);
    ttp_store64(journal + found + 8, ttp_checksum(bytes, ttp_load32(journal + found + 4)) ^ kind);
    write_file(path, journal, size);
    free(path);
}

static const uint64_t lies[] = {
    UINT64_MAX,
    UINT64_C(1) << 63,
    TTP_JOURNAL_NUMBER_MAX + 1,
    TTP_JOURNAL_NUMBER_MAX,
    UINT64_C(1) << 40,
    UINT64_C(1) << 20,
    PER_STREAM,
    5,
    1,
};

/* Nothing is missing, so nothing is lost, and what is there is not taken for the spill file's. */
START_TEST(numbers_that_a_whole_trace_denies)
{
    struct tried t;
    set_number(TTP_JOURNAL_REACHED, NUMBER_AT, lies[_i]);
    try_folder(&t);
    check_tried(&t, 0, "lie", (size_t)_i);
    ck_assert_uint_eq(t.report.lost_events, 0);
    ck_assert_uint_eq(t.report.gap_count, 0);
    ck_assert_uint_eq(t.report.partition_count, ROUNDS - 1);
    ck_assert_msg(strstr(t.lines, DISBELIEF) != NULL, "told: '%s'", t.lines);
}
END_TEST

/* Of the one partition that is missing a loss may be, but no more than it can have held. */
START_TEST(numbers_beside_a_lost_partition)
{
    const struct chunk_place *place = nth_chunk(TTP_CHUNK_PARTITION, 3);
    struct tried t;
    has_other_numbers = true;
    set_number(TTP_JOURNAL_REACHED, NUMBER_AT, lies[_i]);
    flip_in("trace.0", (place->offset + 1) * 8, &t);
    ck_assert_msg(t.status == TTAPE_OK, "%s", t.err.message);
    ck_assert_uint_eq(t.events.count, before.count - place->events);
    ck_assert_uint_eq(t.events.lost, t.report.lost_events);
    ck_assert_uint_le(t.report.lost_events, TTP_MAX_PARTITION_EVENTS);
    ck_assert_uint_ge(t.report.loss_count, 2);
}
END_TEST

/* The checkpoint may lie of partitions, too: no number passes what a recorder can reach. */
START_TEST(numbers_and_partitions)
{
    struct tried t;
    has_other_numbers = true;
    set_number(TTP_JOURNAL_CHECKPOINT, 8, UINT64_MAX);
    set_number(TTP_JOURNAL_REACHED, NUMBER_AT, lies[_i]);
    try_folder(&t);
    ck_assert_msg(t.status == TTAPE_OK, "%s", t.err.message);
    ck_assert_uint_eq(t.events.lost, t.report.lost_events);
    ck_assert_uint_le(t.report.lost_events, TTP_JOURNAL_NUMBER_MAX);
    ck_assert_uint_ge(t.report.loss_count, 2);
}
END_TEST

/* A gap for what is missing at the end has the journal's time, which may be any. */
START_TEST(times_of_any_size)
{
    static const uint64_t times[] = {UINT64_MAX, UINT64_C(1) << 63, 1, 0};
    const struct chunk_place *place = nth_chunk(TTP_CHUNK_PARTITION, ROUNDS - 2);
    struct tried t;
    set_number(TTP_JOURNAL_REACHED, TIME_AT, times[_i]);
    flip_in("trace.0", (place->offset + 1) * 8, &t);
    check_tried(&t, place->events, "time", (size_t)_i);
    ck_assert_uint_eq(t.events.count, before.count - place->events);
}
END_TEST

/* Each slot in turn: where events are missing a loss is told, elsewhere that they are not. */
START_TEST(a_slot_that_is_damaged)
{
    static uint8_t bytes[BYTES];
    char *path = path_of(left->directory, "spill");
    size_t size = read_file(path, bytes, sizeof bytes), lost = 0;
    for (size_t at = 0; at < size; at += TTP_SLOT_BYTES)
        for (size_t part = 0; part < 3; part++) { /* magic, serial, a record */
            static const size_t parts[] = {0, TTP_SLOT_HEAD_BYTES, 136};
            struct tried t;
            flip_in("spill", (at + parts[part]) * 8 + 3, &t);
            check_tried(&t, UINT64_MAX / 2, "slot", at);
            bool is_missing = t.events.count < before.count;
            bool is_told = strstr(t.lines, "!1 slots of the spill file are damaged") != NULL;
            lost += is_missing;
            ck_assert_msg(!is_missing || is_told, "%zu, %zu: told '%s'", at, part, t.lines);
            ck_assert_msg(is_told || strstr(t.lines, "1 slots of the spill file") != NULL,
                          "%zu, %zu: told '%s'", at, part, t.lines);
            ck_assert_msg(t.report.uncounted_losses == is_told, "%zu, %zu: %lu losses", at, part,
                          (unsigned long)t.report.uncounted_losses);
        }
    ck_assert_uint_ge(lost, THREADS);
    free(path);
}
END_TEST

int main(void)
{
    const int lie_count = sizeof lies / sizeof *lies;
    Suite *suite = suite_create("recover_journal_lies");
    TCase *tests = tcase_create("tests");
    tcase_set_timeout(tests, 120);
    tcase_add_checked_fixture(tests, leave_folder, tear_down);
    tcase_add_loop_test(tests, numbers_that_a_whole_trace_denies, 0, lie_count);
    tcase_add_loop_test(tests, numbers_beside_a_lost_partition, 0, lie_count);
    tcase_add_loop_test(tests, numbers_and_partitions, 0, lie_count);
    tcase_add_loop_test(tests, times_of_any_size, 0, 4);
    tcase_add_test(tests, a_slot_that_is_damaged);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}

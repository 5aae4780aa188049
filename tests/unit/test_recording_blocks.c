/* Draining: which blocks are taken when, in what order, and when they are given back. */
#include <stdlib.h>
#include <unistd.h>

#include "arena_player.h"

#define THREAD_MS 800 /* more than threads go unchecked */

static struct ttest_player player;
static uint32_t pid; /* of a process that lives */

static void set_up(void)
{
    ttest_player_open(&player, NULL);
    pid = (uint32_t)ttest_process_start();
}

static void tear_down(void)
{
    ttest_process_end((pid_t)pid);
    ttest_player_close(&player);
}

static void fill(struct ttest_block *b, uint64_t address)
{
    while (b->used + 2 <= TTP_BLOCK_RECORDS) {
        ttest_enter(b, address);
        ttest_exit(b, address);
    }
    ck_assert_uint_eq(b->used, TTP_BLOCK_RECORDS);
}

static char *repeated(const char *text, size_t count, const char *end)
{
    size_t bytes = strlen(text);
    char *all = malloc(count * bytes + strlen(end) + 1);
    for (size_t i = 0; i < count; i++)
        memcpy(all + i * bytes, text, bytes);
    strcpy(all + count * bytes, end);
    return all;
}

START_TEST(full_blocks_are_taken_and_given_back)
{
    struct ttest_block b = ttest_block_take(&player, pid, 1, 1, 1);
    fill(&b, 0x1000);
    ttest_poll(&player);
    ck_assert(!ttest_block_is_free(&b)); /* nobody said that it is full */
    ttest_block_state(&b, TTP_BLOCK_FULL);
    ttest_poll(&player);
    ck_assert(ttest_block_is_free(&b));
    struct ttest_block next = ttest_block_take(&player, pid, 1, 1, 2); /* checks that it is zero */
    ck_assert_uint_eq(next.index, b.index);
    ttest_enter(&next, 0x2000);
    ttest_block_state(&next, TTP_BLOCK_DONE);
    (void)ttest_finish(&player);
    char *wanted = repeated("+1000 -1000 ", TTP_BLOCK_RECORDS / 2, "+2000");
    ttest_expect(&player, wanted, NULL);
    free(wanted);
}
END_TEST

START_TEST(blocks_that_fill_are_taken_piece_by_piece)
{
    struct ttest_block b = ttest_block_take(&player, pid, 1, 1, 1);
    ttest_enter(&b, 0x1000);
    ttest_enter(&b, 0x2000);
    ttest_flush(&player);
    ttest_exit(&b, 0x2000);
    ttest_flush(&player);
    ttest_flush(&player);
    ttape_recording_status status;
    ttape_recording_get_status(player.recording, &status);
    ck_assert_uint_eq(status.event_count, 3);
    ck_assert(!ttest_block_is_free(&b));
    ttest_exit(&b, 0x1000);
    ttest_block_state(&b, TTP_BLOCK_DONE);
    ttest_poll(&player);
    ck_assert(!ttest_block_is_free(&b)); /* its thread may want it back, and rests for a round */
    ttest_poll(&player);
    ck_assert(ttest_block_is_free(&b));
    status = ttest_finish(&player);
    ck_assert_uint_eq(status.lost_count, 0);
    ck_assert_uint_eq(status.thread_count, 1);
    ttest_expect(&player, "+1000 +2000 -2000 -1000", NULL);
}
END_TEST

/* The recorder had said that it is its own, and could not spill it then. */
START_TEST(taken_blocks_are_taken_again)
{
    struct ttest_block b = ttest_block_take(&player, pid, 1, 1, 1);
    ttest_enter(&b, 0x1000);
    ttest_exit(&b, 0x1000);
    player.states[b.index] = TTP_BLOCK_TAKEN;
    ttest_poll(&player);
    ttest_poll(&player);
    ck_assert(ttest_block_is_free(&b));
    ck_assert_uint_eq(ttest_finish(&player).lost_count, 0);
    ttest_expect(&player, "+1000 -1000", NULL);
}
END_TEST

START_TEST(holes_are_waited_for)
{
    struct ttest_block b = ttest_block_take(&player, pid, 1, 1, 1);
    fill(&b, 0x1000);
    ttest_put_at(&b, 2, 0);
    ttest_block_state(&b, TTP_BLOCK_FULL);
    struct ttest_block next = ttest_block_take(&player, pid, 1, 1, 2);
    ttest_enter(&next, 0x3000);
    ttest_block_state(&next, TTP_BLOCK_DONE);
    ttest_poll_few(&player);
    ck_assert(!ttest_block_is_free(&b));
    ck_assert(!ttest_block_is_free(&next)); /* not before it */
    ttest_put_at(&b, 2, ttp_record_call(TTP_TAG_ENTER, 0, 0x1000));
    ttest_poll(&player);
    ck_assert(ttest_block_is_free(&b));
    ck_assert(ttest_block_is_free(&next));
    ck_assert_uint_eq(ttest_finish(&player).lost_count, 0);
    char *wanted = repeated("+1000 -1000 ", TTP_BLOCK_RECORDS / 2, "+3000");
    ttest_expect(&player, wanted, NULL);
    free(wanted);
}
END_TEST

START_TEST(holes_that_stay_are_counted)
{
    struct ttest_block b = ttest_block_take(&player, pid, 1, 1, 1);
    fill(&b, 0x1000);
    ttest_put_at(&b, TTP_BLOCK_RECORDS - 4, 0);
    ttest_put_at(&b, TTP_BLOCK_RECORDS - 3, 0);
    ttest_block_state(&b, TTP_BLOCK_FULL);
    ttest_poll_ms(&player, TTEST_HOLE_MS);
    ck_assert(!ttest_block_is_free(&b)); /* the hook may still store into it */
    struct ttest_block next = ttest_block_take(&player, pid, 1, 1, 2);
    ttest_enter(&next, 0x3000);
    ttest_block_state(&next, TTP_BLOCK_DONE);
    ttest_poll(&player);
    ttest_poll(&player);
    ck_assert(ttest_block_is_free(&next));
    ck_assert(!ttest_block_is_free(&b));
    ttest_process_end((pid_t)pid);
    ttest_poll_ms(&player, 50);
    ck_assert(ttest_block_is_free(&b));
    pid = (uint32_t)ttest_process_start();
    ck_assert_uint_eq(ttest_finish(&player).lost_count, 2);
    char *wanted =
        repeated("+1000 -1000 ", TTP_BLOCK_RECORDS / 2 - 2, "g0:1 g0:1 +1000 -1000 +3000");
    ttest_expect(&player, wanted, NULL);
    free(wanted);
}
END_TEST

START_TEST(a_flush_stops_before_a_hole)
{
    struct ttest_block b = ttest_block_take(&player, pid, 1, 1, 1);
    ttest_enter(&b, 0x1000);
    ttest_put(&b, 0);
    ttest_enter(&b, 0x3000);
    ttest_flush(&player);
    ttape_recording_status status;
    ttape_recording_get_status(player.recording, &status);
    ck_assert_uint_eq(status.event_count, 1);
    ttest_put_at(&b, 1, ttp_record_call(TTP_TAG_ENTER, 0, 0x2000));
    ttest_block_state(&b, TTP_BLOCK_DONE);
    (void)ttest_finish(&player);
    ttest_expect(&player, "+1000 +2000 +3000", NULL);
}
END_TEST

/* Its state is seen before its successor's, which is full by then: a scan of the states takes time.
 */
START_TEST(a_block_seen_filling_goes_before_its_full_successor)
{
    struct ttest_block one = ttest_block_take(&player, pid, 1, 1, 1);
    struct ttest_block two = ttest_block_take(&player, pid, 1, 1, 2);
    fill(&one, 0x1000);
    fill(&two, 0x2000);
    ttest_block_state(&two, TTP_BLOCK_FULL);
    ttest_poll(&player);
    ttest_poll(&player);
    ck_assert(!ttest_block_is_free(&two));
    ttest_block_state(&one, TTP_BLOCK_FULL);
    ttest_poll(&player);
    ck_assert(ttest_block_is_free(&one));
    ck_assert(ttest_block_is_free(&two));
    ck_assert_uint_eq(ttest_finish(&player).lost_count, 0);
    ttape_source source;
    ttape_reader *reader = ttest_read(&player, player.output, &source);
    char *text = ttest_stream_text(reader, 0, false);
    ck_assert_ptr_null(strchr(text, 'g'));
    ck_assert_uint_eq(strlen(text), TTP_BLOCK_RECORDS * 2 * 6 - 1);
    free(text);
    ttape_reader_close(reader);
    ttape_source_file_close(&source);
}
END_TEST

START_TEST(the_dead_leave_everything)
{
    struct ttest_block b = ttest_block_take(&player, pid, 1, 1, 1);
    ttest_enter(&b, 0x1000);
    ttest_put(&b, 0); /* killed between reserving and storing */
    ttest_enter(&b, 0x3000);
    struct ttest_block other = ttest_block_take(&player, pid, 1, 2, 1);
    ttest_enter(&other, 0x4000);
    struct ttest_block empty = ttest_block_take(&player, pid, 1, 0, 0); /* no head yet */
    struct ttest_block none = ttest_block_take(&player, pid, 1, 3, 1);
    ttest_poll(&player);
    ck_assert(!ttest_block_is_free(&empty));
    ttest_process_end((pid_t)pid);
    ttest_poll_ms(&player, 60);
    ck_assert(ttest_block_is_free(&b));
    ck_assert(ttest_block_is_free(&other));
    ck_assert(ttest_block_is_free(&empty));
    ck_assert(ttest_block_is_free(&none));
    pid = (uint32_t)ttest_process_start();
    ttape_recording_status status = ttest_finish(&player);
    ck_assert_uint_eq(status.lost_count, 1);
    ck_assert_uint_eq(status.live_count, 0);
    ttest_expect(&player, "+1000 g0:1 +3000", "+4000", NULL);
}
END_TEST

/* The number of the process and thread is the same, the image and its first thread are new. */
START_TEST(an_exec_ends_the_threads_before_it)
{
    struct ttest_block before = ttest_block_take(&player, pid, 1, 1, 1);
    ttest_enter(&before, 0x1000);
    ttest_poll(&player);
    struct ttest_block after = ttest_block_take(&player, pid, 5, 5, 1);
    ttest_process_message(&after, 0, pid, "/bin/new");
    ttest_enter(&after, 0x2000);
    ttest_poll_ms(&player, THREAD_MS);
    ck_assert(ttest_block_is_free(&before));
    ck_assert(!ttest_block_is_free(&after));
    ttest_exit(&after, 0x2000);
    ck_assert_uint_eq(ttest_finish(&player).process_count, 2);
    ttest_expect(&player, "+1000", "+2000 -2000", NULL);
}
END_TEST

START_TEST(a_missing_block_is_a_gap)
{
    struct ttest_block one = ttest_block_take(&player, pid, 1, 1, 1);
    ttest_enter(&one, 0x1000);
    ttest_block_state(&one, TTP_BLOCK_DONE);
    ttest_poll(&player);
    struct ttest_block three = ttest_block_take(&player, pid, 1, 1, 3);
    ttest_exit(&three, 0x1000);
    ttest_block_state(&three, TTP_BLOCK_DONE);
    ttest_poll(&player); /* the second may come: it is waited for */
    ck_assert(!ttest_block_is_free(&three));
    ttest_poll(&player);
    ck_assert(ttest_block_is_free(&three));
    struct ttest_block again = ttest_block_take(&player, pid, 1, 1, 2); /* far too late */
    ttest_enter(&again, 0x5000);
    ttest_block_state(&again, TTP_BLOCK_DONE);
    ttape_recording_status status = ttest_finish(&player);
    ck_assert_uint_ge(status.lost_count, 2); /* one for those that nobody knew of */
    ttest_expect(&player, "+1000 g2:0 -1000 g2:1", NULL);
}
END_TEST

/* While the recorder goes through the blocks, a thread may take one that it has just passed, fill
 * it, and go on in one that it comes to. */
START_TEST(a_block_that_was_not_seen_yet_comes_first)
{
    struct ttest_block one = ttest_block_take(&player, pid, 1, 1, 1);
    ttest_enter(&one, 0x1000);
    ttest_block_state(&one, TTP_BLOCK_DONE);
    ttest_poll(&player);
    struct ttest_block three = ttest_block_take(&player, pid, 1, 1, 3);
    fill(&three, 0x3000);
    ttest_block_state(&three, TTP_BLOCK_FULL);
    ttest_poll(&player);
    struct ttest_block two = ttest_block_take(&player, pid, 1, 1, 2);
    fill(&two, 0x2000);
    ttest_block_state(&two, TTP_BLOCK_FULL);
    ttest_poll(&player);
    ck_assert(ttest_block_is_free(&two) && ttest_block_is_free(&three));
    ck_assert_uint_eq(ttest_finish(&player).lost_count, 0);
}
END_TEST

START_TEST(a_thread_that_ended_may_go_on)
{
    struct ttest_block one = ttest_block_take(&player, pid, 1, 1, 1);
    ttest_enter(&one, 0x1000);
    ttest_extension(&one, TTP_EXT_UNWIND, ttp_unwind_payload(TTP_UNWIND_ALL_BUT, 0));
    ttest_block_state(&one, TTP_BLOCK_DONE);
    ttest_poll(&player);
    struct ttest_block two = ttest_block_take(&player, pid, 1, 1, 2); /* its destructors */
    ttest_enter(&two, 0x2000);
    ttest_exit(&two, 0x2000);
    ttest_block_state(&two, TTP_BLOCK_DONE);
    ck_assert_uint_eq(ttest_finish(&player).lost_count, 0);
    ttest_expect(&player, "+1000 u1 +2000 -2000", NULL);
}
END_TEST

/* Which process it is stands in its first thread's block, which is not full yet. */
START_TEST(the_first_thread_tells_before_the_others)
{
    struct ttest_block second = ttest_block_take(&player, pid, 1, 2, 1);
    fill(&second, 0x1000);
    struct ttest_block first = ttest_block_take(&player, pid, 1, 1, 1);
    ttest_process_message(&first, 0, 1, "/bin/program");
    ttest_block_state(&second, TTP_BLOCK_FULL);
    ttest_poll(&player);
    ck_assert(ttest_block_is_free(&second));
    (void)ttest_finish(&player);
    ttape_source source;
    ttape_process named;
    ttape_reader *reader = ttest_read(&player, player.output, &source);
    ck_assert_int_eq(ttape_reader_get_process(reader, 0, &named), TTAPE_OK);
    ck_assert_uint_eq(named.name.size_bytes, 7);
    ck_assert_mem_eq(named.name.data, "program", 7);
    ck_assert_uint_eq(named.pid, pid);
    ttape_reader_close(reader);
    ttape_source_file_close(&source);
}
END_TEST

/* Of a process that lives, what it has recorded so far; and no more. */
START_TEST(the_end_takes_what_is_there)
{
    struct ttest_block one = ttest_block_take(&player, pid, 1, 1, 1);
    struct ttest_block two = ttest_block_take(&player, pid, 1, 1, 2);
    fill(&one, 0x1000);
    ttest_enter(&two, 0x2000);
    (void)ttest_finish(&player);
    ck_assert_uint_eq(player.head->mode, TTP_MODE_STOPPED);
    char *wanted = repeated("+1000 -1000 ", TTP_BLOCK_RECORDS / 2, "+2000");
    ttest_expect(&player, wanted, NULL);
    free(wanted);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("recording blocks");
    TCase *tests = tcase_create("blocks");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, full_blocks_are_taken_and_given_back);
    tcase_add_test(tests, blocks_that_fill_are_taken_piece_by_piece);
    tcase_add_test(tests, taken_blocks_are_taken_again);
    tcase_add_test(tests, holes_are_waited_for);
    tcase_add_test(tests, holes_that_stay_are_counted);
    tcase_add_test(tests, a_flush_stops_before_a_hole);
    tcase_add_test(tests, a_block_seen_filling_goes_before_its_full_successor);
    tcase_add_test(tests, the_dead_leave_everything);
    tcase_add_test(tests, an_exec_ends_the_threads_before_it);
    tcase_add_test(tests, a_missing_block_is_a_gap);
    tcase_add_test(tests, a_block_that_was_not_seen_yet_comes_first);
    tcase_add_test(tests, a_thread_that_ended_may_go_on);
    tcase_add_test(tests, the_first_thread_tells_before_the_others);
    tcase_add_test(tests, the_end_takes_what_is_there);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}

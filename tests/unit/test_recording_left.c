/* What a round leaves behind: places at the end of a full block that nobody filled. */
#include <stdlib.h>
#include <unistd.h>

#include "arena_player.h"

#define HOLE_MS 300 /* more than a hole is waited for */

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

static void fill(struct ttest_block *b, uint32_t count)
{
    while (b->used < count)
        ttest_enter(b, 0x1000);
    if (count == TTP_BLOCK_RECORDS)
        ttest_block_state(b, TTP_BLOCK_FULL);
}

/* The stream has so many enters, and this behind them. */
static void expect_behind(uint32_t count, const char *wanted)
{
    ttape_source source;
    ttape_reader *reader = ttest_read(&player, player.output, &source);
    char *text = ttest_stream_text(reader, 0, false);
    ck_assert_uint_ge(strlen(text), count * 6);
    ck_assert_int_eq(strncmp(text + count * 6 - 6, "+1000 ", 6), 0);
    ck_assert_str_eq(text + count * 6, wanted);
    free(text);
    ttape_reader_close(reader);
    ttape_source_file_close(&source);
}

/* The event was lost whose hook reserved the last place and never came back. */
START_TEST(a_hole_at_the_end_is_counted)
{
    struct ttest_block b = ttest_block_take(&player, pid, 1, 1, 1);
    fill(&b, TTP_BLOCK_RECORDS - 2);
    ttest_block_state(&b, TTP_BLOCK_FULL);
    struct ttest_block next = ttest_block_take(&player, pid, 1, 1, 2);
    ttest_exit(&next, 0x1000);
    ttest_poll_ms(&player, 50);
    ttape_recording_status status;
    ttape_recording_get_status(player.recording, &status);
    ck_assert_uint_eq(status.lost_count, 0); /* it is waited for */
    ttest_poll_ms(&player, HOLE_MS);
    ck_assert(!ttest_block_is_free(&b)); /* the hook may still store into it */
    ck_assert_uint_eq(ttest_finish(&player).lost_count, 2);
    expect_behind(TTP_BLOCK_RECORDS - 2, "g0:1 g0:1 -1000");
}
END_TEST

START_TEST(a_hole_at_the_end_that_is_filled)
{
    struct ttest_block b = ttest_block_take(&player, pid, 1, 1, 1);
    fill(&b, TTP_BLOCK_RECORDS - 1);
    ttest_block_state(&b, TTP_BLOCK_FULL);
    ttest_poll_ms(&player, 50);
    ttest_exit(&b, 0x1000);
    ttest_poll(&player);
    ck_assert(ttest_block_is_free(&b));
    ck_assert_uint_eq(ttest_finish(&player).lost_count, 0);
    expect_behind(TTP_BLOCK_RECORDS - 1, "-1000");
}
END_TEST

START_TEST(a_hole_at_the_end_of_what_the_dead_left)
{
    struct ttest_block b = ttest_block_take(&player, pid, 1, 1, 1);
    struct ttest_block other = ttest_block_take(&player, pid, 1, 1, 2);
    fill(&b, TTP_BLOCK_RECORDS - 1);
    ttest_block_state(&b, TTP_BLOCK_FULL);
    ttest_exit(&other, 0x1000);
    ttest_process_end((pid_t)pid);
    ttest_poll_ms(&player, 60);
    ck_assert(ttest_block_is_free(&b));
    ck_assert(ttest_block_is_free(&other)); /* the rest of a block that was filled is no hole */
    pid = (uint32_t)ttest_process_start();
    ck_assert_uint_eq(ttest_finish(&player).lost_count, 1);
    expect_behind(TTP_BLOCK_RECORDS - 1, "g0:1 -1000");
}
END_TEST

START_TEST(a_hole_at_the_end_when_all_ends)
{
    struct ttest_block b = ttest_block_take(&player, pid, 1, 1, 1);
    fill(&b, TTP_BLOCK_RECORDS - 1);
    ttest_block_state(&b, TTP_BLOCK_FULL);
    ck_assert_uint_eq(ttest_finish(&player).lost_count, 1);
    expect_behind(TTP_BLOCK_RECORDS - 1, "g0:1");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("recording left");
    TCase *tests = tcase_create("left");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, a_hole_at_the_end_is_counted);
    tcase_add_test(tests, a_hole_at_the_end_that_is_filled);
    tcase_add_test(tests, a_hole_at_the_end_of_what_the_dead_left);
    tcase_add_test(tests, a_hole_at_the_end_when_all_ends);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}

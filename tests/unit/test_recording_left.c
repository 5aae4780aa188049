/* What a round leaves behind: places at the end of a full block that nobody filled, and blocks for
 * which the spill file has no room, or that wait for others. A flush is answered behind them. */
#define _DEFAULT_SOURCE /* usleep */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "arena_player.h"

#define BLOCKS 20u  /* more than the smallest spill file has room for */
#define CUT_MS 1000 /* a snapshot that was asked for so long ago has what there is */

static struct ttest_player player;
static uint32_t pid; /* of a process that lives */

static void set_up(void)
{
    ttape_recording_options options = {
        .size = sizeof options, .clock = TTAPE_CLOCK_NONE, .spill_bytes = 1};
    ttest_player_open(&player, &options);
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

static void expect_end(uint64_t lost, uint64_t events)
{
    ttape_recording_status status = ttest_finish(&player);
    ck_assert_uint_eq(status.lost_count, lost);
    ck_assert_uint_eq(status.event_count, events);
}

static void expect_flushed(uint64_t events)
{
    ttape_recording_status status;
    ttest_flush(&player);
    ttape_recording_get_status(player.recording, &status);
    ck_assert_uint_eq(status.event_count, events);
}

/* The event was lost whose hook reserved the last place and never came back. */
START_TEST(a_hole_at_the_end_is_counted)
{
    struct ttest_block b = ttest_block_take(&player, pid, 1, 1, 1);
    fill(&b, TTP_BLOCK_RECORDS - 2);
    ttest_block_state(&b, TTP_BLOCK_FULL);
    struct ttest_block next = ttest_block_take(&player, pid, 1, 1, 2);
    ttest_exit(&next, 0x1000);
    ttest_poll_few(&player);
    ttape_recording_status status;
    ttape_recording_get_status(player.recording, &status);
    ck_assert_uint_eq(status.lost_count, 0); /* it is waited for */
    ttest_poll_ms(&player, TTEST_HOLE_MS);
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
    ttest_poll_few(&player);
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

/* A handler jumped out of the hook that was about to say that the block is full: nobody will. */
START_TEST(a_block_that_nobody_says_is_full)
{
    struct ttest_block b = ttest_block_take(&player, pid, 1, 1, 1);
    struct ttest_block next = ttest_block_take(&player, pid, 1, 1, 2);
    fill(&b, TTP_BLOCK_RECORDS - 3);
    b.used++; /* a hole */
    fill(&b, TTP_BLOCK_RECORDS - 1);
    ttest_exit(&b, 0x1000);
    fill(&next, TTP_BLOCK_RECORDS);
    struct ttest_block last = ttest_block_take(&player, pid, 1, 1, 3);
    ttest_exit(&last, 0x1000);
    ttest_poll_few(&player);
    ck_assert(!ttest_block_is_free(&next)); /* the handler may return */
    ttest_poll_ms(&player, TTEST_HOLE_MS);
    ck_assert(ttest_block_is_free(&next));
    ck_assert(!ttest_block_is_free(&b)); /* the hook may still say it */
    ttest_block_state(&b, TTP_BLOCK_FULL);
    ttest_poll_ms(&player, TTEST_HOLE_MS);
    ck_assert(!ttest_block_is_free(&b));
    ttest_process_end((pid_t)pid);
    ttest_poll_ms(&player, 60);
    ck_assert(ttest_block_is_free(&b));
    pid = (uint32_t)ttest_process_start();
    expect_end(1, 2 * TTP_BLOCK_RECORDS + 1); /* a gap's is one more */
}
END_TEST

/* The hook comes back, and had reserved a place in it. */
START_TEST(what_comes_too_late_is_counted)
{
    struct ttest_block b = ttest_block_take(&player, pid, 1, 1, 1);
    struct ttest_block next = ttest_block_take(&player, pid, 1, 1, 2);
    fill(&b, TTP_BLOCK_RECORDS - 1);
    ttest_exit(&next, 0x1000);
    ttest_poll_ms(&player, TTEST_HOLE_MS);
    expect_flushed(TTP_BLOCK_RECORDS);
    ttest_exit(&b, 0x1000);
    ttest_block_state(&b, TTP_BLOCK_FULL);
    ttest_poll(&player);
    expect_end(1, TTP_BLOCK_RECORDS);
}
END_TEST

START_TEST(a_block_that_its_hook_says_is_full_later)
{
    struct ttest_block b = ttest_block_take(&player, pid, 1, 1, 1);
    struct ttest_block next = ttest_block_take(&player, pid, 1, 1, 2);
    fill(&b, TTP_BLOCK_RECORDS - 1);
    ttest_exit(&b, 0x1000);
    fill(&next, TTP_BLOCK_RECORDS);
    ttest_poll_few(&player);
    ttest_block_state(&b, TTP_BLOCK_FULL);
    ttest_poll(&player);
    ck_assert(ttest_block_is_free(&b));
    ck_assert(ttest_block_is_free(&next));
    expect_end(0, 2 * TTP_BLOCK_RECORDS);
}
END_TEST

/* What is behind a hole of such a block is not left out at the end either. */
START_TEST(a_block_that_nobody_says_is_full_when_all_ends)
{
    struct ttest_block b = ttest_block_take(&player, pid, 1, 1, 1);
    b.used++;
    fill(&b, TTP_BLOCK_RECORDS - 1);
    ttest_exit(&b, 0x1000);
    struct ttest_block next = ttest_block_take(&player, pid, 1, 1, 2);
    ttest_exit(&next, 0x1000);
    expect_end(1, TTP_BLOCK_RECORDS + 1);
}
END_TEST

/* A handler jumped out of the hook that had taken a block and not begun it: the next one that the
 * thread takes has the same number. */
START_TEST(a_block_that_was_never_begun)
{
    struct ttest_block never = ttest_block_take(&player, pid, 1, 1, 1);
    struct ttest_block b = ttest_block_take(&player, pid, 1, 1, 1);
    struct ttest_block never_either = ttest_block_take(&player, pid, 1, 1, 2);
    fill(&b, TTP_BLOCK_RECORDS);
    struct ttest_block next = ttest_block_take(&player, pid, 1, 1, 2);
    fill(&next, TTP_BLOCK_RECORDS);
    ttest_poll(&player);
    ck_assert(ttest_block_is_free(&b));
    ck_assert(ttest_block_is_free(&next));
    struct ttest_block last = ttest_block_take(&player, pid, 1, 1, 3);
    ttest_exit(&last, 0x1000);
    ttest_exit(&last, 0x1000);
    ttest_process_end((pid_t)pid);
    ttest_poll_ms(&player, 60);
    ck_assert(ttest_block_is_free(&never));
    ck_assert(ttest_block_is_free(&never_either));
    pid = (uint32_t)ttest_process_start();
    ck_assert_uint_eq(ttest_finish(&player).lost_count, 0);
    expect_behind(2 * TTP_BLOCK_RECORDS, "-1000 -1000");
}
END_TEST

/* A number that was not its turn: handlers came before it was counted, and when it was to be given
 * back. The thread goes on in the one before. */
START_TEST(a_block_that_was_never_begun_with_a_later_number)
{
    struct ttest_block b = ttest_block_take(&player, pid, 1, 1, 1);
    struct ttest_block never = ttest_block_take(&player, pid, 1, 1, 2);
    fill(&b, 5);
    ttest_poll_ms(&player, TTEST_HOLE_MS);
    ttest_flush(&player);
    fill(&b, TTP_BLOCK_RECORDS);
    struct ttest_block next = ttest_block_take(&player, pid, 1, 1, 2);
    fill(&next, TTP_BLOCK_RECORDS);
    ttest_poll_ms(&player, 50);
    ck_assert(ttest_block_is_free(&b));
    ck_assert(ttest_block_is_free(&next));
    ck_assert(!ttest_block_is_free(&never));
    expect_end(0, 2 * TTP_BLOCK_RECORDS);
}
END_TEST

/* The hook gives it back when it goes on, and others take it. */
START_TEST(a_block_that_is_given_back)
{
    struct ttest_block other = ttest_block_take(&player, pid, 1, 1, 1);
    struct ttest_block b = ttest_block_take(&player, pid, 1, 1, 1);
    fill(&b, 5);
    ttest_poll_ms(&player, TTEST_HOLE_MS);
    expect_flushed(5);
    fill(&b, TTP_BLOCK_RECORDS);
    struct ttest_block next = ttest_block_take(&player, pid, 1, 1, 2);
    ttest_enter(&next, 0x1000);
    ttest_poll(&player);
    ck_assert(ttest_block_is_free(&b));
    ttest_block_give_back(&other);
    struct ttest_block again = ttest_block_take(&player, pid, 1, 2, 1);
    ck_assert_uint_eq(again.index, other.index);
    fill(&again, TTP_BLOCK_RECORDS);
    ttest_poll_ms(&player, 50);
    ck_assert(ttest_block_is_free(&again));
    expect_end(0, 2 * TTP_BLOCK_RECORDS + 1);
}
END_TEST

static void take_and_fill(struct ttest_block *blocks, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        blocks[i] = ttest_block_take(&player, pid, 1, 1, 1 + i);
    for (uint32_t i = 0; i < count; i++)
        fill(&blocks[i], i + 1 < count ? TTP_BLOCK_RECORDS : 5);
}

/* What was recorded before the request is in the file, also where it takes many rounds. */
START_TEST(a_flush_waits_for_room)
{
    struct ttest_block blocks[BLOCKS];
    ttape_recording_status status;
    take_and_fill(blocks, BLOCKS);
    ttest_flush(&player);
    ttape_recording_get_status(player.recording, &status);
    ck_assert_uint_eq(status.event_count, (BLOCKS - 1) * TTP_BLOCK_RECORDS + 5);
    for (uint32_t i = 0; i + 1 < BLOCKS; i++)
        ck_assert(ttest_block_is_free(&blocks[i]));
    ck_assert_uint_eq(player.head->flushes_done, 1);
    ck_assert_uint_eq(ttest_finish(&player).lost_count, 0);
}
END_TEST

/* Nobody stops recording for it: each block is taken once for a request, not in each round. The
 * blocks last for a minute: who encodes has short turns on a busy machine. */
START_TEST(a_flush_is_answered_while_all_go_on)
{
    enum { SOON = 1000 };
    struct ttest_block blocks[BLOCKS];
    pid_t pids[BLOCKS];
    for (uint32_t i = 0; i < BLOCKS; i++) {
        pids[i] = ttest_process_start();
        blocks[i] = ttest_block_take(&player, (uint32_t)pids[i], i + 1, i + 1, 1);
        ttest_enter(&blocks[i], 0x1000);
    }
    player.head->flush_requests++;
    while (player.head->flushes_done == 0 && blocks[0].used < TTP_BLOCK_RECORDS) {
        for (uint32_t i = 0; i < BLOCKS; i++)
            ttest_enter(&blocks[i], 0x2000);
        ttest_poll(&player);
        usleep(blocks[0].used < SOON ? 500 : 20000);
    }
    ck_assert_uint_eq(player.head->flushes_done, 1);
    for (uint32_t i = 0; i < BLOCKS; i++)
        ttest_process_end(pids[i]);
    ttape_recording_status status = ttest_finish(&player);
    ck_assert_uint_eq(status.lost_count, 0);
    ck_assert_uint_eq(status.event_count, BLOCKS * blocks[0].used);
}
END_TEST

static int64_t now_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* A snapshot has them, too: where the machine is so busy that this takes a second, some. */
START_TEST(a_snapshot_waits_for_room)
{
    struct ttest_block blocks[BLOCKS];
    const uint64_t whole = (BLOCKS - 1) * TTP_BLOCK_RECORDS + 5;
    ttape_source source;
    ttape_info info;
    char path[96];
    take_and_fill(blocks, BLOCKS);
    int64_t asked_ms = now_ms();
    player.head->snapshot_requests++;
    for (int i = 0; i < 60000 && player.head->snapshots_done == 0; i++) {
        ttest_poll(&player);
        usleep(1000);
    }
    bool is_late = now_ms() - asked_ms >= CUT_MS;
    ck_assert_uint_eq(player.head->snapshots_done, 1);
    ck_assert_uint_eq(player.head->snapshots_written, 1);
    (void)snprintf(path, sizeof path, "%s.snapshot-1", player.output);
    ttape_reader *reader = ttest_read(&player, path, &source);
    ttape_reader_get_info(reader, &info);
    ck_assert_uint_le(info.event_count, whole);
    ck_assert(is_late || info.event_count == whole);
    ttape_reader_close(reader);
    ttape_source_file_close(&source);
    ck_assert_uint_eq(ttest_finish(&player).lost_count, 0);
}
END_TEST

/* Of the blocks from the first. */
static uint32_t count_free(void)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < BLOCKS; i++)
        count += __atomic_load_n(&player.states[i], __ATOMIC_ACQUIRE) == TTP_BLOCK_FREE;
    return count;
}

/* Where there never is enough room, a snapshot has what there is, and a flush is not answered: not
 * before there is. */
START_TEST(a_snapshot_does_not_wait_for_ever)
{
    uint64_t sequence = 0;
    player.head->snapshot_requests++;
    player.head->flush_requests++;
    for (int round = 0; round < 1000 && player.head->snapshots_done == 0; round++) {
        while (count_free() != 0) {
            struct ttest_block b = ttest_block_take(&player, pid, 1, 1, ++sequence);
            while (b.used < TTP_BLOCK_RECORDS)
                ttest_extension(&b, TTP_EXT_NOTHING, 0);
            ttest_block_state(&b, TTP_BLOCK_FULL);
        }
        ttest_poll(&player);
        usleep(10000);
    }
    ck_assert_uint_eq(player.head->snapshots_done, 1);
    ck_assert_uint_eq(player.head->flushes_done, 0);
    for (int i = 0; i < 60000 && player.head->flushes_done == 0; i++) {
        ttest_poll(&player);
        usleep(1000);
    }
    ck_assert_uint_eq(player.head->flushes_done, 1);
    ck_assert_uint_eq(count_free(), BLOCKS);
    ck_assert_uint_eq(ttest_finish(&player).lost_count, 0);
}
END_TEST

/* Slots are free behind checkpoints only: one is made, however few events there are. */
START_TEST(a_full_spill_file_gets_room)
{
    struct ttest_block blocks[BLOCKS];
    take_and_fill(blocks, BLOCKS);
    for (int i = 0; i < 60000 && !ttest_block_is_free(&blocks[BLOCKS - 2]); i++) {
        ttest_poll(&player);
        usleep(1000);
    }
    ck_assert(ttest_block_is_free(&blocks[BLOCKS - 2]));
    ck_assert_uint_eq(player.head->flushes_done, 0);
    ck_assert_uint_eq(ttest_finish(&player).lost_count, 0);
}
END_TEST

/* A thread's records wait for those of its process's first one, which has to say what it is; not
 * for ever. */
START_TEST(a_flush_waits_for_the_first_thread)
{
    struct ttest_block first = ttest_block_take(&player, pid, 1, 1, 1);
    struct ttest_block second = ttest_block_take(&player, pid, 1, 2, 1);
    ttape_recording_status status;
    ttest_enter(&second, 0x2000);
    player.head->flush_requests++;
    ttest_poll_few(&player);
    ck_assert_uint_eq(player.head->flushes_done, 0);
    if (_i == 0)
        ttest_enter(&first, 0x1000);
    for (int i = 0; i < 60000 && player.head->flushes_done == 0; i++) {
        ttest_poll(&player);
        usleep(1000);
    }
    ck_assert_uint_eq(player.head->flushes_done, 1);
    ttape_recording_get_status(player.recording, &status);
    ck_assert_uint_eq(status.event_count, _i == 0 ? 2 : 1);
    (void)ttest_finish(&player);
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
    tcase_add_test(tests, a_block_that_nobody_says_is_full);
    tcase_add_test(tests, a_block_that_its_hook_says_is_full_later);
    tcase_add_test(tests, a_block_that_nobody_says_is_full_when_all_ends);
    tcase_add_test(tests, a_block_that_was_never_begun);
    tcase_add_test(tests, what_comes_too_late_is_counted);
    tcase_add_test(tests, a_block_that_was_never_begun_with_a_later_number);
    tcase_add_test(tests, a_block_that_is_given_back);
    tcase_add_test(tests, a_flush_waits_for_room);
    tcase_add_test(tests, a_flush_is_answered_while_all_go_on);
    tcase_add_test(tests, a_snapshot_waits_for_room);
    tcase_add_test(tests, a_snapshot_does_not_wait_for_ever);
    tcase_add_test(tests, a_full_spill_file_gets_room);
    tcase_add_loop_test(tests, a_flush_waits_for_the_first_thread, 0, 2);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}

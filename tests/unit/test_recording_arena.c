/* How many blocks the arena has: as many as asked for, and more for threads; or as many as needed,
 * which programs add too, and which go back when it is quiet. */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arena_player.h"
#include "base/text.h"
#include "recorder/state/recording_internal.h"

#define FIRST_BLOCKS  128u
#define STEP_BLOCKS   256u /* added in one round */
#define THREAD_BLOCKS 28u  /* what the default of thread_bytes is */
#define QUIET_ROUNDS  3000 /* of 10 ms: after a fiftieth of that memory is given back */

static struct ttest_player player;
static uint32_t pid; /* of a process that lives */

static void open_with(uint64_t buffer_bytes)
{
    ttape_recording_options options = {
        .size = sizeof options, .clock = TTAPE_CLOCK_NONE, .buffer_bytes = buffer_bytes};
    ttest_player_open(&player, &options);
    pid = (uint32_t)ttest_process_start();
}

static void tear_down(void)
{
    ttest_process_end((pid_t)pid);
    ttest_player_close(&player);
}

/* Of one thread each, or all of the first thread. */
static void take(uint32_t count, bool of_one)
{
    for (uint32_t i = 1; i <= count; i++) {
        struct ttest_block b = ttest_block_take(&player, pid, 1, of_one ? 1 : i, of_one ? i : 1);
        ttest_enter(&b, 0x1000);
    }
}

static void free_all(void)
{
    for (uint32_t i = 0; i < player.head->block_ready; i++) {
        if (player.states[i] == TTP_BLOCK_FREE)
            continue;
        memset(player.blocks + (size_t)i * TTP_BLOCK_BYTES, 0, TTP_BLOCK_BYTES);
        __atomic_store_n(&player.states[i], TTP_BLOCK_FREE, __ATOMIC_RELEASE);
    }
}

static uint64_t bytes_of_file(void)
{
    struct stat file;
    ck_assert_int_eq(stat(ttape_recording_arena(player.recording), &file), 0);
    return (uint64_t)file.st_blocks * 512u;
}

static void poll_until_ready(uint32_t count)
{
    for (int i = 0; i < QUIET_ROUNDS && player.head->block_ready != count; i++)
        ttest_poll_ms(&player, 10);
    ck_assert_uint_eq(player.head->block_ready, count);
}

START_TEST(a_size_that_was_asked_for_is_exceeded_for_threads)
{
    open_with(FIRST_BLOCKS * TTP_BLOCK_BYTES);
    ck_assert_uint_eq(player.head->block_ready, FIRST_BLOCKS);
    ck_assert_uint_eq(player.head->block_bound, FIRST_BLOCKS);
    take(97, false);
    ttest_poll(&player);
    ck_assert_uint_eq(player.head->block_bound, FIRST_BLOCKS + 97 * THREAD_BLOCKS);
    ck_assert_uint_eq(player.head->block_ready, FIRST_BLOCKS + STEP_BLOCKS);
    ck_assert_uint_eq(ttest_finish(&player).thread_count, 97);
}
END_TEST

/* A thread that is seen in several blocks is allowed no more: it went on while the recorder looked,
 * or left some, or became another image. */
START_TEST(a_size_that_was_asked_for_is_not_exceeded_for_blocks)
{
    open_with(FIRST_BLOCKS * TTP_BLOCK_BYTES);
    take(97, true);
    ttest_poll(&player);
    ck_assert_uint_eq(player.head->block_bound, FIRST_BLOCKS + THREAD_BLOCKS);
    ck_assert_uint_eq(player.head->block_ready, FIRST_BLOCKS + THREAD_BLOCKS);
    (void)ttest_finish(&player);
}
END_TEST

START_TEST(it_grows_while_half_is_used_and_goes_back_when_quiet)
{
    open_with(0);
    ck_assert_uint_eq(player.head->block_ready, FIRST_BLOCKS);
    ck_assert_uint_ge(player.head->block_bound, FIRST_BLOCKS);
    ck_assert_uint_le(player.head->block_bound, TTP_ARENA_BLOCKS_MAX);
    take(FIRST_BLOCKS / 2, true);
    ttest_poll(&player);
    uint32_t grown = FIRST_BLOCKS + STEP_BLOCKS;
    ck_assert_uint_eq(player.head->block_ready, grown);
    ck_assert_uint_ge(bytes_of_file(), (uint64_t)grown * TTP_BLOCK_BYTES);
    free_all();
    poll_until_ready(FIRST_BLOCKS);
    ck_assert_uint_lt(bytes_of_file(), (uint64_t)(FIRST_BLOCKS + 32) * TTP_BLOCK_BYTES);
    for (uint32_t i = FIRST_BLOCKS; i < grown; i++)
        ck_assert_uint_eq(player.states[i], TTP_BLOCK_WITHDRAWN);
    take(FIRST_BLOCKS / 2, true);
    ttest_poll(&player);
    ck_assert_uint_eq(player.head->block_ready, grown);
    for (uint32_t i = FIRST_BLOCKS; i < grown; i++)
        ck_assert_uint_eq(player.states[i], TTP_BLOCK_FREE);
    ttape_recording_status status = ttest_finish(&player);
    ck_assert_uint_eq(status.buffer_peak_bytes, (uint64_t)grown * TTP_BLOCK_BYTES);
    ck_assert_uint_eq(status.lost_count, 0);
}
END_TEST

/* Its own memory is shared out with what is free, so that the bound does not rise with it. */
START_TEST(the_bound_does_not_follow_the_arena)
{
    uint64_t huge_bytes = 1ull << 50;
    open_with(0);
    int fd = open(ttape_recording_arena(player.recording), O_RDONLY | O_CLOEXEC);
    ck_assert_int_ge(fd, 0);
    uint64_t bound = ttp_arena_bound(fd, 0);
    ck_assert_uint_gt(bound, 0);
    ck_assert_uint_lt(bound, huge_bytes / 4);
    ck_assert_uint_lt(ttp_arena_bound(fd, huge_bytes), huge_bytes / 2);
    (void)close(fd);
    (void)ttest_finish(&player);
}
END_TEST

/* Only behind the last block that is in use. */
START_TEST(what_is_used_stays)
{
    open_with(0);
    take(FIRST_BLOCKS / 2, true);
    ttest_poll(&player);
    free_all();
    uint32_t grown = FIRST_BLOCKS + STEP_BLOCKS, used = FIRST_BLOCKS + 100;
    player.states[used] = pid << 2 | TTP_BLOCK_FILLING;
    poll_until_ready(used + 1);
    ck_assert_uint_eq(player.states[used + 1], TTP_BLOCK_WITHDRAWN);
    ck_assert_uint_eq(player.states[grown - 1], TTP_BLOCK_WITHDRAWN);
    player.states[used] = TTP_BLOCK_FREE;
    (void)ttest_finish(&player);
}
END_TEST

/* As the runtime adds them. */
START_TEST(what_a_program_added_is_drained)
{
    open_with(0);
    uint32_t added = FIRST_BLOCKS + 16;
    for (uint32_t i = 0; i < FIRST_BLOCKS; i++)
        player.states[i] = pid << 2 | TTP_BLOCK_FILLING;
    player.head->block_ready = added;
    struct ttest_block b = ttest_block_take(&player, pid, 1, 1, 1);
    ck_assert_uint_eq(b.index, FIRST_BLOCKS);
    ttest_process_message(&b, 0, 1, "/bin/program");
    ttest_enter(&b, 0x1000);
    ttest_block_state(&b, TTP_BLOCK_DONE);
    for (uint32_t i = 0; i < FIRST_BLOCKS; i++)
        player.states[i] = TTP_BLOCK_FREE;
    ttape_recording_status status = ttest_finish(&player);
    ck_assert_uint_eq(status.event_count, 1);
    ck_assert_uint_eq(status.lost_count, 0);
    ck_assert_uint_ge(status.buffer_peak_bytes, (uint64_t)added * TTP_BLOCK_BYTES);
}
END_TEST

/* Programs can write any numbers there. */
START_TEST(numbers_of_a_hostile_program_do_no_harm)
{
    open_with(0);
    struct ttest_block b = ttest_block_take(&player, pid, 1, 1, 1);
    ttest_process_message(&b, 0, 1, "/bin/program");
    ttest_enter(&b, 0x1000);
    player.head->block_ready = player.head->block_bound = player.head->free_from = UINT32_MAX;
    ttest_poll(&player);
    player.head->block_ready = 0;
    ttest_poll(&player);
    player.head->block_ready = FIRST_BLOCKS;
    ck_assert_uint_eq(ttest_finish(&player).event_count, 1);
}
END_TEST

/* The words that fit, or the characters. */
START_TEST(texts_are_cut_between_words)
{
    char text[1200];
    ttape_source source;
    ttape_metadata_entry entry;
    open_with(0);
    struct ttest_block b = ttest_block_take(&player, pid, 1, 1, 1);
    ttest_process_message(&b, 0, 1, "/bin/program");
    ttest_enter(&b, 0x1000);
    for (int i = 0; i < 1199; i++)
        text[i] = i % 100 == 99 ? ' ' : 'w';
    text[1199] = '\0';
    TTEST_DONE(ttape_recording_set_text(player.recording, "words", text, &err));
    for (int i = 0; i < 1199; i++)
        text[i] = "\xc3\xa9"[i % 2];
    TTEST_DONE(ttape_recording_set_text(player.recording, "characters", text, &err));
    text[1023] = '\0';
    TTEST_DONE(ttape_recording_set_text(player.recording, "whole", text + 1, &err));
    (void)ttest_finish(&player);
    ttape_reader *reader = ttest_read(&player, player.output, &source);
    unsigned seen = 0;
    for (uint32_t i = 0; ttape_reader_get_metadata(reader, i, &entry) == TTAPE_OK; i++) {
        static const char *const keys[] = {"words", "characters", "whole"};
        static const size_t sizes[] = {999, 1022, 1022};
        for (int k = 0; k < 3; k++)
            if (ttp_text_is(entry.key, keys[k])) {
                ck_assert_uint_eq(entry.text.size_bytes, sizes[k]);
                seen++;
            }
    }
    ck_assert_uint_eq(seen, 3);
    ttape_reader_close(reader);
    ttape_source_file_close(&source);
}
END_TEST

START_TEST(who_waits_is_woken_by_a_block)
{
    open_with(0);
    struct ttest_block b = ttest_block_take(&player, pid, 1, 1, 1);
    ttest_process_message(&b, 0, 1, "/bin/program");
    uint32_t wakes = player.head->wakes;
    ttest_poll(&player);
    ck_assert_uint_eq(player.head->wakes, wakes);
    player.head->waiters = 1;
    ttest_block_state(&b, TTP_BLOCK_DONE);
    for (int i = 0; i < QUIET_ROUNDS && !ttest_block_is_free(&b); i++)
        ttest_poll_ms(&player, 10);
    ck_assert_uint_eq(player.head->wakes, wakes + 1);
    ck_assert_uint_eq(player.head->waiters, 0);
    (void)ttest_finish(&player);
}
END_TEST

/* What came back would be zeros: a head that says that tracing is off, and nobody would know. */
START_TEST(a_file_that_was_truncated_does_not_grow_again)
{
    struct stat file;
    open_with(0);
    const char *path = ttape_recording_arena(player.recording);
    off_t cut = TTP_NOTES_AT + TTP_NOTES * (off_t)sizeof(struct ttp_note) +
                (off_t)FIRST_BLOCKS * TTP_BLOCK_BYTES;
    ck_assert_int_eq(truncate(path, cut), 0);
    take(FIRST_BLOCKS / 2, true);
    ttest_poll(&player);
    ck_assert_uint_eq(player.head->block_ready, FIRST_BLOCKS + STEP_BLOCKS);
    ck_assert_int_eq(stat(path, &file), 0);
    ck_assert_int_eq(file.st_size, cut);
    (void)ttest_finish(&player);
}
END_TEST

/* One that asks for it to be off is between the two steps of that when recording is held. */
START_TEST(who_asks_for_off_just_when_it_is_held_is_heard)
{
    open_with(0);
    struct ttp_arena_head *head = player.head;
    uint32_t before = head->off_requests;
    ttp_arena_ask_off(head, 1);
    ck_assert_uint_eq(head->mode, TTP_MODE_OFF);
    ck_assert_uint_eq(head->off_requests, before + 2);
    ttape_recording_set_mode(player.recording, true);
    head->off_requests++;
    ttape_recording_hold(player.recording, true);
    ck_assert_uint_eq(head->mode, TTP_MODE_OFF);
    head->off_requests++; /* its exchange of the mode, in between, changed nothing */
    ttape_recording_hold(player.recording, false);
    ck_assert_uint_eq(head->mode, TTP_MODE_OFF);
    ttape_recording_set_mode(player.recording, true);
    ttape_recording_hold(player.recording, true);
    ttape_recording_hold(player.recording, false);
    ck_assert_uint_eq(head->mode, TTP_MODE_ON);
    (void)ttest_finish(&player);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("recording arena");
    TCase *tests = tcase_create("arena");
    tcase_add_checked_fixture(tests, NULL, tear_down);
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, a_size_that_was_asked_for_is_exceeded_for_threads);
    tcase_add_test(tests, a_size_that_was_asked_for_is_not_exceeded_for_blocks);
    tcase_add_test(tests, it_grows_while_half_is_used_and_goes_back_when_quiet);
    tcase_add_test(tests, the_bound_does_not_follow_the_arena);
    tcase_add_test(tests, what_is_used_stays);
    tcase_add_test(tests, what_a_program_added_is_drained);
    tcase_add_test(tests, numbers_of_a_hostile_program_do_no_harm);
    tcase_add_test(tests, texts_are_cut_between_words);
    tcase_add_test(tests, who_waits_is_woken_by_a_block);
    tcase_add_test(tests, a_file_that_was_truncated_does_not_grow_again);
    tcase_add_test(tests, who_asks_for_off_just_when_it_is_held_is_heard);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}

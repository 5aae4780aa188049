/* A traced program that writes where it should not, while somebody looks: into the arena's head. */
#include <unistd.h>

#include "arena_player.h"

static struct ttest_player player;

static void set_up(void) { ttest_player_open(&player, NULL); }

static void tear_down(void) { ttest_player_close(&player); }

/* What was checked when the arena was found is not read again. */
START_TEST(control_keeps_what_it_checked)
{
    ttape_control *control;
    ttape_control_status before, after;
    uint32_t self = (uint32_t)getpid();
    struct ttest_block b = ttest_block_take(&player, self, 1, 1, 1);
    TTEST_DONE(ttape_control_open(&control, self, &err));
    ttape_control_get_status(control, &before);
    ck_assert_uint_eq(before.block_used, 1);
    ck_assert_uint_eq(before.recorder_pid, self);
    ck_assert(before.recorder_lives);
    player.head->block_capacity = UINT32_MAX;
    player.head->block_bytes = 1;
    player.head->clock = 77;
    player.head->recorder_pid = UINT32_MAX;
    player.head->blocks_offset = UINT64_MAX;
    ttape_control_get_status(control, &after);
    ck_assert_uint_eq(after.block_used, 1);
    ck_assert_uint_eq(after.block_ready, before.block_ready);
    ck_assert_uint_eq(after.block_max, before.block_max);
    ck_assert_uint_eq(after.block_bytes, TTP_BLOCK_BYTES);
    ck_assert_uint_eq(after.clock, before.clock);
    ck_assert_uint_eq(after.recorder_pid, self);
    ck_assert(after.recorder_lives);
    player.head->block_ready = UINT32_MAX;
    ttape_control_get_status(control, &after);
    ck_assert_uint_eq(after.block_used, 1);
    ck_assert_uint_eq(after.block_ready, before.block_max);
    ttape_control_close(control);
    ttest_block_state(&b, TTP_BLOCK_DONE);
    (void)ttest_finish(&player);
}
END_TEST

/* Before it is found, the same values are refused. */
START_TEST(control_finds_no_arena_that_cannot_be)
{
    ttape_control *control;
    uint32_t self = (uint32_t)getpid(), capacity = player.head->block_capacity;
    uint64_t offset = player.head->blocks_offset;
    player.head->block_capacity = UINT32_MAX;
    ck_assert_int_eq(ttape_control_open(&control, self, NULL), TTAPE_E_NOT_FOUND);
    player.head->block_capacity = 0;
    ck_assert_int_eq(ttape_control_open(&control, self, NULL), TTAPE_E_NOT_FOUND);
    player.head->block_capacity = capacity;
    player.head->blocks_offset = UINT64_MAX - TTP_BLOCK_BYTES + 1; /* the sum is small again */
    ck_assert_int_eq(ttape_control_open(&control, self, NULL), TTAPE_E_NOT_FOUND);
    player.head->blocks_offset = offset + 1;
    ck_assert_int_eq(ttape_control_open(&control, self, NULL), TTAPE_E_NOT_FOUND);
    player.head->blocks_offset = offset;
    TTEST_DONE(ttape_control_open(&control, self, &err));
    ttape_control_close(control);
    (void)ttest_finish(&player);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("recording strays");
    TCase *tests = tcase_create("strays");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, control_keeps_what_it_checked);
    tcase_add_test(tests, control_finds_no_arena_that_cannot_be);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}

/* What was patched, by module, from the notes of processes: sums, a bound, and paths that nobody
 * has ended. */
#include <stdio.h>
#include <string.h>

#include "arena_player.h"

#define MODULES_MAX 4096u /* of patched.c */
#define KEPT_NOTES  TTP_NOTES_KEPT

static struct ttest_player player;

static void set_up(void)
{
    ttape_recording_options options = {.size = sizeof options, .clock = TTAPE_CLOCK_NONE};
    ttest_player_open(&player, &options);
}

static void tear_down(void) { ttest_player_close(&player); }

static struct ttp_note *note_at(uint32_t index)
{
    return (struct ttp_note *)((uint8_t *)player.head + TTP_NOTES_AT) + index;
}

/* As a process tells of it. */
static void tell(uint32_t index, const char *path, uint32_t functions, uint32_t exits,
                 uint32_t left)
{
    struct ttp_note *note = note_at(index);
    ck_assert_uint_eq(note->state & 3, TTP_NOTE_FREE);
    note->kind = TTP_NOTE_PATCHED;
    note->image = functions | (uint64_t)exits << 32;
    note->left = left;
    memset(note->path, 'x', sizeof note->path);
    if (path != NULL)
        (void)snprintf(note->path, sizeof note->path, "%s", path);
    __atomic_store_n(&note->state, TTP_NOTE_THERE, __ATOMIC_RELEASE);
    __atomic_add_fetch(&player.head->note_count, 1, __ATOMIC_RELEASE);
}

static size_t count_modules(void)
{
    ttape_patch_counts counts;
    size_t count = 0;
    while (ttape_recording_get_patched_module(player.recording, count, &counts) != NULL)
        count++;
    return count;
}

START_TEST(modules_are_told_apart_and_summed)
{
    ttape_patch_counts counts = {.functions = 7};
    ck_assert_ptr_null(ttape_recording_get_patched_module(player.recording, 0, &counts));
    ck_assert_uint_eq(counts.functions, 0);
    tell(KEPT_NOTES, "/lib/a.so", 5, 9, 1);
    tell(KEPT_NOTES + 1, "/lib/b.so", 3, 3, 0);
    ttest_poll(&player);
    tell(KEPT_NOTES, "/lib/a.so", 5, 9, 1);
    ttest_poll(&player);
    ck_assert_uint_eq(count_modules(), 2);
    const char *path = ttape_recording_get_patched_module(player.recording, 0, &counts);
    ck_assert_str_eq(path, "/lib/a.so");
    ck_assert_uint_eq(counts.functions, 10);
    ck_assert_uint_eq(counts.exits, 18);
    ck_assert_uint_eq(counts.functions_left, 2);
    ck_assert_uint_eq(counts.times, 2);
    path = ttape_recording_get_patched_module(player.recording, 1, &counts);
    ck_assert_str_eq(path, "/lib/b.so");
    ck_assert_uint_eq(counts.times, 1);
    ck_assert_ptr_null(ttape_recording_get_patched_module(player.recording, SIZE_MAX, &counts));
    ck_assert_uint_eq(counts.functions, 0);
    (void)ttest_finish(&player);
}
END_TEST

START_TEST(more_modules_than_are_kept_are_left_out)
{
    ttape_patch_counts counts;
    char path[32];
    for (uint32_t next = 0; next < MODULES_MAX + 100;) {
        for (uint32_t i = KEPT_NOTES; i < TTP_NOTES && next < MODULES_MAX + 100; i++, next++) {
            (void)snprintf(path, sizeof path, "/lib/%u.so", next);
            tell(i, path, 1, 1, 0);
        }
        ttest_poll(&player);
    }
    ck_assert_uint_eq(count_modules(), MODULES_MAX);
    tell(KEPT_NOTES, "/lib/4095.so", 1, 1, 0); /* one that is known is summed up still */
    tell(KEPT_NOTES + 1, "/lib/4096.so", 1, 1, 0);
    ttest_poll(&player);
    const char *last =
        ttape_recording_get_patched_module(player.recording, MODULES_MAX - 1, &counts);
    ck_assert_str_eq(last, "/lib/4095.so");
    ck_assert_uint_eq(counts.times, 2);
    ck_assert_uint_eq(count_modules(), MODULES_MAX);
    (void)ttest_finish(&player);
}
END_TEST

START_TEST(a_path_that_has_no_end_does_no_harm)
{
    ttape_patch_counts counts;
    tell(KEPT_NOTES, NULL, UINT32_MAX, UINT32_MAX, UINT32_MAX);
    ttest_poll(&player);
    const char *path = ttape_recording_get_patched_module(player.recording, 0, &counts);
    ck_assert_uint_eq(strlen(path), TTP_NOTE_PATH_BYTES - 1);
    ck_assert_uint_eq(counts.functions, UINT32_MAX);
    (void)ttest_finish(&player);
}
END_TEST

START_TEST(plans_that_came_too_late_are_in_the_status)
{
    ttape_recording_status status;
    ttape_recording_get_status(player.recording, &status);
    ck_assert_uint_eq(status.late_plan_count, 0);
    __atomic_add_fetch(&player.head->late_plans, 3, __ATOMIC_RELAXED);
    ttest_poll(&player);
    ttape_recording_get_status(player.recording, &status);
    ck_assert_uint_eq(status.late_plan_count, 3);
    (void)ttest_finish(&player);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("patched modules");
    TCase *tests = tcase_create("notes");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, modules_are_told_apart_and_summed);
    tcase_add_test(tests, more_modules_than_are_kept_are_left_out);
    tcase_add_test(tests, a_path_that_has_no_end_does_no_harm);
    tcase_add_test(tests, plans_that_came_too_late_are_in_the_status);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}

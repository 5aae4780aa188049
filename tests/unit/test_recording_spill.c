/* How much may wait on disk to be encoded: as much as was asked for; else 4 GiB, and where only the
 * last of a recording is kept, no more than makes sense beside that. */
#include "arena_player.h"
#include "recorder/state/recording_internal.h"

#define MIB (UINT64_C(1) << 20)

static uint64_t spill_of(uint64_t keep_bytes, uint64_t spill_bytes)
{
    struct ttest_player player;
    ttape_recording_options options = {.size = sizeof options,
                                       .clock = TTAPE_CLOCK_NONE,
                                       .keep_bytes = keep_bytes,
                                       .spill_bytes = spill_bytes};
    ttest_player_open(&player, &options);
    uint64_t bytes = (uint64_t)player.recording->spill.slot_limit * TTP_SLOT_BYTES;
    (void)ttest_finish(&player);
    ttest_player_close(&player);
    return bytes;
}

/* In whole slots. */
static void is_about(uint64_t bytes, uint64_t wanted)
{
    ck_assert_uint_le(bytes, wanted);
    ck_assert_uint_gt(bytes + TTP_SLOT_BYTES, wanted);
}

START_TEST(what_is_kept_bounds_what_waits)
{
    is_about(spill_of(MIB, 0), 64 * MIB);
    is_about(spill_of(8 * MIB, 0), 128 * MIB);
    ck_assert_uint_gt(spill_of(0, 0), 128 * MIB);
}
END_TEST

START_TEST(what_was_asked_for_is_as_it_was)
{
    is_about(spill_of(MIB, 96 * MIB), 96 * MIB);
    is_about(spill_of(0, 32 * MIB), 32 * MIB);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("recording spill");
    TCase *tests = tcase_create("spill");
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, what_is_kept_bounds_what_waits);
    tcase_add_test(tests, what_was_asked_for_is_as_it_was);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}

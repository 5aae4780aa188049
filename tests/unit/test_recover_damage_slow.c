/* As test_recover_damage: every bit of the trace file of a killed recording, many of its others. */
#define _GNU_SOURCE /* asprintf */
#include "recover_damage.h"

#define SLICES 8

START_TEST(every_flip)
{
    size_t end = chunks[chunk_count - 1].offset + chunks[chunk_count - 1].size_bytes;
    for (size_t bit = (size_t)_i; bit < end * 8; bit += SLICES) {
        struct tried t;
        flip_in("trace.0", bit, &t);
        check_tried(&t, cost_of(bit / 8), "bit", bit);
    }
}
END_TEST

START_TEST(the_journal) { sweep("journal", 7); }
END_TEST

START_TEST(the_spill_file) { sweep("spill", 101); }
END_TEST

int main(void)
{
    Suite *suite = suite_create("recover_damage_slow");
    TCase *tests = tcase_create("tests");
    tcase_set_timeout(tests, 3000);
    tcase_add_checked_fixture(tests, leave_folder, tear_down);
    tcase_add_loop_test(tests, every_flip, 0, SLICES);
    tcase_add_test(tests, the_journal);
    tcase_add_test(tests, the_spill_file);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}

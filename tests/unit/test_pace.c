/* When the encoding thread counts as behind, and when no longer: spec/recording.md, 2.8. */
#include "recorder/state/pace.h"
#include "tests/asserts.h"

enum { LARGE = 130000, SMALL = 100 };

static bool judge(struct ttp_pace *pace, uint32_t slots, uint32_t slot_limit, uint64_t stall_count)
{
    struct ttp_backlog backlog = {slots, slot_limit, stall_count, false};
    ttp_pace_judge(pace, &backlog);
    return pace->is_behind;
}

START_TEST(by_what_waits)
{
    struct ttp_pace pace = {0};
    ck_assert(!judge(&pace, 2047, LARGE, 0));
    ck_assert(judge(&pace, 2048, LARGE, 0));
    ck_assert(judge(&pace, 513, LARGE, 0));
    ck_assert(!judge(&pace, 512, LARGE, 0));
    ck_assert(!judge(&pace, 2047, LARGE, 0));
    ck_assert(judge(&pace, UINT32_MAX, UINT32_MAX, 0));
}
END_TEST

START_TEST(by_the_room_that_there_is)
{
    struct ttp_pace pace = {0};
    ck_assert(!judge(&pace, 24, SMALL, 0));
    ck_assert(judge(&pace, 25, SMALL, 0));
    ck_assert(judge(&pace, 7, SMALL, 0));
    ck_assert(!judge(&pace, 6, SMALL, 0));
    ck_assert(judge(&pace, 2, 8, 0)); /* the smallest spill file */
    ck_assert(judge(&pace, 1, 8, 0));
    ck_assert(!judge(&pace, 0, 8, 0));
}
END_TEST

START_TEST(by_stalls)
{
    struct ttp_pace pace = {0};
    ck_assert(judge(&pace, 0, LARGE, 1));
    ck_assert(judge(&pace, 600, LARGE, 1)); /* no other since, but there is much to do */
    ck_assert(judge(&pace, 0, LARGE, 2));
    ck_assert(!judge(&pace, 0, LARGE, 2));
}
END_TEST

START_TEST(not_when_nothing_more_comes)
{
    struct ttp_pace pace = {0};
    struct ttp_backlog last = {LARGE, LARGE, 1, true};
    ck_assert(judge(&pace, LARGE, LARGE, 0));
    ttp_pace_judge(&pace, &last);
    ck_assert(!pace.is_behind);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("pace");
    tcase_add_test(tcase, by_what_waits);
    tcase_add_test(tcase, by_the_room_that_there_is);
    tcase_add_test(tcase, by_stalls);
    tcase_add_test(tcase, not_when_nothing_more_comes);
    Suite *suite = suite_create("pace");
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}

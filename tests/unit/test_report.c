/* Reports against a model that adds up events one by one: from summaries and decoded, by
 * everything, cut to times and threads, with any number of jobs. */
#include "tests/unit/report_model.h"

START_TEST(summaries_and_events_say_the_same)
{
    struct ttest_opened o = open_plan(_i);
    check(o.reader, &o.model, (ttape_report_options){0});
    check(o.reader, &o.model, (ttape_report_options){.self_times = true});
    check(o.reader, &o.model, (ttape_report_options){.percentiles = true});
    close_plan(&o);
}
END_TEST

START_TEST(rows_by_anything)
{
    struct ttest_opened o = open_plan(_i);
    for (uint32_t by = 0; by < TTAPE_REPORT_BY_COUNT; by++)
        check(o.reader, &o.model,
              (ttape_report_options){
                  .by = by, .percentiles = by % 2 != 0, .self_times = by % 2 == 0});
    close_plan(&o);
}
END_TEST

START_TEST(some_threads)
{
    struct ttest_opened o = open_plan(_i);
    for (uint32_t s = 0; s < o.info.stream_count; s++) {
        uint32_t streams[] = {s, 0};
        for (uint32_t by = 0; by < TTAPE_REPORT_BY_COUNT; by += 4)
            check(o.reader, &o.model,
                  (ttape_report_options){.by = by, .streams = streams, .stream_count = 1 + s % 2});
    }
    close_plan(&o);
}
END_TEST

START_TEST(some_time)
{
    struct ttest_opened o = open_plan(_i);
    uint64_t seed = 3, length = o.info.time_last_ns - o.info.time_first_ns;
    for (int i = 0; o.info.resolution_ns != TTAPE_TIME_NONE && i < 12; i++) {
        uint64_t a = o.info.time_first_ns + ttest_random(&seed, (uint32_t)length + 2);
        uint64_t b = o.info.time_first_ns + ttest_random(&seed, (uint32_t)length + 2);
        b = i % 4 == 3 ? a + ttest_random(&seed, 300) : b;
        check(o.reader, &o.model,
              (ttape_report_options){.by = (uint32_t)i % TTAPE_REPORT_BY_COUNT,
                                     .has_range = true,
                                     .self_times = i % 2 != 0,
                                     .from_ns = a < b ? a : b,
                                     .to_ns = a < b ? b : a});
        check(o.reader, &o.model,
              (ttape_report_options){
                  .has_range = true, .from_ns = a < b ? a : b, .to_ns = a < b ? b : a});
    }
    check(o.reader, &o.model,
          (ttape_report_options){.has_range = o.info.resolution_ns != TTAPE_TIME_NONE,
                                 .to_ns = UINT64_MAX});
    close_plan(&o);
}
END_TEST

/* A range over whole partitions reads no events of the partitions in it. */
START_TEST(only_cut_partitions_are_decoded)
{
    struct ttest_opened o = open_plan(_i);
    ttape_error err = {0};
    ttape_report *report;
    ttape_report_info info;
    ttape_report_options how = {.size = sizeof how, .has_range = true};
    uint64_t length = o.info.time_last_ns - o.info.time_first_ns;
    how.from_ns = o.info.time_first_ns + length / 4;
    how.to_ns = o.info.time_first_ns + length * 3 / 4;
    TTEST_OK(ttape_report_make(&report, o.reader, &how, &err));
    ttape_report_get_info(report, &info);
    ck_assert_uint_gt(info.partition_count, o.info.partition_count / 3);
    ck_assert_uint_lt(info.partition_count, o.info.partition_count);
    ck_assert_uint_le(info.decoded_count, 2 + 2 * o.info.stream_count);
    ttape_report_close(report);
    close_plan(&o);
}
END_TEST

static bool focus_on_three(void *context, uint32_t site)
{
    (void)context;
    return site == 3;
}

START_TEST(calls_of_one_function)
{
    struct ttest_opened o = open_plan(_i);
    ttape_error err = {0};
    ttape_report *all, *some;
    uint32_t all_count, some_count, wanted = 0;
    ttape_report_options how = {.size = sizeof how, .by = TTAPE_REPORT_BY_CALL};
    TTEST_OK(ttape_report_make(&all, o.reader, &how, &err));
    how.focus = focus_on_three;
    TTEST_OK(ttape_report_make(&some, o.reader, &how, &err));
    const ttape_report_row *rows = ttape_report_get_rows(all, &all_count);
    const ttape_report_row *found = ttape_report_get_rows(some, &some_count);
    for (uint32_t i = 0; i < all_count; i++) {
        if (rows[i].site != 3 && rows[i].caller != 3)
            continue;
        ck_assert_uint_lt(wanted, some_count);
        ck_assert_int_eq(memcmp(&rows[i], &found[wanted], sizeof rows[i]), 0);
        wanted++;
    }
    ck_assert_uint_eq(wanted, some_count);
    ttape_report_close(all);
    ttape_report_close(some);
    close_plan(&o);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("report");
    TCase *tests = tcase_create("report");
    tcase_set_timeout(tests, 240);
    tcase_add_loop_test(tests, summaries_and_events_say_the_same, 0, TTEST_PLANS);
    tcase_add_loop_test(tests, rows_by_anything, 0, TTEST_PLANS);
    tcase_add_loop_test(tests, some_threads, 0, TTEST_PLANS);
    tcase_add_loop_test(tests, some_time, 0, TTEST_PLANS);
    tcase_add_loop_test(tests, only_cut_partitions_are_decoded, 0, 2);
    tcase_add_loop_test(tests, calls_of_one_function, 0, TTEST_PLANS);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}

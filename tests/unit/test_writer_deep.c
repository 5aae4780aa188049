/* More open frames than partitions are meant to start with. */
#include "tests/unit/test_reader_fixture.h"

#define OPEN 1200000u
#define MORE 200u

/* Partitions go on as long as ever: one for each event would repeat all of the frames each time. */
START_TEST(more_frames_than_a_partition_likes)
{
    ttape_error err = {0};
    ttape_memory_sink memory = {0};
    ttape_sink sink = ttape_sink_memory(&memory);
    ttape_writer_options options = {.size = sizeof options, .partition_events = OPEN / 4};
    ttape_event enter = {.kind = TTAPE_ENTER, .depth = TTAPE_DEPTH_AUTO};
    ttape_info info;
    ttape_writer *w;
    ttape_reader *r;
    TTEST_OK(ttape_writer_open(&w, &sink, &options, &err));
    ttest_define(w, 1);
    for (; enter.time_ns < OPEN + MORE; enter.time_ns++)
        TTEST_OK(ttape_writer_append(w, 0, &enter, 1, &err));
    TTEST_OK(ttape_writer_finish(w, &err));
    ttape_writer_close(w);
    ttape_source source = ttape_source_memory(memory.data, memory.size_bytes);
    TTEST_OK(ttape_reader_open(&r, &source, NULL, &err));
    ttape_reader_get_info(r, &info);
    ck_assert_uint_eq(info.event_count, OPEN + MORE);
    ck_assert_uint_eq(info.partition_count, 5);
    ttape_reader_close(r);
    ttape_memory_sink_close(&memory);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("writer deep");
    TCase *tests = tcase_create("deep");
    tcase_add_test(tests, more_frames_than_a_partition_likes);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}

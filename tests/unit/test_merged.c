/* All streams at once: their events come in order of time, however many there are, and of a
 * partition that cannot be read the reader says so once. */
#include "tests/unit/test_reader_fixture.h"

#define STREAMS 9u
#define EVENTS  3000u /* of all streams */

/* Stream i is about i + 1 times as slow as the first one. */
static struct ttest_file write_apart(uint32_t streams)
{
    ttape_error err = {0};
    ttape_memory_sink memory = {0};
    ttape_sink sink = ttape_sink_memory(&memory);
    ttape_writer_options o = {.size = sizeof o, .partition_events = 200, .has_trace_id = true};
    ttape_writer *w;
    uint64_t seed = streams, times[STREAMS] = {0};
    TTEST_OK(ttape_writer_open(&w, &sink, &o, &err));
    ttest_define(w, streams);
    for (uint32_t i = 0; i < EVENTS; i++) {
        uint32_t stream = ttest_random(&seed, streams);
        times[stream] += ttest_random(&seed, 60 * (stream + 1));
        ttape_event e = {.time_ns = times[stream],
                         .kind = TTAPE_EVENT_LEAF,
                         .site = 4,
                         .depth = TTAPE_DEPTH_AUTO};
        TTEST_OK(ttape_writer_append(w, stream, &e, 1, &err));
    }
    TTEST_OK(ttape_writer_finish(w, &err));
    ttape_writer_close(w);
    return ttest_take(&memory);
}

START_TEST(in_order_of_time)
{
    struct ttest_file file = write_apart((uint32_t)_i);
    ttape_source source = ttape_source_memory(file.data, file.size_bytes);
    ttape_error err = {0};
    ttape_reader *r;
    ttape_cursor *cursor;
    ttape_event_item item;
    uint64_t last = 0, count = 0;
    TTEST_OK(ttape_reader_open(&r, &source, NULL, &err));
    TTEST_OK(ttape_cursor_open(&cursor, r, TTAPE_ALL_STREAMS, &err));
    while (ttape_cursor_next(cursor, &item, &err) == TTAPE_OK) {
        ck_assert_uint_ge(item.event.time_ns, last);
        last = item.event.time_ns;
        count++;
    }
    ck_assert_uint_eq(count, EVENTS);
    ttape_cursor_close(cursor);
    ttape_reader_close(r);
    free(file.data);
}
END_TEST

/* Each pair of neighbours out of more partitions than a byte has bits. */
START_TEST(damage_is_told_once)
{
    struct ttest_file file = write_apart(3);
    ttape_source source = ttape_source_memory(file.data, file.size_bytes);
    ttape_error err = {0};
    ttape_reader *r;
    ttape_info info;
    TTEST_OK(ttape_reader_open(&r, &source, NULL, &err));
    ttape_reader_get_info(r, &info);
    ck_assert_uint_gt(info.partition_count, 10);
    for (uint32_t first = 0; first + 1 < info.partition_count; first++) {
        ttape_cursor *cursor;
        ttape_event_item item;
        ttape_status status;
        ttape_reader *damaged;
        uint32_t told = 0;
        uint64_t lost = 0, read = 0;
        for (uint32_t p = first; p < first + 2; p++) {
            ttape_partition_info about;
            TTEST_OK(ttape_reader_get_partition(r, p, &about));
            file.data[about.offset + about.stored_bytes - 1] ^= 1;
            lost += about.event_count;
        }
        TTEST_OK(ttape_reader_open(&damaged, &source, NULL, &err));
        TTEST_OK(ttape_cursor_open(&cursor, damaged, TTAPE_ALL_STREAMS, &err));
        while ((status = ttape_cursor_next(cursor, &item, NULL)) != TTAPE_END) {
            told += status != TTAPE_OK;
            read += status == TTAPE_OK;
        }
        ck_assert_uint_eq(told, 2);
        ck_assert_uint_eq(read + lost, EVENTS);
        ttape_cursor_close(cursor);
        ttape_reader_close(damaged);
        for (uint32_t p = first; p < first + 2; p++) {
            ttape_partition_info about;
            TTEST_OK(ttape_reader_get_partition(r, p, &about));
            file.data[about.offset + about.stored_bytes - 1] ^= 1;
        }
    }
    ttape_reader_close(r);
    free(file.data);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("merged");
    TCase *tests = tcase_create("all streams");
    tcase_add_loop_test(tests, in_order_of_time, 1, STREAMS + 1);
    tcase_add_test(tests, damage_is_told_once);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}

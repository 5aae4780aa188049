/* Seeks by time about the ends of segments, which lie where times are noted and beside them: two
 * streams share each partition, and the other one begins earlier or goes on longer. */
#include "tests/unit/test_reader_fixture.h"

#define NOTED 1024u /* events after which a time is noted */
#define STEP  10u

/* Stream 0 has `count` events from `start` on, stream 1 as many, from 0 on, half as fast. */
static struct ttest_file write_pair(uint32_t count, uint64_t start)
{
    ttape_error err = {0};
    ttape_memory_sink memory = {0};
    ttape_sink sink = ttape_sink_memory(&memory);
    ttape_writer_options o = {.size = sizeof o, .has_trace_id = true};
    ttape_writer *w;
    TTEST_OK(ttape_writer_open(&w, &sink, &o, &err));
    ttest_define(w, 2);
    for (uint32_t i = 0; i < 2 * count; i++) {
        uint32_t stream = i % 2, at = i / 2;
        ttape_event e = {.time_ns = stream == 0 ? start + at * STEP : at * STEP * 2,
                         .kind = TTAPE_EVENT_LEAF,
                         .site = 4,
                         .depth = TTAPE_DEPTH_AUTO};
        TTEST_OK(ttape_writer_append(w, stream, &e, 1, &err));
    }
    TTEST_OK(ttape_writer_finish(w, &err));
    ttape_writer_close(w);
    return ttest_take(&memory);
}

/* The first event at or after a time, or none. */
static void check(ttape_reader *r, uint32_t stream, uint64_t time, uint64_t first, uint64_t step,
                  uint32_t count)
{
    ttape_error err = {0};
    ttape_cursor *c;
    ttape_event_item item;
    uint64_t want = time <= first ? 0 : (time - first + step - 1) / step;
    TTEST_OK(ttape_cursor_open(&c, r, stream, &err));
    TTEST_OK(ttape_cursor_seek_time(c, time, &err));
    ttape_status status = ttape_cursor_next(c, &item, &err);
    if (want >= count) {
        ck_assert_int_eq(status, TTAPE_END);
    } else {
        ck_assert_int_eq(status, TTAPE_OK);
        ck_assert_uint_eq(item.number, want);
        ck_assert_uint_eq(item.event.time_ns, first + want * step);
    }
    ttape_cursor_close(c);
}

START_TEST(about_the_ends)
{
    static const uint32_t counts[] = {NOTED - 1, NOTED, NOTED + 1, 3 * NOTED, 3 * NOTED + 1};
    static const uint64_t starts[] = {0, 7, 100000};
    uint32_t count = counts[_i];
    for (size_t s = 0; s < sizeof starts / sizeof *starts; s++) {
        struct ttest_file file = write_pair(count, starts[s]);
        ttape_source source = ttape_source_memory(file.data, file.size_bytes);
        ttape_error err = {0};
        for (uint32_t back = 0; back < 5; back++)
            for (uint32_t stream = 0; stream < 2; stream++) {
                ttape_reader *r; /* a new one: nothing is decoded yet */
                uint64_t first = stream == 0 ? starts[s] : 0, step = STEP * (stream + 1);
                TTEST_OK(ttape_reader_open(&r, &source, NULL, &err));
                check(r, stream, first + (count + 1 - back) * step - back % 2, first, step, count);
                check(r, stream, first + (NOTED + 1 - back) * step, first, step, count);
                check(r, stream, first + count * step + 5000, first, step, count);
                ttape_reader_close(r);
            }
        free(file.data);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("seek edges");
    TCase *tests = tcase_create("seeks");
    tcase_add_loop_test(tests, about_the_ends, 0, 5);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}

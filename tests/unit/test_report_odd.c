/* Reports of what stays open at the end of a stream, and of functions without a name in a module
 * that two processes map. */
#include <tracetape/report.h>

#include "tests/unit/test_reader_fixture.h"

static ttape_writer *begin(ttape_memory_sink *memory)
{
    ttape_error err = {0};
    ttape_sink sink = ttape_sink_memory(memory);
    ttape_writer_options o = {.size = sizeof o, .partition_events = 16, .model_period = UINT32_MAX};
    ttape_writer *w;
    TTEST_OK(ttape_writer_open(&w, &sink, &o, &err));
    return w;
}

static uint32_t add_thread(ttape_writer *w, uint32_t pid)
{
    ttape_error err = {0};
    ttape_process process = {.pid = pid, .parent = TTAPE_NONE};
    ttape_stream stream = {.tid = pid};
    uint32_t id;
    TTEST_OK(ttape_writer_add_process(w, &process, &stream.process, &err));
    TTEST_OK(ttape_writer_add_stream(w, &stream, &id, &err));
    return id;
}

static void append(ttape_writer *w, uint32_t stream, uint32_t site, bool is_enter, uint64_t time)
{
    ttape_error err = {0};
    ttape_event e = {.time_ns = time,
                     .kind = is_enter ? TTAPE_EVENT_ENTER : TTAPE_EVENT_EXIT,
                     .site = site,
                     .depth = TTAPE_DEPTH_AUTO};
    TTEST_OK(ttape_writer_append(w, stream, &e, 1, &err));
}

static ttape_reader *end(ttape_writer *w, const ttape_memory_sink *memory)
{
    ttape_error err = {0};
    ttape_reader *r;
    TTEST_OK(ttape_writer_finish(w, &err));
    ttape_writer_close(w);
    ttape_source source = ttape_source_memory(memory->data, memory->size_bytes);
    TTEST_OK(ttape_reader_open(&r, &source, NULL, &err));
    return r;
}

/* Three functions stay open over all partitions; only where the stream ends they are counted. */
START_TEST(open_at_the_end)
{
    ttape_error err = {0};
    ttape_memory_sink memory = {0};
    ttape_writer *w = begin(&memory);
    uint32_t stream = add_thread(w, 7), ids[4];
    for (uint32_t i = 0; i < 4; i++) {
        ttape_site site = {.module = TTAPE_NONE, .symbol = {"abcd" + i, 1}};
        TTEST_OK(ttape_writer_add_site(w, &site, &ids[i], &err));
    }
    for (uint32_t i = 0; i < 3; i++)
        append(w, stream, ids[i], true, 100 * i);
    for (uint32_t i = 0; i < 100; i++) {
        append(w, stream, ids[3], true, 1000 + 10 * i);
        append(w, stream, ids[3], false, 1003 + 10 * i);
    }
    ttape_reader *r = end(w, &memory);
    for (uint32_t exact = 0; exact < 2; exact++) {
        ttape_report *report;
        ttape_report_info info;
        ttape_report_options how = {.size = sizeof how, .exact = exact != 0};
        uint32_t count;
        TTEST_OK(ttape_report_make(&report, r, &how, &err));
        ttape_report_get_info(report, &info);
        ck_assert_uint_eq(info.open_count, 3);
        const ttape_report_row *rows = ttape_report_get_rows(report, &count);
        ck_assert_uint_eq(count, 4);
        for (uint32_t i = 0; i < count; i++) {
            ck_assert_uint_eq(rows[i].call_count, rows[i].site == ids[3] ? 100 : 1);
            ck_assert_uint_eq(rows[i].exit_count, rows[i].site == ids[3] ? 100 : 0);
        }
        ttape_report_close(report);
    }
    ttape_reader_close(r);
    ttape_memory_sink_close(&memory);
}
END_TEST

/* The same function is where its distance from the module's start is the same. */
START_TEST(without_names)
{
    static const uint64_t starts[] = {0x1000, 0x7000}, distances[] = {4, 4, 12};
    ttape_error err = {0};
    ttape_memory_sink memory = {0};
    ttape_writer *w = begin(&memory);
    uint32_t modules[2], stream[2], calls = 0;
    for (uint32_t i = 0; i < 2; i++) {
        stream[i] = add_thread(w, 7 + i);
        ttape_module m = {.start = starts[i],
                          .end = starts[i] + 0x1000,
                          .process = i,
                          .path = ttest_string("/bin/p")};
        TTEST_OK(ttape_writer_add_module(w, &m, &modules[i], &err));
    }
    for (uint32_t i = 0; i < 3; i++) {
        ttape_site site = {.module = modules[i % 2], .address = starts[i % 2] + distances[i]};
        uint32_t id;
        TTEST_OK(ttape_writer_add_site(w, &site, &id, &err));
        for (uint32_t k = 0; k <= i; k++, calls++) {
            append(w, stream[i % 2], id, true, 10 * calls);
            append(w, stream[i % 2], id, false, 10 * calls + 5);
        }
    }
    ttape_reader *r = end(w, &memory);
    ttape_report *report;
    ttape_report_options how = {.size = sizeof how, .by = TTAPE_REPORT_BY_NAME};
    uint32_t count;
    TTEST_OK(ttape_report_make(&report, r, &how, &err));
    const ttape_report_row *rows = ttape_report_get_rows(report, &count);
    ck_assert_uint_eq(count, 2);
    for (uint32_t i = 0; i < count; i++)
        ck_assert_uint_eq(rows[i].call_count, 3); /* 1 + 2, and 3 */
    ttape_report_close(report);
    ttape_reader_close(r);
    ttape_memory_sink_close(&memory);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("odd reports");
    TCase *tests = tcase_create("tests");
    tcase_add_test(tests, open_at_the_end);
    tcase_add_test(tests, without_names);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}

/* Reports of what stays open at the end of a stream, of functions without a name in a module that
 * two processes map, of one that a pointer pointed to before, and percentiles of durations that are
 * all round, or two. */
#include <tracetape/functions.h>
#include <tracetape/report.h>

#include "tests/unit/test_reader_fixture.h"

static ttape_writer *begin(ttape_memory_sink *memory, uint32_t partition_events)
{
    ttape_error err = {0};
    ttape_sink sink = ttape_sink_memory(memory);
    ttape_writer_options o = {
        .size = sizeof o, .partition_events = partition_events, .model_period = UINT32_MAX};
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
    ttape_writer *w = begin(&memory, 16);
    uint32_t stream = add_thread(w, 7), ids[4];
    for (uint32_t i = 0; i < 4; i++) {
        ttape_site site = {.module = TTAPE_NONE, .symbol = {&"abcd"[i], 1}};
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
    ttape_writer *w = begin(&memory, 16);
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

static uint32_t group_all(void *context, uint32_t site)
{
    (void)context;
    (void)site;
    return 0;
}

/* A target and a frame have the function's name before it has a site: the row is the function's. */
START_TEST(names_that_are_borrowed)
{
    static const ttape_site_kind kinds[] = {TTAPE_SITE_TARGET, TTAPE_SITE_FRAME,
                                            TTAPE_SITE_FUNCTION};
    ttape_error err = {0};
    ttape_memory_sink memory = {0};
    ttape_writer *w = begin(&memory, 16);
    ttape_module m = {.start = 0x1000, .end = 0x2000, .path = ttest_string("/bin/p")};
    uint32_t stream = add_thread(w, 7), id, count;
    TTEST_OK(ttape_writer_add_module(w, &m, &m.process, &err));
    for (uint32_t i = 0; i < 3; i++) {
        ttape_site site = {.address = 0x1010, .kind = kinds[i], .symbol = ttest_string("f")};
        TTEST_OK(ttape_writer_add_site(w, &site, &id, &err));
    }
    for (uint32_t i = 0; i < 40; i++)
        append(w, stream, id, i % 2 == 0, 10 * i);
    ttape_reader *r = end(w, &memory);
    const ttape_reader *readers[] = {r};
    for (uint32_t by = 0; by < TTAPE_FUNCTIONS_BY_COUNT; by++) {
        ttape_functions *f;
        const ttape_functions_options each = {.size = sizeof each, .by = (ttape_functions_by)by};
        TTEST_OK(ttape_functions_make(&f, readers, 1, &each, &err));
        const ttape_function *functions = ttape_functions_get_rows(f, &count);
        uint32_t row = ttape_functions_get_sites(f, 0, &count)[2];
        ck_assert_uint_eq(functions[row].site, 2);
        ttape_functions_close(f);
    }
    static const ttape_report_by ways[] = {TTAPE_REPORT_BY_NAME, TTAPE_REPORT_BY_GROUP};
    for (uint32_t i = 0; i < 2; i++) {
        ttape_report *report;
        ttape_report_options how = {.size = sizeof how, .by = ways[i], .group = group_all};
        TTEST_OK(ttape_report_make(&report, r, &how, &err));
        const ttape_report_row *rows = ttape_report_get_rows(report, &count);
        ck_assert_uint_eq(count, 1);
        ck_assert_uint_eq(rows[0].site, 2);
        ttape_report_close(report);
    }
    ttape_reader_close(r);
    ttape_memory_sink_close(&memory);
}
END_TEST

/* Call i takes so many times 2^22 ns, or is one of two that differ much. */
static ttape_reader *record_calls(ttape_memory_sink *memory, uint32_t count, bool is_short)
{
    ttape_error err = {0};
    ttape_writer *w = begin(memory, 0);
    uint32_t stream = add_thread(w, 7), id;
    ttape_site site = {.module = TTAPE_NONE, .symbol = ttest_string("f")};
    TTEST_OK(ttape_writer_add_site(w, &site, &id, &err));
    for (uint32_t i = 0; i < count; i++) {
        uint64_t time = (uint64_t)i << 33;
        append(w, stream, id, true, time);
        append(w, stream, id, false,
               time + (is_short ? i % 2 ? 10 : 1000000 : (i * 7 % count) << 22));
    }
    return end(w, memory);
}

/* Durations whose low bits are all 0. */
START_TEST(percentiles_of_round_durations)
{
    enum { COUNT = 1000 };
    ttape_error err = {0};
    ttape_memory_sink memory = {0};
    ttape_reader *r = record_calls(&memory, COUNT, false);
    ttape_report *report;
    ttape_report_options how = {.size = sizeof how, .percentiles = true, .jobs = 1};
    TTEST_OK(ttape_report_make(&report, r, &how, &err));
    for (uint32_t i = 1; i <= COUNT; i += 37) {
        int64_t found;
        TTEST_OK(ttape_report_get_percentile(report, 0, (double)i / COUNT, &found));
        ck_assert_int_eq(found, (int64_t)(i - 1) << 22);
    }
    ttape_report_close(report);
    ttape_reader_close(r);
    ttape_memory_sink_close(&memory);
}
END_TEST

/* Half of the calls take 10 ns: from lists and from counts, up to the half and behind it. */
START_TEST(percentiles_at_a_half)
{
    enum { COUNT = 40000 };
    ttape_error err = {0};
    ttape_memory_sink memory = {0};
    ttape_reader *r = record_calls(&memory, COUNT, true);
    for (uint32_t counted = 0; counted < 2; counted++) {
        ttape_report *report;
        ttape_report_info info;
        ttape_report_options how = {.size = sizeof how,
                                    .percentiles = true,
                                    .jobs = 1,
                                    .memory_bytes = counted ? 600000 : 0};
        int64_t low, high;
        TTEST_OK(ttape_report_make(&report, r, &how, &err));
        ttape_report_get_info(report, &info);
        ck_assert_int_eq(info.percentile_error > 0, counted != 0);
        TTEST_OK(ttape_report_get_percentile(report, 0, 0.5, &low));
        TTEST_OK(ttape_report_get_percentile(report, 0, 0.5 + 0.5 / COUNT, &high));
        ck_assert_int_eq(low, 10);
        ck_assert_int_gt(high, 990000);
        TTEST_OK(ttape_report_get_percentile(report, 0, 0, &low));
        ck_assert_int_eq(low, 10);
        ttape_report_close(report);
    }
    ttape_reader_close(r);
    ttape_memory_sink_close(&memory);
}
END_TEST

/* A module without a path beside no module: neither says more than the other. */
START_TEST(module_without_a_path)
{
    ttape_error err = {0};
    ttape_memory_sink memory = {0};
    ttape_writer *w = begin(&memory, 0);
    uint32_t stream = add_thread(w, 7), module, path, ids[2], count;
    const ttape_module nameless = {.process = TTAPE_NONE, .build_id = {"\1\2", 2}};
    TTEST_OK(ttape_writer_add_module(w, &nameless, &module, &err));
    for (uint32_t i = 0; i < 2; i++) {
        ttape_site site = {.module = i == 0 ? module : TTAPE_NONE, .symbol = {"a", 1}};
        TTEST_OK(ttape_writer_add_site(w, &site, &ids[i], &err));
        append(w, stream, ids[i], true, 100 * i);
        append(w, stream, ids[i], false, 100 * i + 10);
    }
    /* with a path in the trace sites are compared */
    TTEST_OK(ttape_writer_add_path(w, &(ttape_path){.site = ids[0]}, &path, &err));
    ttape_reader *r = end(w, &memory);
    for (uint32_t by = 0; by < 2; by++) {
        const ttape_report_options how = {
            .size = sizeof how, .by = by == 0 ? TTAPE_REPORT_BY_FUNCTION : TTAPE_REPORT_BY_MODULE};
        ttape_report *report;
        TTEST_OK(ttape_report_make(&report, r, &how, &err));
        (void)ttape_report_get_rows(report, &count);
        ck_assert_uint_eq(count, by == 0 ? 2 : 1);
        ttape_report_close(report);
    }
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
    tcase_add_test(tests, names_that_are_borrowed);
    tcase_add_test(tests, module_without_a_path);
    tcase_add_test(tests, percentiles_of_round_durations);
    tcase_add_test(tests, percentiles_at_a_half);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}

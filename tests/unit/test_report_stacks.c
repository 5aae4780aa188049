/* Reports of shapes that recorded programs rarely have: a hundred functions deep on two stacks at
 * once, and calls that take longer than 32 bits of nanoseconds, backwards included. */
#include <tracetape/report.h>

#include "tests/unit/test_reader_fixture.h"

#define DEPTH 100u
#define CALLS 40000u
#define WIDE  (UINT64_C(1) << 33)

static ttape_writer *begin(ttape_memory_sink *memory, uint32_t sites)
{
    ttape_error err = {0};
    ttape_sink sink = ttape_sink_memory(memory);
    ttape_writer_options o = {.size = sizeof o};
    ttape_process process = {.pid = 7, .parent = TTAPE_NONE, .name = ttest_string("p")};
    ttape_stream stream = {.tid = 8, .name = ttest_string("t")};
    ttape_writer *w;
    uint32_t id;
    TTEST_OK(ttape_writer_open(&w, &sink, &o, &err));
    TTEST_OK(ttape_writer_add_process(w, &process, &stream.process, &err));
    TTEST_OK(ttape_writer_add_stream(w, &stream, &id, &err));
    for (uint32_t i = 0; i < sites; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "f%u", i);
        ttape_site site = {.module = TTAPE_NONE, .symbol = ttest_string(name)};
        TTEST_OK(ttape_writer_add_site(w, &site, &id, &err));
        ck_assert_uint_eq(id, i);
    }
    return w;
}

static void append(ttape_writer *w, uint8_t kind, uint32_t site, uint32_t argument, uint64_t time)
{
    ttape_error err = {0};
    ttape_event e = {.time_ns = time,
                     .kind = kind,
                     .site = site,
                     .argument = argument,
                     .depth = TTAPE_DEPTH_AUTO};
    TTEST_OK(ttape_writer_append(w, 0, &e, 1, &err));
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

/* All functions, one inside the other. */
static uint64_t go_down(ttape_writer *w, uint64_t time)
{
    for (uint32_t i = 0; i < DEPTH; i++, time += 10)
        append(w, TTAPE_EVENT_ENTER, i, 0, time);
    return time;
}

static uint64_t come_up(ttape_writer *w, uint64_t time)
{
    for (uint32_t i = DEPTH; i-- > 0; time += 10)
        append(w, TTAPE_EVENT_EXIT, i, 0, time);
    return time;
}

/* Function i is on the current stack from its enter to the switch, on the other one from enter to
 * exit, and from the switch back to its exit: 10 * (4 * (DEPTH - i) - 1). */
START_TEST(deep_on_two_stacks)
{
    ttape_error err = {0};
    ttape_memory_sink memory = {0};
    ttape_writer *w = begin(&memory, DEPTH);
    uint64_t time = go_down(w, 1000);
    append(w, TTAPE_EVENT_SWITCH, TTAPE_NONE, 1, time);
    time = come_up(w, go_down(w, time + 10));
    append(w, TTAPE_EVENT_SWITCH, TTAPE_NONE, 0, time);
    (void)come_up(w, time + 10);
    ttape_reader *r = end(w, &memory);
    static const uint32_t kinds[] = {TTAPE_REPORT_BY_FUNCTION, TTAPE_REPORT_BY_NAME};
    for (size_t k = 0; k < 2; k++) {
        ttape_report *report;
        uint32_t count;
        ttape_report_options how = {
            .size = sizeof how, .by = kinds[k], .exact = true, .jobs = 1 + (uint32_t)k};
        TTEST_OK(ttape_report_make(&report, r, &how, &err));
        const ttape_report_row *rows = ttape_report_get_rows(report, &count);
        ck_assert_uint_eq(count, DEPTH);
        for (uint32_t i = 0; i < count; i++) { /* by descending total: the outermost first */
            ck_assert_uint_eq(rows[i].site, i);
            ck_assert_uint_eq(rows[i].call_count, 2);
            ck_assert_uint_eq(rows[i].exit_count, 2);
            ck_assert_uint_eq(rows[i].recursion_count, 0);
            ck_assert_int_eq(rows[i].total_ns, 10 * (4 * (int64_t)(DEPTH - i) - 1));
            ck_assert_int_eq(rows[i].self_ns, i + 1 == DEPTH ? 30 : 40);
        }
        ttape_report_close(report);
    }
    ttape_reader_close(r);
    ttape_memory_sink_close(&memory);
}
END_TEST

/* Call i takes WIDE + i, every fourth one is short, and every eighth ends before it began. */
static uint64_t duration_of(uint32_t i)
{
    return i % 8 == 0 ? (uint64_t)-5 : i % 4 == 0 ? i : WIDE + i;
}

/* The same percentiles from lists as from counts, to the error that a report says. */
START_TEST(percentiles_of_wide_durations)
{
    ttape_error err = {0};
    ttape_memory_sink memory = {0};
    ttape_writer *w = begin(&memory, 1);
    uint64_t time = 1000;
    for (uint32_t i = 0; i < CALLS; i++) {
        append(w, TTAPE_EVENT_ENTER, 0, 0, time);
        append(w, TTAPE_EVENT_EXIT, 0, 0, time + duration_of(i));
        time += 2 * WIDE;
    }
    ttape_reader *r = end(w, &memory);
    ttape_report *lists, *counts;
    ttape_report_info info;
    ttape_report_options how = {.size = sizeof how, .percentiles = true, .jobs = 1};
    int64_t a, b;
    TTEST_OK(ttape_report_make(&lists, r, &how, &err));
    ttape_report_get_info(lists, &info);
    ck_assert(info.percentile_error == 0);
    TTEST_OK(ttape_report_get_percentile(lists, 0, 0, &a));
    ck_assert_int_eq(a, -5);
    TTEST_OK(ttape_report_get_percentile(lists, 0, 0.2, &a)); /* short: 4, 12, 20 ... */
    ck_assert_int_eq(a, 4 + 8 * (CALLS / 5 - CALLS / 8 - 1));
    TTEST_OK(ttape_report_get_percentile(lists, 0, 1, &a));
    ck_assert_int_eq(a, (int64_t)WIDE + CALLS - 1);
    how.memory_bytes = 600000;
    TTEST_OK(ttape_report_make(&counts, r, &how, &err));
    ttape_report_get_info(counts, &info);
    ck_assert(info.percentile_error > 0 && info.percentile_error < 0.01);
    for (double share = 0.15; share < 1; share += 0.05) {
        TTEST_OK(ttape_report_get_percentile(lists, 0, share, &a));
        TTEST_OK(ttape_report_get_percentile(counts, 0, share, &b));
        ck_assert_int_le(b, a);
        ck_assert_int_ge((int64_t)((double)b * (1 + info.percentile_error)) + 1, a);
    }
    ttape_report_close(lists);
    ttape_report_close(counts);
    ttape_reader_close(r);
    ttape_memory_sink_close(&memory);
}
END_TEST

/* Durations 10 and 30, again and again: 20 in the mean, 10 from it. */
START_TEST(deviations)
{
    ttape_error err = {0};
    ttape_memory_sink memory = {0};
    ttape_writer *w = begin(&memory, 1);
    for (uint32_t i = 0; i < 1000; i++) {
        append(w, TTAPE_EVENT_ENTER, 0, 0, 100 * i);
        append(w, TTAPE_EVENT_EXIT, 0, 0, 100 * i + (i % 2 ? 30 : 10));
    }
    ttape_reader *r = end(w, &memory);
    ttape_report *report;
    uint32_t count;
    ttape_report_options how = {.size = sizeof how, .exact = true, .jobs = 1};
    TTEST_OK(ttape_report_make(&report, r, &how, &err));
    const ttape_report_row *row = ttape_report_get_rows(report, &count);
    ck_assert_uint_eq(count, 1);
    ck_assert(row->mean_ns == 20 && row->deviation_ns == 10);
    ck_assert(row->duration_mean_ns == 20 && row->duration_deviation_ns == 10);
    ck_assert(row->sum_of_squares == 500 * 100 + 500 * 900);
    ck_assert_int_eq(row->min_ns, 10);
    ck_assert_int_eq(row->max_ns, 30);
    ttape_report_close(report);
    ttape_reader_close(r);
    ttape_memory_sink_close(&memory);
}
END_TEST

/* A call over which another stack runs takes 100, of which 10 are on its own: no mean is below the
 * least duration. */
START_TEST(mean_with_two_stacks)
{
    ttape_error err = {0};
    for (int exact = 0; exact < 2; exact++) {
        ttape_memory_sink memory = {0};
        ttape_writer *w = begin(&memory, 2);
        append(w, TTAPE_EVENT_ENTER, 0, 0, 0);
        append(w, TTAPE_EVENT_SWITCH, TTAPE_NONE, 1, 5);
        append(w, TTAPE_EVENT_ENTER, 1, 0, 5);
        append(w, TTAPE_EVENT_EXIT, 1, 0, 95);
        append(w, TTAPE_EVENT_SWITCH, TTAPE_NONE, 0, 95);
        append(w, TTAPE_EVENT_EXIT, 0, 0, 100);
        ttape_reader *r = end(w, &memory);
        ttape_report *report;
        uint32_t count;
        ttape_report_options how = {.size = sizeof how, .exact = exact != 0, .jobs = 1};
        TTEST_OK(ttape_report_make(&report, r, &how, &err));
        const ttape_report_row *rows = ttape_report_get_rows(report, &count);
        ck_assert_uint_eq(count, 2);
        const ttape_report_row *row = rows[0].site == 0 ? &rows[0] : &rows[1];
        ck_assert_int_eq(row->total_ns, 10);
        ck_assert_int_eq(row->min_ns, 100);
        ck_assert(row->mean_ns == 100 && row->deviation_ns == 0);
        ttape_report_close(report);
        ttape_reader_close(r);
        ttape_memory_sink_close(&memory);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("report_stacks");
    TCase *tests = tcase_create("tests");
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, deep_on_two_stacks);
    tcase_add_test(tests, percentiles_of_wide_durations);
    tcase_add_test(tests, deviations);
    tcase_add_test(tests, mean_with_two_stacks);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}

/* Own times and CPU times are what verify works out of the events, of traces with every kind of
 * event and switches of every kind; and so in pieces of them, whose streams start with calls of
 * which nothing is known. */
#include <tracetape/copy.h>

#include "tests/unit/report_model.h"

static bool no_finding(void *context, const ttape_finding *finding)
{
    (void)context;
    ck_abort_msg("%s: %s", finding->error.rule, finding->error.message);
    return false;
}

static void check_sound(const struct ttest_file *file)
{
    ttape_source source = ttape_source_memory(file->data, file->size_bytes);
    ttape_error err = {0};
    uint64_t findings;
    TTEST_OK(ttape_verify(&source, NULL, no_finding, NULL, NULL, &findings, &err));
}

/* Of its events those from a third on, or those up to two thirds. */
static void copy_part(ttape_copier *c, ttape_reader *r, uint32_t partition, bool last)
{
    uint64_t from[16] = {0}, to[16] = {0};
    ttape_partition_info info;
    ttape_error err = {0};
    ttape_reader_get_partition(r, partition, &info);
    for (uint32_t s = 0; s < info.segment_count; s++) {
        ttape_segment_info g;
        TTEST_OK(ttape_reader_get_segment(r, partition, s, &g, &err));
        uint64_t third = g.event_count / 3;
        from[g.stream] = g.start.event_number + (last ? third : 0);
        to[g.stream] = g.start.event_number + g.event_count - (last ? 0 : third);
    }
    TTEST_OK(ttape_copier_part(c, partition, from, to, &err));
}

/* Whole partitions, parts of some, and none of others. */
static struct ttest_file copy_some(ttape_reader *r, uint32_t partitions)
{
    ttape_memory_sink memory = {0};
    ttape_sink sink = ttape_sink_memory(&memory);
    ttape_writer_options options = {.size = sizeof options, .partition_events = 50};
    ttape_error err = {0};
    ttape_writer *w;
    ttape_copier *c;
    TTEST_OK(ttape_writer_open(&w, &sink, &options, &err));
    w->own_times_share = 0;
    TTEST_OK(ttape_copier_open(&c, w, r, &err));
    for (uint32_t p = 0; p < partitions; p++)
        if (p % 5 == 1 || p % 5 == 3)
            copy_part(c, r, p, p % 5 == 3);
        else if (p % 5 != 2)
            TTEST_OK(ttape_copier_partition(c, p, &err));
    TTEST_OK(ttape_writer_finish(w, &err));
    ttape_copier_close(c);
    ttape_writer_close(w);
    return ttest_take(&memory);
}

static ttape_report *report_of(ttape_reader *r, ttape_report_options options)
{
    ttape_report *report;
    ttape_error err = {0};
    options.size = sizeof options;
    TTEST_OK(ttape_report_make(&report, r, &options, &err));
    return report;
}

static void check_row(const ttape_report_row *a, const ttape_report_row *b)
{
    ck_assert_uint_eq(a->site, b->site);
    ck_assert_int_eq(a->self_ns, b->self_ns);
    ck_assert_int_eq(a->total_ns, b->total_ns);
    ck_assert_int_eq(a->preempted_ns, b->preempted_ns);
    ck_assert_int_eq(a->blocked_ns, b->blocked_ns);
    ck_assert_int_eq(a->unknown_ns, b->unknown_ns);
    ck_assert_int_eq(a->idle_ns, b->idle_ns);
    ck_assert_int_eq(a->idle_known, b->idle_known);
    ck_assert_int_eq(a->is_idle_least, b->is_idle_least);
}

/* What partitions sum up is what their events give. */
static void check_reports(ttape_reader *r)
{
    ttape_report *summed = report_of(r, (ttape_report_options){.summed_switches = true, .jobs = 2});
    ttape_report *exact = report_of(r, (ttape_report_options){.switches = true, .exact = true});
    ttape_report_info a, b;
    uint32_t count;
    ttape_report_get_info(summed, &a);
    ttape_report_get_info(exact, &b);
    ck_assert_uint_eq(a.row_count, b.row_count);
    ck_assert_uint_eq(b.decoded_count, b.partition_count);
    ck_assert_int_eq(a.idle_source, b.idle_source);
    ck_assert_int_eq(a.span_ns, b.span_ns);
    ck_assert_int_eq(a.preempted_ns, b.preempted_ns);
    ck_assert_int_eq(a.blocked_ns, b.blocked_ns);
    ck_assert_int_eq(a.unknown_ns, b.unknown_ns);
    ck_assert_int_eq(a.idle_known, b.idle_known);
    const ttape_report_row *one = ttape_report_get_rows(summed, &count);
    const ttape_report_row *two = ttape_report_get_rows(exact, &count);
    for (uint32_t i = 0; i < count; i++)
        check_row(&one[i], &two[i]);
    ck_assert(!b.has_times || a.idle_source == TTAPE_IDLE_SWITCHES);
    ttape_report_close(summed);
    ttape_report_close(exact);
}

START_TEST(measures_are_those_of_the_events)
{
    struct ttest_opened o = open_plan_with(_i, true);
    check_sound(&o.file);
    check_reports(o.reader);
    struct ttest_file pieces = copy_some(o.reader, (uint32_t)o.info.partition_count);
    check_sound(&pieces);
    ttape_reader *r = ttest_open(&pieces);
    check_reports(r);
    ttape_reader_close(r);
    free(pieces.data);
    close_plan(&o);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("measured");
    TCase *tests = tcase_create("measured");
    tcase_set_timeout(tests, 60);
    tcase_add_loop_test(tests, measures_are_those_of_the_events, 0, TTEST_PLANS);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}

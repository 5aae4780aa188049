/* Overviews change no answer (F-OVR-08): a report with them is the one without, to the last bit, of
 * traces with every kind of event; so it is where they are damaged, and in copies, which have those
 * whose partitions all came along. */
#include <tracetape/copy.h>
#include <tracetape/recover.h>
#include <tracetape/report.h>

#include "reader/levels/overview_reader.h"
#include "tests/unit/test_overview_fixture.h"
#include "writer/events/copy_writer.h"

static bool take_finding(void *context, const ttape_finding *finding)
{
    (void)snprintf(context, 320, "%s: %s", finding->error.rule, finding->error.message);
    return true;
}

static uint64_t findings_of(const struct ttest_file *file, char what[320])
{
    ttape_source source = ttape_source_memory(file->data, file->size_bytes);
    ttape_error err = {0};
    uint64_t count;
    what[0] = '\0';
    TTEST_OK(ttape_verify(&source, NULL, take_finding, NULL, what, &count, &err));
    return count;
}

static void check_sound(const struct ttest_file *file)
{
    char what[320];
    ck_assert_msg(findings_of(file, what) == 0, "%s", what);
}

static ttape_report *report_of(ttape_reader *r, ttape_report_options options)
{
    ttape_report *report;
    ttape_error err = {0};
    options.size = sizeof options;
    TTEST_OK(ttape_report_make(&report, r, &options, &err));
    return report;
}

/* The same, byte for byte. Returns how much less was read of the first file. */
static int64_t compare_reports(const struct ttest_file *one, const struct ttest_file *two,
                               ttape_report_options options)
{
    struct counted of_one, of_two;
    ttape_reader *r = open_file(one, &of_one), *s = open_file(two, &of_two);
    of_one.bytes = of_two.bytes = 0;
    ttape_report *a = report_of(r, options), *b = report_of(s, options);
    ttape_report_info x, y;
    uint32_t count, other;
    ttape_report_get_info(a, &x);
    ttape_report_get_info(b, &y);
    ck_assert_mem_eq(&x, &y, sizeof x);
    const ttape_report_row *rows = ttape_report_get_rows(a, &count);
    const ttape_report_row *others = ttape_report_get_rows(b, &other);
    ck_assert_uint_eq(count, other);
    for (uint32_t i = 0; i < count; i++)
        ck_assert_msg(memcmp(&rows[i], &others[i], sizeof *rows) == 0, "row %u", i);
    ttape_report_close(a);
    ttape_report_close(b);
    ttape_reader_close(r);
    ttape_reader_close(s);
    return (int64_t)(of_two.bytes - of_one.bytes);
}

/* Every way of asking, of which some cannot use overviews. */
static void compare_all(const struct ttest_file *one, const struct ttest_file *two)
{
    const uint32_t first[] = {0};
    const ttape_report_options ways[] = {{.jobs = 1},
                                         {.jobs = 3},
                                         {.summed_switches = true},
                                         {.switches = true},
                                         {.exact = true},
                                         {.by = TTAPE_REPORT_BY_NAME},
                                         {.by = TTAPE_REPORT_BY_THREAD},
                                         {.has_range = true, .from_ns = 9000, .to_ns = 60000},
                                         {.streams = first, .stream_count = 1}};
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++)
        (void)compare_reports(one, two, ways[i]);
}

START_TEST(reports_are_the_same)
{
    for (int measured = 0; measured < 2; measured++) {
        struct ttest_file with = make(_i, measured != 0, PERIOD);
        struct ttest_file without = make(_i, measured != 0, UINT64_MAX);
        check_sound(&with);
        ck_assert_uint_ge(overviews_of(&with),
                          plans[_i].events / plans[_i].partition_events / (PERIOD + 1));
        ck_assert_uint_eq(overviews_of(&without), 0);
        compare_all(&with, &without);
        /* and are made of overviews: of partitions only those are read in which streams end */
        ck_assert_int_gt(compare_reports(&with, &without, (ttape_report_options){0}), 0);
        free(with.data);
        free(without.data);
    }
}
END_TEST

/* Histograms, and what is estimated from them: as overviews tell them, and as events do. Where
 * nothing is decoded of the first file, overviews told all. */
static uint64_t compare_histograms(const struct ttest_file *one, const struct ttest_file *two,
                                   ttape_report_options options)
{
    struct counted of_one, of_two;
    ttape_reader *r = open_file(one, &of_one), *s = open_file(two, &of_two);
    options.histograms = true;
    ttape_report *a = report_of(r, options), *b = report_of(s, options);
    ttape_report_info x, y;
    uint32_t count, other;
    ttape_report_get_info(a, &x);
    ttape_report_get_info(b, &y);
    ck_assert_uint_eq(y.decoded_count, y.partition_count);
    const ttape_report_row *rows = ttape_report_get_rows(a, &count);
    const ttape_report_row *others = ttape_report_get_rows(b, &other);
    ck_assert_uint_eq(count, other);
    for (uint32_t i = 0; i < count; i++) {
        ttape_report_bucket mine[TTAPE_REPORT_BUCKETS] = {{0}},
                            theirs[TTAPE_REPORT_BUCKETS] = {{0}};
        uint32_t size, other_size;
        uint64_t sum = 0;
        ck_assert_msg(memcmp(&rows[i], &others[i], sizeof *rows) == 0, "row %u", i);
        ttape_status status = ttape_report_get_histogram(a, i, mine, TTAPE_REPORT_BUCKETS, &size);
        ck_assert_int_eq(
            status, ttape_report_get_histogram(b, i, theirs, TTAPE_REPORT_BUCKETS, &other_size));
        ck_assert_int_eq(status, rows[i].exit_count != 0 ? TTAPE_OK : TTAPE_E_NOT_FOUND);
        ck_assert_uint_eq(size, other_size);
        ck_assert_mem_eq(mine, theirs, sizeof mine);
        for (uint32_t k = 0; k < size; k++)
            sum += mine[k].count;
        ck_assert_uint_eq(sum, rows[i].exit_count);
        for (double share = 0; share <= 1; share += 0.25) {
            int64_t p, q;
            ck_assert_int_eq(ttape_report_get_percentile(a, i, share, &p), status);
            ck_assert_int_eq(ttape_report_get_percentile(b, i, share, &q), status);
            ck_assert_int_eq(p, q);
        }
    }
    uint64_t decoded = x.decoded_count;
    ttape_report_close(a);
    ttape_report_close(b);
    ttape_reader_close(r);
    ttape_reader_close(s);
    return decoded;
}

/* An estimate lies in the bucket of the percentile, and its last one is the largest duration. */
static void compare_estimates(const struct ttest_file *file)
{
    struct counted counted;
    ttape_reader *r = open_file(file, &counted);
    ttape_report *exact = report_of(r, (ttape_report_options){.percentiles = true});
    ttape_report *rough = report_of(r, (ttape_report_options){.histograms = true});
    uint32_t count, other;
    const ttape_report_row *rows = ttape_report_get_rows(rough, &count);
    (void)ttape_report_get_rows(exact, &other);
    ck_assert_uint_eq(count, other);
    for (uint32_t i = 0; i < count; i++) {
        ttape_report_bucket buckets[TTAPE_REPORT_BUCKETS];
        uint32_t size;
        if (ttape_report_get_histogram(rough, i, buckets, TTAPE_REPORT_BUCKETS, &size) != TTAPE_OK)
            continue;
        for (double share = 0; share <= 1; share += 0.125) {
            int64_t p, q;
            uint32_t at = 0;
            ttape_report_get_percentile(exact, i, share, &p);
            ttape_report_get_percentile(rough, i, share, &q);
            while (at + 1 < size && buckets[at].most_ns < p)
                at++;
            ck_assert_int_le(buckets[at].least_ns, q);
            ck_assert_int_ge(buckets[at].most_ns, q);
        }
        int64_t last;
        ttape_report_get_percentile(rough, i, 1, &last);
        ck_assert_int_eq(last, rows[i].max_ns);
    }
    ttape_report_close(exact);
    ttape_report_close(rough);
    ttape_reader_close(r);
}

START_TEST(histograms_are_the_same)
{
    const uint32_t first[] = {0};
    for (int measured = 0; measured < 2; measured++) {
        struct ttest_file with = make(_i, measured != 0, PERIOD);
        struct ttest_file without = make(_i, measured != 0, UINT64_MAX);
        uint64_t all = compare_histograms(&with, &without, (ttape_report_options){.jobs = 1});
        if (all >= PERIOD) /* where ends are not known, partitions are read */
            ck_assert(!plans[_i].plain);
        (void)compare_histograms(&with, &without, (ttape_report_options){.jobs = 3});
        (void)compare_histograms(&with, &without,
                                 (ttape_report_options){.by = TTAPE_REPORT_BY_NAME});
        (void)compare_histograms(&with, &without,
                                 (ttape_report_options){.streams = first, .stream_count = 1});
        compare_estimates(&with);
        free(with.data);
        free(without.data);
    }
}
END_TEST

START_TEST(damaged_ones_are_left_out)
{
    struct ttest_file with = make(_i, false, PERIOD), without = make(_i, false, UINT64_MAX);
    uint32_t count = overviews_of(&with);
    char what[320];
    for (uint32_t n = 0; n < count; n += 3) {
        content_of(&with, n)[9] ^= 0x10;
        ck_assert_uint_eq(findings_of(&with, what), n / 3 + 1);
        ck_assert_msg(strncmp(what, "F-CHK-03", 8) == 0, "%s", what);
        (void)compare_reports(&with, &without, (ttape_report_options){0});
    }
    free(with.data);
    free(without.data);
}
END_TEST

/* Partitions from `first` on, of which `part` is taken apart; TTAPE_NONE: none is. */
static struct ttest_file copy_with(const struct ttest_file *file, uint32_t first, uint32_t part,
                                   uint64_t period)
{
    ttape_writer_options options = {.size = sizeof options, .overview_period = period};
    struct counted counted;
    ttape_reader *r = open_file(file, &counted);
    ttape_memory_sink memory = {0};
    ttape_sink sink = ttape_sink_memory(&memory);
    ttape_error err = {0};
    ttape_writer *w;
    ttape_copier *c;
    uint64_t from[16] = {0}, to[16];
    memset(to, 0xff, sizeof to);
    TTEST_OK(ttape_writer_open(&w, &sink, &options, &err));
    TTEST_OK(ttape_copier_open(&c, w, r, &err));
    for (uint32_t p = first; p < r->partition_count; p++)
        if (p == part)
            TTEST_OK(ttape_copier_part(c, p, from, to, &err));
        else
            TTEST_OK(ttape_copier_partition(c, p, &err));
    TTEST_OK(ttape_writer_finish(w, &err));
    ttape_copier_close(c);
    ttape_writer_close(w);
    ttape_reader_close(r);
    return ttest_take(&memory);
}

static struct ttest_file copy_of(const struct ttest_file *file, uint32_t first, uint32_t part)
{
    return copy_with(file, first, part, 0);
}

START_TEST(copies_have_those_that_are_whole)
{
    struct ttest_file file = make(_i, _i == 1, PERIOD);
    uint32_t count = overviews_of(&file);
    static const struct {
        uint32_t first, part, lost;
    } all[] = {{0, TTAPE_NONE, 0},
               {1, TTAPE_NONE, 1},
               {PERIOD, TTAPE_NONE, 1},
               {2 * PERIOD + 1, TTAPE_NONE, 3},
               {0, 0, 1},
               {3, PERIOD, 2}};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        struct ttest_file copy = copy_of(&file, all[i].first, all[i].part);
        struct ttest_file plain = make(_i, _i == 1, UINT64_MAX);
        struct ttest_file other = copy_of(&plain, all[i].first, all[i].part);
        check_sound(&copy);
        ck_assert_uint_eq(overviews_of(&copy), count - all[i].lost);
        compare_all(&copy, &other);
        free(copy.data);
        free(plain.data);
        free(other.data);
    }
    free(file.data);
}
END_TEST

static struct ttest_file recovered(const struct ttest_file *file)
{
    ttape_source source = ttape_source_memory(file->data, file->size_bytes);
    ttape_memory_sink memory = {0};
    ttape_sink sink = ttape_sink_memory(&memory);
    ttape_recover_report report;
    ttape_error err = {0};
    TTEST_OK(ttape_recover_trace(&source, &sink, NULL, &report, &err));
    return ttest_take(&memory);
}

START_TEST(recovered_ones_are_right)
{
    struct ttest_file file = make(_i, true, PERIOD), out = recovered(&file);
    uint32_t count = overviews_of(&file);
    check_sound(&out);
    ck_assert_uint_eq(overviews_of(&out), count);
    free(out.data);
    content_of(&file, 2)[9] ^= 0x10;
    out = recovered(&file);
    check_sound(&out);
    ck_assert_uint_eq(overviews_of(&out), count - 1);
    free(out.data);
    (content_of(&file, 0) - TTP_CHUNK_HEADER_BYTES - 3)[0] ^= 1; /* a partition's last bytes */
    out = recovered(&file);
    check_sound(&out);
    ck_assert_uint_eq(overviews_of(&out), count - 2);
    free(out.data);
    free(file.data);
}
END_TEST

/* What nobody asks for by report, as verify compares it with the events: here it is not nothing. */
START_TEST(calls_and_leaves_are_said)
{
    struct ttest_file file = make(_i, false, PERIOD);
    struct counted counted;
    ttape_reader *r = open_file(&file, &counted);
    ttape_error err = {0};
    for (uint32_t n = 0; n < r->overview_count; n++) {
        struct ttp_read_overview o;
        uint64_t bits = 0;
        TTEST_OK(ttp_overview_load(&r->pool.first, n, TTP_OVERVIEW_ALL, PERIOD, &o, &err));
        ck_assert(o.calls != NULL && o.head.partition_count <= PERIOD);
        for (uint32_t i = 0; i < o.row_count; i++) {
            uint64_t ended = 0;
            for (uint32_t b = 0; b < TTP_OVERVIEW_BUCKETS; b++)
                ended += o.calls[i].counts[b];
            ck_assert_uint_eq(ended, o.head.resolution_ns != 0 ? o.rows[i].exit_count : 0);
            ck_assert((o.rows[i].call_count != 0) <= (o.calls[i].mask != 0));
            bits |= o.calls[i].mask;
        }
        ck_assert_uint_eq(bits, (1u << o.head.partition_count) - 1);
        ck_assert(o.leaf_count == 1 && o.leaves[0].site == 4 && o.leaves[0].count > 10);
        uint32_t covered = o.head.partition_count;
        ttp_overview_drop(&r->pool.first, &o);
        /* not looked for further back than asked */
        ck_assert_int_eq(
            ttp_overview_load(&r->pool.first, n, TTP_OVERVIEW_ALL, covered - 1, &o, &err),
            TTAPE_E_CORRUPT);
    }
    ttape_reader_close(r);
    free(file.data);
}
END_TEST

START_TEST(copies_have_none_where_none_are_wanted)
{
    struct ttest_file file = make(_i, false, PERIOD);
    struct ttest_file copy = copy_with(&file, 0, TTAPE_NONE, UINT64_MAX);
    ck_assert_uint_gt(overviews_of(&file), 0);
    ck_assert_uint_eq(overviews_of(&copy), 0);
    free(copy.data);
    free(file.data);
}
END_TEST

/* A small file may ask for any work: many overviews of the same partitions. */
START_TEST(many_of_the_same_are_given_up)
{
    struct ttest_file file = make(0, false, PERIOD);
    struct counted counted;
    struct ttp_read_overview o;
    ttape_reader *r = open_file(&file, &counted);
    ttape_memory_sink memory = {0};
    ttape_sink sink = ttape_sink_memory(&memory);
    ttape_error err = {0};
    ttape_writer *w;
    ttape_copier *c;
    char what[320];
    TTEST_OK(ttp_overview_load(&r->pool.first, 0, TTP_OVERVIEW_ROWS, UINT32_MAX, &o, &err));
    TTEST_OK(ttape_writer_open(&w, &sink, NULL, &err));
    TTEST_OK(ttape_copier_open(&c, w, r, &err));
    for (uint32_t p = 0; p < o.head.partition_count; p++)
        TTEST_OK(ttape_copier_partition(c, p, &err));
    for (int i = 0; i < 100; i++)
        TTEST_OK(ttp_writer_stored_overview(
            w, ((struct ttp_scope **)w->scopes.data)[w->scopes.count - 1], o.content,
            o.content_bytes, &err));
    TTEST_OK(ttape_writer_finish(w, &err));
    ttape_copier_close(c);
    ttape_writer_close(w);
    ttp_overview_drop(&r->pool.first, &o);
    ttape_reader_close(r);
    struct ttest_file many = ttest_take(&memory);
    ck_assert_uint_gt(findings_of(&many, what), 0);
    ck_assert_msg(strstr(what, "F-OVR-08") != NULL, "%s", what);
    free(many.data);
    free(file.data);
}
END_TEST

/* Partitions of which a summary says nothing: there are no functions. */
START_TEST(signals_alone_have_sound_ones)
{
    ttape_memory_sink memory = {0};
    ttape_sink sink = ttape_sink_memory(&memory);
    ttape_writer_options options = {
        .size = sizeof options, .partition_events = 4, .overview_period = 2};
    ttape_error err = {0};
    ttape_writer *w;
    uint32_t process, stream;
    TTEST_OK(ttape_writer_open(&w, &sink, &options, &err));
    TTEST_OK(ttape_writer_add_process(w, &(ttape_process){.pid = 1}, &process, &err));
    TTEST_OK(
        ttape_writer_add_stream(w, &(ttape_stream){.process = process, .tid = 1}, &stream, &err));
    for (int64_t i = 0; i < 16; i++) {
        ttape_event event = {.time_ns = i,
                             .kind = i % 2 == 0 ? TTAPE_EVENT_SIGNAL_BEGIN : TTAPE_EVENT_SIGNAL_END,
                             .argument = 9};
        TTEST_OK(ttape_writer_append(w, stream, &event, 1, &err));
    }
    TTEST_OK(ttape_writer_finish(w, &err));
    ttape_writer_close(w);
    struct ttest_file file = ttest_take(&memory);
    ck_assert_uint_eq(overviews_of(&file), 2);
    check_sound(&file);
    free(file.data);
}
END_TEST

/* A period that is not asked for gives overviews only where they are small. */
START_TEST(small_partitions_have_none)
{
    struct ttest_plan plan = {.partition_events = 20, .streams = 1, .events = 4000};
    struct ttest_file file = ttest_write(&plan);
    ttape_memory_sink memory = {0};
    ttape_sink sink = ttape_sink_memory(&memory);
    ttape_writer_options options = {.size = sizeof options, .overview_period = 65};
    ttape_error err = {0};
    ttape_writer *w;
    ck_assert_uint_eq(overviews_of(&file), 0);
    ck_assert_int_eq(ttape_writer_open(&w, &sink, &options, &err), TTAPE_E_ARGUMENT);
    free(file.data);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("overviews");
    TCase *t = tcase_create("overviews");
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, reports_are_the_same, 0, PLANS);
    tcase_add_loop_test(t, histograms_are_the_same, 0, PLANS);
    tcase_add_loop_test(t, damaged_ones_are_left_out, 0, PLANS);
    tcase_add_loop_test(t, copies_have_those_that_are_whole, 0, PLANS);
    tcase_add_loop_test(t, recovered_ones_are_right, 0, PLANS);
    tcase_add_loop_test(t, calls_and_leaves_are_said, 0, PLANS);
    tcase_add_loop_test(t, copies_have_none_where_none_are_wanted, 0, PLANS);
    tcase_add_test(t, many_of_the_same_are_given_up);
    tcase_add_test(t, signals_alone_have_sound_ones);
    tcase_add_test(t, small_partitions_have_none);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}

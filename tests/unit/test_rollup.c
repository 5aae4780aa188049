/* Rollups: whatever is added up first, and whichever partitions, the bytes are the same; and rows
 * are those of reports. */
#include <stdlib.h>
#include <string.h>

#include <tracetape/rollup.h>

#include "answers/rollup/rollup_internal.h"
#include "format/base/bytes.h"
#include "format/base/checksum.h"
#include "format/container/layout.h"
#include "tests/unit/report_model.h"

#define TRACES 3u

struct kind {
    ttape_report_by by;
    bool counts, histograms;
    uint32_t longest;
};

static const struct kind kinds[] = {
    {TTAPE_REPORT_BY_FUNCTION, false, false, 0}, {TTAPE_REPORT_BY_FUNCTION, true, false, 0},
    {TTAPE_REPORT_BY_FUNCTION, false, true, 3},  {TTAPE_REPORT_BY_CALL, false, false, 0},
    {TTAPE_REPORT_BY_THREAD, true, false, 0},    {TTAPE_REPORT_BY_PROCESS, false, false, 0},
    {TTAPE_REPORT_BY_NAME, true, false, 0},      {TTAPE_REPORT_BY_MODULE, false, true, 0},
    {TTAPE_REPORT_BY_FILE, false, false, 0}};
#define KINDS (sizeof kinds / sizeof kinds[0])

static ttape_rollup *open_rollup(const struct kind *kind)
{
    const ttape_rollup_options options = {.size = sizeof options,
                                          .by = kind->by,
                                          .counts = kind->counts,
                                          .histograms = kind->histograms,
                                          .longest = kind->longest};
    ttape_rollup *rollup;
    ttape_error err = {0};
    TTEST_OK(ttape_rollup_open(&rollup, &options, &err));
    return rollup;
}

static void add(ttape_rollup *rollup, ttape_reader *reader, uint32_t first, uint32_t count)
{
    const ttape_rollup_selection selection = {
        .size = sizeof selection, .first_partition = first, .partition_count = count};
    ttape_error err = {0};
    TTEST_OK(ttape_rollup_add_trace(rollup, reader, &selection, &err));
}

static ttape_memory_sink write_rollup(ttape_rollup *rollup)
{
    ttape_memory_sink bytes = {0};
    ttape_sink sink = ttape_sink_memory(&bytes);
    ttape_error err = {0};
    TTEST_OK(ttape_rollup_write(rollup, &sink, &err));
    return bytes;
}

static void add_bytes(ttape_rollup *rollup, const ttape_memory_sink *bytes)
{
    ttape_source source = ttape_source_memory(bytes->data, bytes->size_bytes);
    ttape_error err = {0};
    TTEST_OK(ttape_rollup_add_file(rollup, &source, &err));
}

struct traces {
    struct ttest_file files[TRACES];
    ttape_reader *readers[TRACES];
    uint32_t partitions[TRACES];
};

/* The fixture gives all of them the same. */
static void give_id(struct ttest_file *file, uint8_t id)
{
    file->data[TTP_FILE_TRACE_ID_AT] = id;
    ttp_store64(file->data + TTP_FILE_HASH_AT, ttp_checksum(file->data, TTP_FILE_HASH_AT));
}

static void open_traces(struct traces *t)
{
    for (uint32_t i = 0; i < TRACES; i++) {
        const struct ttest_plan plan = {.plain = i == 1,
                                        .resolution_ns = i == 2 ? 16 : 0,
                                        .overview_period = i == 0 ? 4 : 0,
                                        .streams = 1 + i,
                                        .events = 2500,
                                        .partition_events = 250};
        ttape_info info;
        t->files[i] = ttest_write(&plan);
        give_id(&t->files[i], (uint8_t)(i + 7));
        t->readers[i] = ttest_open(&t->files[i]);
        ttape_reader_get_info(t->readers[i], &info);
        t->partitions[i] = (uint32_t)info.partition_count;
        ck_assert_uint_gt(info.partition_count, 6);
    }
}

static void close_traces(struct traces *t)
{
    for (uint32_t i = 0; i < TRACES; i++) {
        ttape_reader_close(t->readers[i]);
        free(t->files[i].data);
    }
}

/* Each worker has every n-th partition of all traces, in an order of its own; then workers are
 * added up as a list or as a tree. */
static ttape_memory_sink reduce(const struct traces *t, const struct kind *kind, uint32_t workers,
                                bool is_tree)
{
    ttape_memory_sink own[8] = {{0}};
    for (uint32_t w = 0; w < workers; w++) {
        ttape_rollup *rollup = open_rollup(kind);
        uint32_t number = 0;
        for (uint32_t i = 0; i < TRACES; i++)
            for (uint32_t p = 0; p < t->partitions[i]; p++)
                if (number++ % workers == w)
                    add(rollup, t->readers[i], t->partitions[i] - 1 - p, 1);
        own[w] = write_rollup(rollup);
        ttape_rollup_close(rollup);
    }
    for (uint32_t step = 1; step < workers; step *= 2) {
        uint32_t stride = is_tree ? 2 * step : workers;
        for (uint32_t w = 0; w < workers; w += stride) {
            ttape_rollup *rollup = open_rollup(kind);
            uint32_t end = is_tree ? w + step + 1 : workers;
            for (uint32_t from = w; from < workers && from < end; from += is_tree ? step : 1)
                add_bytes(rollup, &own[from]);
            ttape_memory_sink_close(&own[w]);
            own[w] = write_rollup(rollup);
            ttape_rollup_close(rollup);
        }
        if (!is_tree)
            break;
    }
    for (uint32_t w = 1; w < workers; w++)
        ttape_memory_sink_close(&own[w]);
    return own[0];
}

START_TEST(bytes_do_not_depend_on_the_tree)
{
    static const uint32_t workers[] = {1, 2, 3, 7};
    const struct kind *kind = &kinds[_i];
    struct traces t;
    open_traces(&t);
    ttape_rollup *rollup = open_rollup(kind);
    for (uint32_t i = TRACES; i-- > 0;)
        add(rollup, t.readers[i], 0, 0);
    ttape_memory_sink all = write_rollup(rollup);
    ttape_rollup_close(rollup);
    for (size_t i = 0; i < sizeof workers / sizeof workers[0]; i++)
        for (int is_tree = 0; is_tree < 2; is_tree++) {
            ttape_memory_sink one = reduce(&t, kind, workers[i], is_tree);
            ck_assert_uint_eq(one.size_bytes, all.size_bytes);
            ck_assert(memcmp(one.data, all.data, all.size_bytes) == 0);
            ttape_memory_sink_close(&one);
        }
    ttape_memory_sink_close(&all);
    close_traces(&t);
}
END_TEST

static const ttape_rollup_row *find_row(const ttape_rollup_row *rows, uint32_t count,
                                        const ttape_rollup_function *functions,
                                        const ttape_site *site)
{
    for (uint32_t i = 0; i < count; i++) {
        const ttape_rollup_function *f = &functions[rows[i].report.site];
        if (f->symbol.size_bytes == site->symbol.size_bytes &&
            memcmp(f->symbol.data, site->symbol.data, site->symbol.size_bytes) == 0 &&
            f->kind == site->kind && f->line == site->line)
            return &rows[i];
    }
    return NULL;
}

/* Squares to the bit, times to the nanosecond. */
START_TEST(rows_are_those_of_the_report)
{
    struct traces t;
    open_traces(&t);
    ttape_report *report;
    ttape_error err = {0};
    uint32_t count, row_count, function_count;
    TTEST_OK(ttape_report_make(&report, t.readers[1], NULL, &err));
    ttape_rollup *rollup = open_rollup(&kinds[0]);
    for (uint32_t p = 0; p < t.partitions[1]; p++)
        add(rollup, t.readers[1], p, 1);
    const ttape_report_row *want = ttape_report_get_rows(report, &count);
    const ttape_rollup_row *rows = ttape_rollup_get_rows(rollup, &row_count);
    const ttape_rollup_function *functions = ttape_rollup_get_functions(rollup, &function_count);
    ck_assert_uint_eq(row_count, count);
    for (uint32_t i = 0; i < count; i++) {
        ttape_site site;
        TTEST_OK(ttape_reader_get_site(t.readers[1], want[i].site, &site));
        const ttape_rollup_row *got = find_row(rows, row_count, functions, &site);
        ck_assert_ptr_nonnull(got);
        ck_assert_uint_eq(got->report.call_count, want[i].call_count);
        ck_assert_uint_eq(got->report.exit_count, want[i].exit_count);
        ck_assert_int_eq(got->report.self_ns, want[i].self_ns);
        ck_assert_int_eq(got->report.total_ns, want[i].total_ns);
        ck_assert_int_eq(got->report.min_ns, want[i].min_ns);
        ck_assert_int_eq(got->report.max_ns, want[i].max_ns);
        ck_assert(got->squares[0] == want[i].squares.low &&
                  got->squares[1] == want[i].squares.high);
        ck_assert(got->report.mean_ns == want[i].mean_ns);
        ck_assert(got->report.deviation_ns == want[i].deviation_ns);
        ck_assert(got->report.idle_known == want[i].idle_known);
        ck_assert_int_eq(got->report.idle_ns, want[i].idle_ns);
    }
    ttape_rollup_close(rollup);
    ttape_report_close(report);
    close_traces(&t);
}
END_TEST

/* R-TRC-04: what is there is named, and nothing has changed. */
START_TEST(a_partition_is_added_once)
{
    struct traces t;
    open_traces(&t);
    ttape_error err = {0};
    ttape_rollup *rollup = open_rollup(&kinds[0]);
    const ttape_rollup_selection again = {
        .size = sizeof again, .first_partition = 2, .partition_count = 3};
    add(rollup, t.readers[0], 0, 2);
    add(rollup, t.readers[0], 4, 2);
    ttape_memory_sink before = write_rollup(rollup);
    ck_assert_int_eq(ttape_rollup_add_trace(rollup, t.readers[0], &again, &err), TTAPE_E_EXISTS);
    ck_assert_str_eq(err.rule, "R-TRC-04");
    ck_assert_ptr_nonnull(strstr(err.message, "partitions 4 to 4 of trace '"));
    ttape_source source = ttape_source_memory(before.data, before.size_bytes);
    ck_assert_int_eq(ttape_rollup_add_file(rollup, &source, &err), TTAPE_E_EXISTS);
    ttape_memory_sink after = write_rollup(rollup);
    ck_assert(after.size_bytes == before.size_bytes &&
              memcmp(after.data, before.data, after.size_bytes) == 0);
    ck_assert(!ttape_rollup_has_failed(rollup));
    ttape_memory_sink_close(&before);
    ttape_memory_sink_close(&after);
    ttape_rollup_close(rollup);
    close_traces(&t);
}
END_TEST

/* A rollup in any memory is done, or says that it is short, and closes. */
START_TEST(little_memory_is_said)
{
    struct traces t;
    open_traces(&t);
    bool is_done = false;
    for (uint64_t bytes = 100; !is_done; bytes += bytes / 3) {
        const ttape_rollup_options options = {
            .size = sizeof options, .counts = true, .longest = 2, .memory_bytes = bytes};
        ttape_rollup *rollup;
        ttape_error err = {0};
        ttape_status status = ttape_rollup_open(&rollup, &options, &err);
        for (uint32_t i = 0; i < TRACES && status == TTAPE_OK; i++)
            status = ttape_rollup_add_trace(rollup, t.readers[i], NULL, &err);
        is_done = status == TTAPE_OK;
        ck_assert(is_done || status == TTAPE_E_LIMIT || status == TTAPE_E_MEMORY);
        ttape_rollup_close(rollup);
        ck_assert_uint_lt(bytes, 1u << 30);
    }
    close_traces(&t);
}
END_TEST

/* A file that is too large for the rest of the memory: nothing more is done with the rollup where
 * its own memory was short. */
START_TEST(little_memory_for_a_file_is_said)
{
    struct traces t;
    open_traces(&t);
    ttape_rollup *whole = open_rollup(&kinds[1]);
    for (uint32_t i = 0; i < TRACES; i++)
        add(whole, t.readers[i], 0, 0);
    ttape_memory_sink bytes = write_rollup(whole);
    ttape_source source = ttape_source_memory(bytes.data, bytes.size_bytes);
    bool is_done = false;
    for (uint64_t most = 1024; !is_done; most += most / 50) {
        const ttape_rollup_options options = {
            .size = sizeof options, .counts = true, .memory_bytes = most};
        ttape_rollup *rollup;
        ttape_error err = {0};
        if (ttape_rollup_open(&rollup, &options, &err) != TTAPE_OK)
            continue;
        is_done = ttape_rollup_add_file(rollup, &source, &err) == TTAPE_OK;
        ck_assert(is_done || err.status == TTAPE_E_LIMIT);
        ck_assert(ttape_rollup_has_failed(rollup) || !rollup->region.is_short);
        ttape_rollup_close(rollup);
    }
    ttape_memory_sink_close(&bytes);
    ttape_rollup_close(whole);
    close_traces(&t);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("rollup");
    TCase *tests = tcase_create("rollups");
    tcase_set_timeout(tests, 120);
    tcase_add_loop_test(tests, bytes_do_not_depend_on_the_tree, 0, KINDS);
    tcase_add_test(tests, rows_are_those_of_the_report);
    tcase_add_test(tests, a_partition_is_added_once);
    tcase_add_test(tests, little_memory_is_said);
    tcase_add_test(tests, little_memory_for_a_file_is_said);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}

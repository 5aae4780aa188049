/* Reports where something is wrong: spoilt payloads, too little memory, options; and which names
 * block. */
#include <stdatomic.h>

#include "tests/unit/every.h"
#include "tests/unit/report_model.h"

/* Spoils one byte of each partition's payload, at its end: the light part is in front. */
static void spoil_payloads(const struct ttest_opened *o)
{
    ttape_partition_info p;
    for (uint32_t i = 0; ttape_reader_get_partition(o->reader, i, &p) == TTAPE_OK; i++)
        o->file.data[p.offset + p.stored_bytes - 1] ^= 1;
}

static void count_damage(void *context, uint32_t partition, const ttape_error *error)
{
    uint32_t *next = context;
    ck_assert_uint_eq(partition, *next);
    ck_assert_int_ge(error->status, TTAPE_E_TRUNCATED);
    ++*next;
}

START_TEST(summaries_touch_no_payload)
{
    struct ttest_opened o = open_plan(_i);
    ttape_error err = {0};
    ttape_report *report = NULL;
    ttape_report_info info;
    uint32_t damaged = 0;
    ttape_report_options exact = {.size = sizeof exact, .exact = true, .jobs = 3};
    spoil_payloads(&o);
    ttape_reader_close(o.reader);
    o.reader = ttest_open(&o.file);
    check(o.reader, &o.model, (ttape_report_options){0});
    ck_assert_int_ge(ttape_report_make(&report, o.reader, &exact, &err), TTAPE_E_TRUNCATED);
    ck_assert_ptr_null(report);
    exact.damage = count_damage;
    exact.context = &damaged;
    TTEST_OK(ttape_report_make(&report, o.reader, &exact, &err));
    ttape_report_get_info(report, &info);
    ck_assert_uint_eq(damaged, o.info.partition_count);
    ck_assert_uint_eq(info.damaged_count, damaged);
    ck_assert_uint_eq(info.row_count, 0);
    ttape_report_close(report);
    close_plan(&o);
}
END_TEST

/* Durations over the budget are counted by size: percentiles are at most a 128th too low. */
START_TEST(percentiles_in_little_memory)
{
    struct ttest_plan plan = {
        .streams = 1, .events = 120000, .partition_events = 20000, .plain = true};
    struct ttest_file file = ttest_write(&plan);
    ttape_reader *r = ttest_open(&file);
    ttape_error err = {0};
    ttape_report *full, *little;
    ttape_report_info info;
    uint32_t count;
    ttape_report_options how = {.size = sizeof how, .percentiles = true, .jobs = 1};
    TTEST_OK(ttape_report_make(&full, r, &how, &err));
    how.memory_bytes = 700000;
    TTEST_OK(ttape_report_make(&little, r, &how, &err));
    ttape_report_get_info(little, &info);
    ck_assert(info.percentile_error > 0);
    (void)ttape_report_get_rows(full, &count);
    for (uint32_t i = 0; i < count; i++)
        for (double share = 0.05; share < 1; share += 0.1) {
            int64_t a, b;
            ck_assert_int_eq(ttape_report_get_percentile(full, i, share, &a),
                             ttape_report_get_percentile(little, i, share, &b));
            if (ttape_report_get_percentile(full, i, share, &a) == TTAPE_OK) {
                ck_assert_int_le(b, a);
                ck_assert_int_ge((int64_t)((double)b * (1 + info.percentile_error)) + 1, a);
            }
        }
    ttape_report_close(full);
    ttape_report_close(little);
    how.memory_bytes = 2000;
    ck_assert_int_eq(ttape_report_make(&little, r, &how, &err), TTAPE_E_LIMIT);
    ttape_reader_close(r);
    free(file.data);
}
END_TEST

START_TEST(options_are_checked)
{
    struct ttest_opened o = open_plan(0);
    ttape_error err = {0};
    ttape_report *report;
    const uint32_t none[] = {1000};
    struct {
        ttape_report_options known;
        uint64_t more;
    } longer = {.known = {.size = sizeof longer}};
    ttape_report_options bad[] = {
        {.by = TTAPE_REPORT_BY_COUNT},
        {.by = TTAPE_REPORT_BY_GROUP},
        {.has_range = true, .from_ns = 2, .to_ns = 1},
        {.stream_count = 1},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        bad[i].size = sizeof bad[i];
        ck_assert_int_eq(ttape_report_make(&report, o.reader, &bad[i], &err), TTAPE_E_ARGUMENT);
        ck_assert_ptr_null(report);
    }
    ttape_report_options missing = {.size = sizeof missing, .streams = none, .stream_count = 1};
    ck_assert_int_eq(ttape_report_make(&report, o.reader, &missing, &err), TTAPE_E_NOT_FOUND);
    TTEST_OK(ttape_report_make(&report, o.reader, &longer.known, &err));
    ttape_report_close(report);
    longer.more = 1;
    ck_assert_int_eq(ttape_report_make(&report, o.reader, &longer.known, &err), TTAPE_E_ARGUMENT);
    ck_assert_int_eq(ttape_report_make(NULL, o.reader, NULL, &err), TTAPE_E_ARGUMENT);
    ck_assert_int_eq(ttape_report_make(&report, NULL, NULL, &err), TTAPE_E_ARGUMENT);
    TTEST_OK(ttape_report_make(&report, o.reader, NULL, NULL));
    ttape_report_close(report);
    ttape_report_close(NULL);
    close_plan(&o);
}
END_TEST

/* Allocation n fails, once or for good: the call fails or succeeds, and nothing is lost. */
struct failing {
    atomic_int left, held;
    bool for_good;
};

static void *fail_at(void *context, size_t size_bytes)
{
    struct failing *f = context;
    int left = atomic_fetch_sub(&f->left, 1);
    if (f->for_good ? left <= 0 : left == 0)
        return NULL;
    atomic_fetch_add(&f->held, 1);
    return malloc(size_bytes);
}

static void release(void *context, void *memory, size_t size_bytes)
{
    struct failing *f = context;
    (void)size_bytes;
    atomic_fetch_sub(&f->held, 1);
    free(memory);
}

static bool make_with(const struct ttest_file *file, struct failing *f, uint32_t by, uint32_t jobs)
{
    ttape_reader *r;
    ttape_report *report;
    ttape_allocator allocator = {f, fail_at, release};
    ttape_source source = ttape_source_memory(file->data, file->size_bytes);
    ttape_reader_options o = {.size = sizeof o, .allocator = &allocator};
    ttape_report_options how = {
        .size = sizeof how, .by = by, .percentiles = by != 0, .group = group_of, .jobs = jobs};
    ttape_status status = ttape_reader_open(&r, &source, &o, NULL);
    if (status == TTAPE_OK) {
        status = ttape_report_make(&report, r, &how, NULL);
        if (status == TTAPE_OK)
            ttape_report_close(report);
        ttape_reader_close(r);
    }
    ck_assert_int_eq(atomic_load(&f->held), 0);
    ck_assert(status == TTAPE_OK || status == TTAPE_E_MEMORY);
    return status == TTAPE_OK;
}

START_TEST(memory_can_run_out_anywhere)
{
    struct ttest_plan plan = {.streams = 3, .events = 700, .partition_events = 100};
    struct ttest_file file = ttest_write(&plan);
    static const uint32_t kinds[] = {TTAPE_REPORT_BY_FUNCTION, TTAPE_REPORT_BY_CALL,
                                     TTAPE_REPORT_BY_NAME, TTAPE_REPORT_BY_THREAD};
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++)
        for (int for_good = 0; for_good < 2; for_good++) {
            bool done = false;
            for (int n = 0; !done; n += (int)ttest_every(3)) {
                struct failing f = {.for_good = for_good != 0};
                atomic_init(&f.left, n);
                bool made = make_with(&file, &f, kinds[k], 1 + (uint32_t)n % 2);
                done = made && atomic_load(&f.left) >= 0;
                ck_assert_int_lt(n, 100000);
            }
        }
    free(file.data);
}
END_TEST

START_TEST(names_that_block)
{
    static const char *const idle[] = {"read",
                                       "read@plt",
                                       "write@@GLIBC_2.2.5",
                                       "__GI___libc_read",
                                       "__read_nocancel",
                                       "sys_read",
                                       "__x64_sys_futex",
                                       "epoll_wait",
                                       "pthread_cond_timedwait",
                                       "pthread_cond_clockwait",
                                       "nanosleep",
                                       "usleep",
                                       "sleep",
                                       "select",
                                       "poll",
                                       "sem_wait",
                                       "recv",
                                       "accept",
                                       "wait4",
                                       "linux:schedule",
                                       "__lll_lock_wait"};
    static const char *const busy[] = {"main", "read_file", "my_read", "", "_", "@plt", "sleepy"};
    for (size_t i = 0; i < sizeof idle / sizeof idle[0]; i++)
        ck_assert_msg(ttape_is_idle_name(ttest_string(idle[i])), "%s", idle[i]);
    for (size_t i = 0; i < sizeof busy / sizeof busy[0]; i++)
        ck_assert_msg(!ttape_is_idle_name(ttest_string(busy[i])), "%s", busy[i]);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("report limits");
    TCase *tests = tcase_create("report");
    tcase_set_timeout(tests, 240);
    tcase_add_loop_test(tests, summaries_touch_no_payload, 0, 2);
    tcase_add_test(tests, percentiles_in_little_memory);
    tcase_add_test(tests, options_are_checked);
    tcase_add_test(tests, memory_can_run_out_anywhere);
    tcase_add_test(tests, names_that_block);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}

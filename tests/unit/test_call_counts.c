/* Counts of calls against the calls themselves, one by one: of each form of order, of partitions
 * that are decoded already and that are not, and of files with damage. */
#include <tracetape/calls.h>

#include "tests/unit/report_model.h"

#define CALLERS (TTEST_SITES + 2) /* sites, none, a handler */

struct pairs {
    uint64_t count[CALLERS][TTEST_SITES];
};

static uint32_t caller_index(uint32_t caller)
{
    if (caller == TTAPE_NONE)
        return TTEST_SITES;
    return caller == TTAPE_CALL_SIGNAL ? TTEST_SITES + 1 : caller;
}

static void add(struct pairs *p, uint32_t caller, uint32_t site, uint64_t count)
{
    ck_assert_uint_lt(caller_index(caller), CALLERS);
    ck_assert_uint_lt(site, TTEST_SITES);
    p->count[caller_index(caller)][site] += count;
}

static void walk_calls(ttape_reader *r, struct pairs *p)
{
    ttape_call_cursor *c;
    const ttape_call_step *step;
    ttape_error err = {0};
    memset(p, 0, sizeof *p);
    TTEST_OK(ttape_call_cursor_open(&c, r, NULL, &err));
    while (ttape_call_cursor_step(c, &step, &err) == TTAPE_OK)
        if (step->kind == TTAPE_STEP_EVENT && step->event->kind == TTAPE_EVENT_ENTER)
            add(p, step->began->caller, step->began->site, 1);
    ttape_call_cursor_close(c);
}

static ttape_status count_calls(ttape_reader *r, struct pairs *p, ttape_error *err)
{
    ttape_call_counts *counts;
    size_t rows;
    memset(p, 0, sizeof *p);
    ttape_status status = ttape_call_counts_make(&counts, r, err);
    if (status != TTAPE_OK) {
        ck_assert_ptr_null(counts);
        return status;
    }
    const ttape_call_count *row = ttape_call_counts_get(counts, &rows);
    for (size_t i = 0; i < rows; i++) {
        ck_assert_uint_ne(row[i].count, 0);
        ck_assert(i == 0 || row[i - 1].caller < row[i].caller ||
                  (row[i - 1].caller == row[i].caller && row[i - 1].site < row[i].site));
        add(p, row[i].caller, row[i].site, row[i].count);
    }
    ttape_call_counts_close(counts);
    return TTAPE_OK;
}

static void compare(const struct ttest_plan *plan)
{
    struct ttest_file file = ttest_write(plan);
    ttape_error err = {0};
    struct pairs walked, counted;
    ttape_reader *r = ttest_open(&file);
    TTEST_OK(count_calls(r, &counted, &err)); /* nothing is decoded */
    walk_calls(r, &walked);
    ck_assert_mem_eq(&walked, &counted, sizeof walked);
    TTEST_OK(count_calls(r, &counted, &err)); /* some partitions are */
    ck_assert_mem_eq(&walked, &counted, sizeof walked);
    walk_calls(r, &walked); /* and reading goes on */
    ck_assert_mem_eq(&walked, &counted, sizeof walked);
    ttape_reader_close(r);
    free(file.data);
}

START_TEST(as_many_as_there_are)
{
    struct ttest_plan plan = ttest_plans[_i];
    compare(&plan);
    plan.level = 1; /* its order is raw */
    compare(&plan);
}
END_TEST

/* Chains that recur, in each other and in each partition, with a model and without. */
START_TEST(what_recurs)
{
    static const struct ttest_plan plans[] = {
        {.streams = 1, .events = 60000, .partition_events = 20000, .plain = true},
        {.streams = 2, .events = 60000, .partition_events = 9000},
        {.streams = 3, .events = 60000, .partition_events = 3000, .model_period = 7}};
    compare(&plans[_i]);
}
END_TEST

/* Damage is found, or does no harm to the counts (times, values, and what is not read). */
START_TEST(damage)
{
    const struct ttest_plan plan = {.streams = 2, .events = 600, .partition_events = 150};
    struct ttest_file file = ttest_write(&plan);
    ttape_error err = {0};
    struct pairs sound, counted;
    ttape_reader *r = ttest_open(&file);
    TTEST_OK(count_calls(r, &sound, &err));
    ttape_reader_close(r);
    uint32_t refused = 0;
    for (size_t at = 0; at < file.size_bytes; at += 3) {
        file.data[at] ^= 0x10;
        ttape_source source = ttape_source_memory(file.data, file.size_bytes);
        if (ttape_reader_open(&r, &source, NULL, &err) == TTAPE_OK) {
            ttape_info info;
            ttape_reader_get_info(r, &info);
            ttape_status status = count_calls(r, &counted, &err);
            refused += status != TTAPE_OK;
            ck_assert(status != TTAPE_OK || info.event_count != 600 ||
                      memcmp(&sound, &counted, sizeof sound) == 0);
            ttape_reader_close(r);
        }
        file.data[at] ^= 0x10;
    }
    ck_assert_uint_gt(refused, 20);
    free(file.data);
}
END_TEST

START_TEST(misuse)
{
    ttape_error err = {0};
    ttape_call_counts *counts;
    size_t rows = 7;
    ck_assert_int_eq(ttape_call_counts_make(&counts, NULL, &err), TTAPE_E_ARGUMENT);
    ck_assert_ptr_null(counts);
    struct ttest_file file = ttest_write(&ttest_plans[0]);
    ttape_reader *r = ttest_open(&file);
    ck_assert_int_eq(ttape_call_counts_make(NULL, r, &err), TTAPE_E_ARGUMENT);
    ck_assert_ptr_null(ttape_call_counts_get(NULL, &rows));
    ck_assert_uint_eq(rows, 0);
    ttape_call_counts_close(NULL);
    ttape_reader_close(r);
    free(file.data);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("counts of calls");
    TCase *tests = tcase_create("counts");
    tcase_set_timeout(tests, 120);
    tcase_add_loop_test(tests, as_many_as_there_are, 0, TTEST_PLANS);
    tcase_add_loop_test(tests, what_recurs, 0, 3);
    tcase_add_test(tests, damage);
    tcase_add_test(tests, misuse);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}

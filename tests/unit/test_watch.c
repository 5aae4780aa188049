/* Every answer that takes long asks whether it is still wanted, tells how far it is, and ends there
 * when it is not; what was asked before changes nothing of the answer. */
#include <tracetape/diff.h>
#include <tracetape/last.h>
#include <tracetape/longest.h>
#include <tracetape/reach.h>
#include <tracetape/tiles.h>

#include "tests/unit/report_model.h"

struct watching {
    uint64_t asked, stops_at;
};

static bool count_up(void *context, uint64_t done, uint64_t all)
{
    struct watching *watching = context;
    ck_assert(all == 0 || done < all);
    return watching->asked++ != watching->stops_at;
}

static ttape_status report(ttape_reader *r, const ttape_watch *watch, ttape_error *err)
{
    const ttape_report_options how = {.size = sizeof how, .watch = watch};
    ttape_report *out;
    ttape_status status = ttape_report_make(&out, r, &how, err);
    ck_assert((out != NULL) == (status == TTAPE_OK));
    ttape_report_close(out);
    return status;
}

static ttape_status report_exactly(ttape_reader *r, const ttape_watch *watch, ttape_error *err)
{
    const ttape_report_options how = {
        .size = sizeof how, .watch = watch, .exact = true, .percentiles = true, .jobs = 3};
    ttape_report *out;
    ttape_status status = ttape_report_make(&out, r, &how, err);
    ttape_report_close(out);
    return status;
}

static ttape_status longest(ttape_reader *r, const ttape_watch *watch, ttape_error *err)
{
    const ttape_longest_options how = {.size = sizeof how, .watch = watch, .count = 50};
    ttape_longest *out;
    ttape_status status = ttape_longest_find(&out, r, &how, err);
    ttape_longest_close(out);
    return status;
}

static ttape_status last(ttape_reader *r, const ttape_watch *watch, ttape_error *err)
{
    const ttape_last_options how = {.size = sizeof how, .watch = watch};
    ttape_last *out;
    ttape_status status = ttape_last_find(&out, r, &how, err);
    ttape_last_close(out);
    return status;
}

static ttape_status reach(ttape_reader *r, const ttape_watch *watch, ttape_error *err)
{
    const ttape_reach_options how = {.size = sizeof how, .watch = watch};
    ttape_reach *out;
    ttape_status status = ttape_reach_find(&out, r, &how, err);
    ttape_reach_close(out);
    return status;
}

static ttape_status tile(ttape_reader *r, const ttape_watch *watch, ttape_error *err)
{
    const ttape_tile_options how = {
        .size = sizeof how, .watch = watch, .sources = TTAPE_TILE_FROM_EVENTS, .level = 55};
    ttape_tile *out;
    ttape_status status = ttape_tile_make(&out, r, &how, err);
    ttape_tile_close(out);
    return status;
}

static ttape_status diff(ttape_reader *r, const ttape_watch *watch, ttape_error *err)
{
    const ttape_diff_options how = {.size = sizeof how, .watch = watch};
    ttape_reader *const both[2] = {r, r};
    ttape_diff *out;
    ttape_status status = ttape_diff_make(&out, both, 2, &how, err);
    ttape_diff_close(out);
    return status;
}

typedef ttape_status (*answer)(ttape_reader *r, const ttape_watch *watch, ttape_error *err);
static const answer answers[] = {report, report_exactly, longest, last, reach, tile, diff};
#define ANSWERS (int)(sizeof answers / sizeof answers[0])

START_TEST(an_answer_ends_where_it_is_told)
{
    struct ttest_file file = ttest_write_with(&ttest_plans[2], false); /* of many partitions */
    struct watching watching = {.stops_at = UINT64_MAX};
    const ttape_watch watch = {count_up, &watching};
    ttape_error err = {0};
    ttape_reader *r = ttest_open(&file);
    TTEST_OK(answers[_i](r, &watch, &err));
    uint64_t asked = watching.asked;
    ttape_reader_close(r);
    ck_assert_uint_gt(asked, 0);
    for (uint64_t stop = 0; stop < asked; stop += 1 + asked / 40) {
        r = ttest_open(&file);
        watching = (struct watching){.stops_at = stop};
        ttape_status status = answers[_i](r, &watch, &err);
        if (answers[_i] != report_exactly || status != TTAPE_OK) { /* or other threads did it all */
            ck_assert_int_eq(status, TTAPE_E_STATE);
            ck_assert_int_eq(err.status, TTAPE_E_STATE);
            ck_assert_uint_eq(watching.asked, stop + 1);
        }
        watching = (struct watching){.stops_at = UINT64_MAX};
        TTEST_OK(answers[_i](r, &watch, &err)); /* the reader is as it was */
        ttape_reader_close(r);
    }
    free(file.data);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("watch");
    TCase *tests = tcase_create("watch");
    tcase_set_timeout(tests, 120);
    tcase_add_loop_test(tests, an_answer_ends_where_it_is_told, 0, ANSWERS);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* Of which calls the stack is taken: spec/recording.md, section 8. */
#include "recorder/arena/stack_sample.h"
#include "tests/asserts.h"

enum { CALLS = 40000 };

static const struct ttp_arena_head each_tenth = {.stack_every = 10},
                                   thousand = {.stack_rate = 1000, .stall_ticks = 1000000000};

/* Whether the call is taken, which begins at `now`. */
static bool take(struct ttp_stack_sample *sample, const struct ttp_arena_head *head, uint64_t seed,
                 uint64_t now)
{
    if (!ttp_stack_sample_is_due(sample, head, seed))
        return false;
    ttp_stack_sample_next(sample, head, now);
    return true;
}

START_TEST(one_in_each_group)
{
    uint32_t places[10] = {0};
    struct ttp_stack_sample sample = {0};
    for (uint32_t group = 0; group < CALLS / 10; group++) {
        uint32_t taken = 0;
        for (uint32_t i = 0; i < 10; i++) {
            bool is_taken = take(&sample, &each_tenth, 1, 0);
            taken += is_taken;
            places[i] += is_taken;
        }
        ck_assert_uint_eq(taken, 1);
    }
    for (uint32_t i = 0; i < 10; i++) /* 400 on average; a deviation is 19 */
        ck_assert(places[i] > 300 && places[i] < 500);
}
END_TEST

START_TEST(threads_differ)
{
    struct ttp_stack_sample first = {0}, second = {0};
    uint32_t both = 0;
    for (uint32_t i = 0; i < CALLS; i++) {
        bool one = take(&first, &each_tenth, 1, 0);
        both += take(&second, &each_tenth, 2, 0) && one;
    }
    ck_assert(both > 300 && both < 500);
}
END_TEST

START_TEST(all_of_few)
{
    struct ttp_stack_sample sample = {0};
    for (uint64_t i = 0; i < 1000; i++) /* 500 in a second */
        ck_assert(take(&sample, &thousand, 1, (i + 1) * 2000000));
}
END_TEST

/* 100,000 calls in a second; then at one time; then few again. */
START_TEST(as_many_as_the_rate)
{
    struct ttp_stack_sample sample = {0};
    uint64_t now = 0;
    uint32_t taken = 0, at_once = 0, late = 0;
    for (uint32_t i = 0; i < 10 * CALLS; i++)
        taken += take(&sample, &thousand, 1, now += 10000);
    ck_assert(taken > 3500 && taken < 4500);
    for (uint32_t i = 0; i < 100 * CALLS; i++)
        at_once += take(&sample, &thousand, 1, now);
    ck_assert(at_once > 3 && at_once < 30); /* doubled each time */
    for (uint32_t i = 0; i < 100 * CALLS && late < 5; i++)
        late += take(&sample, &thousand, 1, now += 2000000);
    ck_assert_uint_eq(late, 5);
}
END_TEST

/* A call after each pause, then a hundred others at once: a clock would take the first each time.
 */
START_TEST(pauses_are_not_preferred)
{
    struct ttp_stack_sample sample = {0};
    uint64_t now = 0;
    uint32_t first = 0, others = 0;
    for (uint32_t i = 0; i < CALLS; i++) {
        now += 10000000;
        first += take(&sample, &thousand, 1, now);
        for (uint32_t k = 0; k < 100; k++)
            others += take(&sample, &thousand, 1, ++now);
    }
    ck_assert(others > 20 * first);
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("stack sample");
    tcase_add_test(tests, one_in_each_group);
    tcase_add_test(tests, threads_differ);
    tcase_add_test(tests, all_of_few);
    tcase_add_test(tests, as_many_as_the_rate);
    tcase_add_test(tests, pauses_are_not_preferred);
    Suite *suite = suite_create("stack sample");
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}

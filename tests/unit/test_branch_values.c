/* Branch values' arithmetic: a worked example of three branches, by XOR, by addition, by primes and
 * by counters; and what overflows. */
#include "tests/asserts.h"

#include <tracetape/branch.h>

#define FIRST  UINT64_C(0x40052B)
#define SECOND UINT64_C(0x400548)
#define LOOP   UINT64_C(0x400570)

/* What the example's function takes: two conditions, then a loop. */
struct run {
    int first, second, loops;
    uint64_t by_xor, by_add, by_primes;
};

static const struct run runs[] = {
    {0, 0, 0, 0, 0, 1},
    {0, 0, 1, 0x400570, 0x400570, 5},
    {0, 0, 2, 0, 0x800AE0, 25},
    {0, 0, 3, 0x400570, 0xC01050, 125},
    {0, 1, 0, 0x400548, 0x400548, 3},
    {0, 1, 1, 0x38, 0x800AB8, 15},
    {0, 1, 2, 0x400548, 0xC01028, 75},
    {0, 1, 3, 0x38, 0x1001598, 375},
    {1, 0, 0, 0x40052B, 0x40052B, 2},
    {1, 0, 1, 0x5B, 0x800A9B, 10},
    {1, 0, 2, 0x40052B, 0xC0100B, 50},
    {1, 0, 3, 0x5B, 0x100157B, 250},
    {1, 1, 0, 0x63, 0x800A73, 6},
    {1, 1, 1, 0x400513, 0xC00FE3, 30},
    {1, 1, 2, 0x63, 0x1001553, 150},
    {1, 1, 3, 0x400513, 0x1401AC3, 750},
};
#define COUNT (sizeof(runs) / sizeof(runs[0]))

static ttape_branch follow(ttape_branch_operation operation, const struct run *run,
                           const uint64_t ids[3])
{
    ttape_branch branch = ttape_branch_first(operation);
    if (run->first)
        ttape_branch_take(operation, &branch, ids[0]);
    if (run->second)
        ttape_branch_take(operation, &branch, ids[1]);
    for (int i = 0; i < run->loops; i++)
        ttape_branch_take(operation, &branch, ids[2]);
    return branch;
}

START_TEST(worked_example)
{
    static const uint64_t ids[3] = {FIRST, SECOND, LOOP}, primes[3] = {2, 3, 5},
                          numbers[3] = {0, 1, 2};
    for (size_t i = 0; i < COUNT; i++) {
        ttape_branch counts = follow(TTAPE_BRANCH_COUNTS, &runs[i], numbers);
        ttape_branch sum = follow(TTAPE_BRANCH_ADD, &runs[i], ids);
        ck_assert_uint_eq(follow(TTAPE_BRANCH_XOR, &runs[i], ids).value, runs[i].by_xor);
        ck_assert_uint_eq(sum.value, runs[i].by_add);
        ck_assert_uint_eq(follow(TTAPE_BRANCH_PRIMES, &runs[i], primes).value, runs[i].by_primes);
        ck_assert_uint_eq(sum.blocks, (unsigned)(runs[i].first + runs[i].second + runs[i].loops));
        ck_assert_int_eq(counts.counts[0], runs[i].first);
        ck_assert_int_eq(counts.counts[1], runs[i].second);
        ck_assert_int_eq(counts.counts[2], runs[i].loops);
        for (size_t j = 0; j < i; j++)
            ck_assert_uint_ne(follow(TTAPE_BRANCH_AFFINE, &runs[i], ids).value,
                              follow(TTAPE_BRANCH_AFFINE, &runs[j], ids).value);
    }
}
END_TEST

/* Both conditions hold, the loop is entered three times. */
START_TEST(run_of_the_example)
{
    static const uint64_t taken[] = {FIRST, SECOND, LOOP, LOOP, LOOP};
    static const uint64_t values[] = {0x40052B, 0x63, 0x400513, 0x63, 0x400513};
    ttape_branch branch = ttape_branch_first(TTAPE_BRANCH_XOR);
    ck_assert_uint_eq(branch.value, 0);
    for (size_t i = 0; i < 5; i++) {
        ttape_branch_take(TTAPE_BRANCH_XOR, &branch, taken[i]);
        ck_assert_uint_eq(branch.value, values[i]);
    }
}
END_TEST

/* Nine blocks of the prime 251 are too many: the product before stays. */
START_TEST(overflows)
{
    ttape_branch product = ttape_branch_first(TTAPE_BRANCH_PRIMES);
    ttape_branch sum = ttape_branch_first(TTAPE_BRANCH_ADD);
    for (int i = 0; i < 8; i++)
        ttape_branch_take(TTAPE_BRANCH_PRIMES, &product, 251);
    ck_assert_uint_eq(product.flags, 0);
    ttape_branch_take(TTAPE_BRANCH_PRIMES, &product, 251);
    ttape_branch_take(TTAPE_BRANCH_PRIMES, &product, 2);
    ck_assert_uint_eq(product.flags, TTAPE_BRANCH_OVERFLOW);
    ck_assert_uint_eq(product.blocks, 8);
    ck_assert_uint_eq(product.value, UINT64_C(0xDAA150410B788DE1));
    ttape_branch_take(TTAPE_BRANCH_ADD, &sum, UINT64_MAX);
    ck_assert_uint_eq(sum.flags, 0);
    ttape_branch_take(TTAPE_BRANCH_ADD, &sum, 2);
    ck_assert_uint_eq(sum.flags, TTAPE_BRANCH_OVERFLOW);
    ck_assert_uint_eq(sum.value, 1);
}
END_TEST

START_TEST(counters_stop)
{
    ttape_branch branch = ttape_branch_first(TTAPE_BRANCH_COUNTS);
    for (int i = 0; i < 300; i++)
        ttape_branch_take(TTAPE_BRANCH_COUNTS, &branch, 31);
    ck_assert_int_eq(branch.counts[31], 255);
    ck_assert_uint_eq(branch.blocks, 300);
    ttape_branch_take(TTAPE_BRANCH_COUNTS, &branch, TTAPE_BRANCH_COUNTERS);
    ck_assert_uint_eq(branch.flags, TTAPE_BRANCH_PARTIAL);
    ck_assert_uint_eq(branch.blocks, 300);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("branch values");
    TCase *test_case = tcase_create("arithmetic");
    tcase_add_test(test_case, worked_example);
    tcase_add_test(test_case, run_of_the_example);
    tcase_add_test(test_case, overflows);
    tcase_add_test(test_case, counters_stop);
    suite_add_tcase(suite, test_case);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}

/* Numbers of 128 bits in halves: what 32-bit machines compute is what the compiler's own type does,
 * where it has one. */
#include "format/base/wide.h"
#include "tests/asserts.h"

static const uint64_t numbers[] = {0,
                                   1,
                                   2,
                                   0x7fffffff,
                                   0x80000000,
                                   0xffffffff,
                                   0x100000000,
                                   0x1ffffffff,
                                   0xfffffffe00000001,
                                   0x7fffffffffffffff,
                                   0x8000000000000000,
                                   0xffffffff00000000,
                                   0xfffffffffffffffe,
                                   0xffffffffffffffff};
enum { COUNT = sizeof numbers / sizeof numbers[0] };

static void same(ttape_wide a, uint64_t high, uint64_t low)
{
    ck_assert_uint_eq(a.high, high);
    ck_assert_uint_eq(a.low, low);
}

START_TEST(products_that_are_known)
{
    uint64_t most = UINT64_MAX;
    same(ttp_wide_multiply_digits(most, most), most - 1, 1);
    same(ttp_wide_multiply(most, most), most - 1, 1);
    same(ttp_wide_multiply_digits(0xffffffff, 0x100000001), 0, most);
    same(ttp_wide_multiply_digits(0x123456789abcdef0, 0xfedcba9876543210), 0x121fa00ad77d7422,
         0x236d88fe5618cf00);
    same(ttp_wide_square(INT64_MIN), UINT64_C(1) << 62, 0);
    same(ttp_wide_square(-3), 0, 9);
}
END_TEST

START_TEST(sums_carry)
{
    ttape_wide one = {1, 0}, low = {UINT64_MAX, 0}, all = {UINT64_MAX, UINT64_MAX};
    same(ttp_wide_add(low, one), 1, 0);
    same(ttp_wide_add(one, low), 1, 0);
    same(ttp_wide_add(low, low), 1, UINT64_MAX - 1);
    same(ttp_wide_add(all, one), 0, 0);
    same(ttp_wide_scale(all, UINT64_MAX), UINT64_MAX, 1);
    same(ttp_wide_scale((ttape_wide){UINT64_MAX, 5}, 3), 17, UINT64_MAX - 2);
}
END_TEST

/* (a + 1) b = a b + b and a b = b a, for all pairs. */
START_TEST(digits_are_as_the_type)
{
    for (unsigned i = 0; i < COUNT; i++)
        for (unsigned k = 0; k < COUNT; k++) {
            uint64_t a = numbers[i], b = numbers[k];
            ttape_wide product = ttp_wide_multiply_digits(a, b);
            ttape_wide whole = ttp_wide_multiply(a, b), other = ttp_wide_multiply_digits(b, a);
            same(product, whole.high, whole.low);
            same(product, other.high, other.low);
            if (a == UINT64_MAX)
                continue;
            ttape_wide next = ttp_wide_add(product, (ttape_wide){b, 0});
            same(ttp_wide_multiply_digits(a + 1, b), next.high, next.low);
        }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("wide");
    TCase *tests = tcase_create("tests");
    tcase_add_test(tests, products_that_are_known);
    tcase_add_test(tests, sums_carry);
    tcase_add_test(tests, digits_are_as_the_type);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}

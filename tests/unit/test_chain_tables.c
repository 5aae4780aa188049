/* The tables of the order coder are part of the format: every entry is what its comment says. */
#include <math.h>

#include "format/chain/chain_model.h"
#include "tests/asserts.h"

START_TEST(stretch)
{
    ck_assert_uint_eq(TTP_CHAIN_STRETCH_COUNT, 192);
    for (int i = 0; i < (int)TTP_CHAIN_STRETCH_COUNT; i++) {
        double q = i < 16 ? i + 0.5 : (16 + i % 16 + 0.5) * (1 << (i / 16 - 1));
        ck_assert_msg(ttp_chain_stretch_table[i] == (int)lround(256 * log((65536 - q) / q)),
                      "entry %d is %d", i, ttp_chain_stretch_table[i]);
    }
}
END_TEST

START_TEST(squash)
{
    ck_assert_uint_eq(TTP_CHAIN_SQUASH_COUNT, 65);
    for (int i = 0; i < (int)TTP_CHAIN_SQUASH_COUNT; i++) {
        double x = -2048 + 64 * i;
        ck_assert_msg(ttp_chain_squash_table[i] == (int)lround(65536 / (1 + exp(-x / 256))),
                      "entry %d is %d", i, ttp_chain_squash_table[i]);
    }
}
END_TEST

/* Chains that a partition may have: a fortieth of its events and 1,024, no more than events. */
START_TEST(limits)
{
    ck_assert_uint_eq(ttp_chain_limit(0), 0);
    ck_assert_uint_eq(ttp_chain_limit(1000), 1000);
    ck_assert_uint_eq(ttp_chain_limit(4000), 1124);
    ck_assert_uint_eq(ttp_chain_limit(1u << 20), (1u << 20) / 40 + 1024);
    ck_assert_uint_eq(ttp_chain_limit(1u << 24), (1u << 24) / 40 + 1024);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("chain_tables");
    TCase *tests = tcase_create("tests");
    tcase_add_test(tests, stretch);
    tcase_add_test(tests, squash);
    tcase_add_test(tests, limits);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}

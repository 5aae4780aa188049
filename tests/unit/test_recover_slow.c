/* Recovery after every single flipped bit, and after much random damage: the long form. */
#define _GNU_SOURCE /* memmem */
#include "recover_fixture.h"

START_TEST(every_bit_flip) { flip_bits(1); }
END_TEST

START_TEST(random_damage)
{
    uint64_t seed = (uint64_t)_i + 100;
    uint8_t *copy = malloc(file.size_bytes);
    for (size_t k = 0; k < 1000; k++) {
        struct outcome o;
        uint32_t size = (uint32_t)file.size_bytes;
        memcpy(copy, file.data, file.size_bytes);
        for (uint32_t i = 0; i < 1 + size / 100; i++)
            copy[ttest_random(&seed, size)] = (uint8_t)ttest_random(&seed, 256);
        if (k % 2 == 0)
            memset(copy + ttest_random(&seed, size - 64), 0, 64);
        try_one(copy, file.size_bytes, "damage", k, &o);
        release(&o);
    }
    free(copy);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("recover_slow");
    TCase *tests = tcase_create("traces");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, 3000);
    tcase_add_test(tests, every_bit_flip);
    tcase_add_loop_test(tests, random_damage, 0, 4);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}

/* Fractions as text: what the C library's printf and strtod make of them. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/asserts.h"
#include "tests/unit/every.h"
#include "tools/command/output.h"

static void write_wanted(char *text, size_t size_bytes, uint64_t bits)
{
    double number;
    memcpy(&number, &bits, sizeof number);
    if (isnan(number)) {
        (void)snprintf(text, size_bytes, "nan");
        return;
    }
    for (int digits = 6; digits <= 17; digits += 11) {
        (void)snprintf(text, size_bytes, "%.*g", digits, number);
        double back = strtod(text, NULL);
        if (memcmp(&back, &number, sizeof number) == 0)
            return;
    }
}

static void check(uint64_t bits)
{
    char text[40], wanted[40];
    *tool_put_float(text, bits) = '\0';
    write_wanted(wanted, sizeof wanted, bits);
    ck_assert_msg(strcmp(text, wanted) == 0, "%016llx: %s, not %s", (unsigned long long)bits, text,
                  wanted);
}

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static void check_number(double number)
{
    uint64_t bits;
    memcpy(&bits, &number, sizeof bits);
    check(bits);
    check(bits + 1);
    check(bits - 1);
}

/* Powers of two, and what is next to them. */
START_TEST(test_float_text_of_powers)
{
    const uint64_t all = (UINT64_C(1) << 52) - 1;
    for (uint64_t exponent = 0; exponent < 2048; exponent++)
        for (uint64_t sign = 0; sign < 2; sign++) {
            uint64_t bits = sign << 63 | exponent << 52;
            check(bits);
            check(bits + 1);
            check(bits | all);
        }
}
END_TEST

START_TEST(test_float_text_of_numbers)
{
    uint64_t state = 88172645463325252u;
    char text[40];
    for (uint32_t i = 0; i < 8000; i += ttest_every(7)) {
        check(next_random(&state));
        check_number(ldexp((double)(next_random(&state) >> 10), -(int)(next_random(&state) % 24)));
        (void)snprintf(text, sizeof text, "%u.%ue%d", (unsigned)(next_random(&state) % 1000000),
                       (unsigned)(next_random(&state) % 10),
                       (int)(next_random(&state) % 640) - 330);
        check_number(strtod(text, NULL));
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("float text");
    TCase *all = tcase_create("all");
    tcase_add_test(all, test_float_text_of_powers);
    tcase_add_test(all, test_float_text_of_numbers);
    suite_add_tcase(suite, all);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

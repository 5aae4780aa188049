/* Context values' arithmetic: a worked example of six functions with ids of 32 bits by XOR and by
 * addition, and that each operation is undone exactly. */
#include "tests/asserts.h"

#include <tracetape/context.h>

#define MAIN UINT64_C(0xFFFF1234)
#define F1   UINT64_C(0xFFFF5678)
#define F2   UINT64_C(0xFFFF9ABC)
#define A    UINT64_C(0xFFFFABCD)
#define B    UINT64_C(0xFFFFEFAB)
#define C    UINT64_C(0xFFFFCDEF)
#define D    UINT64_C(0x0000FDB5)

struct stack {
    uint64_t ids[4]; /* outermost first; 0 ends it */
    uint64_t by_xor, by_add;
};

static const struct stack stacks[] = {
    {{MAIN}, 0xFFFF1234, 0xFFFF1234},        {{MAIN, F1}, 0x0000444C, 0x1FFFE68AC},
    {{MAIN, A}, 0x0000B9F9, 0x1FFFEBE01},    {{MAIN, A, F2}, 0xFFFF2345, 0x2FFFE58BD},
    {{MAIN, A, B}, 0xFFFF5652, 0x2FFFEADAC}, {{MAIN, A, B, C}, 0x00009BBD, 0x3FFFE7B9B},
    {{MAIN, A, D}, 0x0000444C, 0x1FFFFBBB6}, /* by XOR as main, F1; by addition not */
};
#define COUNT (sizeof(stacks) / sizeof(stacks[0]))

static uint64_t value_of(ttape_context_operation operation, const struct stack *stack)
{
    uint64_t value = ttape_context_first(operation);
    for (size_t i = 0; i < 4 && stack->ids[i] != 0; i++)
        value = ttape_context_enter(operation, value, stack->ids[i]);
    return value;
}

START_TEST(worked_example)
{
    for (size_t i = 0; i < COUNT; i++) {
        ck_assert_uint_eq(value_of(TTAPE_CONTEXT_XOR, &stacks[i]), stacks[i].by_xor);
        ck_assert_uint_eq(value_of(TTAPE_CONTEXT_ADD, &stacks[i]), stacks[i].by_add);
        for (size_t j = 0; j < i; j++)
            ck_assert_uint_ne(value_of(TTAPE_CONTEXT_AFFINE, &stacks[i]),
                              value_of(TTAPE_CONTEXT_AFFINE, &stacks[j]));
    }
}
END_TEST

/* The example's run: F1 is called and returns, then A, F2 and back, then B and C. */
START_TEST(run_of_the_example)
{
    uint64_t v = ttape_context_enter(TTAPE_CONTEXT_XOR, 0, MAIN);
    v = ttape_context_enter(TTAPE_CONTEXT_XOR, v, F1);
    ck_assert_uint_eq(v, 0x0000444C);
    v = ttape_context_leave(TTAPE_CONTEXT_XOR, v, F1);
    ck_assert_uint_eq(v, 0xFFFF1234);
    v = ttape_context_enter(TTAPE_CONTEXT_XOR, v, A);
    v = ttape_context_enter(TTAPE_CONTEXT_XOR, v, F2);
    ck_assert_uint_eq(v, 0xFFFF2345);
    v = ttape_context_leave(TTAPE_CONTEXT_XOR, v, F2);
    v = ttape_context_enter(TTAPE_CONTEXT_XOR, v, B);
    ck_assert_uint_eq(v, 0xFFFF5652);
    v = ttape_context_enter(TTAPE_CONTEXT_XOR, v, C);
    ck_assert_uint_eq(v, 0x00009BBD);
}
END_TEST

/* Even ids, too, which multiplication makes odd. */
START_TEST(undone)
{
    static const uint64_t ids[] = {0, 1, 2, MAIN, D, UINT64_C(1) << 63, UINT64_MAX};
    for (int operation = TTAPE_CONTEXT_AFFINE; operation <= TTAPE_CONTEXT_MULTIPLY; operation++) {
        uint64_t value = ttape_context_first((ttape_context_operation)operation);
        for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
            uint64_t next = ttape_context_enter((ttape_context_operation)operation, value, ids[i]);
            ck_assert_uint_eq(ttape_context_leave((ttape_context_operation)operation, next, ids[i]),
                              value);
            value = next;
        }
    }
    ck_assert_uint_eq(TTAPE_CONTEXT_FACTOR * TTAPE_CONTEXT_INVERSE, 1);
}
END_TEST

/* By XOR an even number of calls is as none, an odd one as one. */
START_TEST(recursion)
{
    uint64_t around = ttape_context_enter(TTAPE_CONTEXT_XOR, 0, MAIN), value = around;
    for (int depth = 1; depth < 6; depth++) {
        value = ttape_context_enter(TTAPE_CONTEXT_XOR, value, A);
        ck_assert_uint_eq(value, depth % 2 == 0 ? around : (MAIN ^ A));
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("context values");
    TCase *test_case = tcase_create("arithmetic");
    tcase_add_test(test_case, worked_example);
    tcase_add_test(test_case, run_of_the_example);
    tcase_add_test(test_case, undone);
    tcase_add_test(test_case, recursion);
    suite_add_tcase(suite, test_case);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}

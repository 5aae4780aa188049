/* Sums of rollups (R-SUM-01 to R-SUM-05): at the ends of what fits, and one past them. */
#include <stdlib.h>
#include <string.h>

#include "format/rollup/rollup_sums.h"
#include "tests/asserts.h"

#define TOP (UINT64_C(1) << 63)

static struct ttp_rollup_sums one_of(unsigned field, uint64_t low, uint64_t high, uint64_t top)
{
    struct ttp_rollup_sums sums = {0};
    ttp_rollup_set(&sums, field, (struct ttp_rollup_number){{low, high, top}});
    return sums;
}

static bool adds(unsigned field, struct ttp_rollup_number a, struct ttp_rollup_number b,
                 struct ttp_rollup_number *sum)
{
    struct ttp_rollup_sums to = one_of(field, a.words[0], a.words[1], a.words[2]);
    struct ttp_rollup_sums from = one_of(field, b.words[0], b.words[1], b.words[2]);
    bool fits = ttp_rollup_add_sums(&to, ttp_rollup_row_kinds, &from);
    *sum = to.fields[field];
    return fits;
}

START_TEST(sums_end_where_they_say)
{
    const struct {
        unsigned field;
        struct ttp_rollup_number a, b;
        bool fits;
    } cases[] = {
        {TTP_ROLLUP_CALLS, {{UINT64_MAX - 1, 0, 0}}, {{1, 0, 0}}, true},
        {TTP_ROLLUP_CALLS, {{UINT64_MAX, 0, 0}}, {{1, 0, 0}}, false},
        {TTP_ROLLUP_SELF, {{UINT64_MAX, TOP - 1, 0}}, {{0, 0, 0}}, true},
        {TTP_ROLLUP_SELF, {{UINT64_MAX, TOP - 1, 0}}, {{1, 0, 0}}, false},
        {TTP_ROLLUP_SELF, {{0, TOP, UINT64_MAX}}, {{UINT64_MAX, UINT64_MAX, UINT64_MAX}}, false},
        {TTP_ROLLUP_SELF, {{1, TOP, UINT64_MAX}}, {{UINT64_MAX, UINT64_MAX, UINT64_MAX}}, true},
        {TTP_ROLLUP_SQUARES, {{UINT64_MAX, UINT64_MAX, UINT64_MAX - 1}}, {{1, 0, 0}}, true},
        {TTP_ROLLUP_SQUARES, {{UINT64_MAX, UINT64_MAX, UINT64_MAX}}, {{1, 0, 0}}, false},
    };
    struct ttp_rollup_number sum;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        ck_assert_msg(adds(cases[i].field, cases[i].a, cases[i].b, &sum) == cases[i].fits,
                      "case %zu", i);
    ck_assert(adds(TTP_ROLLUP_SELF, (struct ttp_rollup_number){{UINT64_MAX, 0, 0}},
                   (struct ttp_rollup_number){{1, 0, 0}}, &sum));
    ck_assert_uint_eq(sum.words[0], 0);
    ck_assert_uint_eq(sum.words[1], 1);
}
END_TEST

/* A row without exits has no extremes: they are no zeros. */
START_TEST(extremes_are_of_exits)
{
    struct ttp_rollup_sums none = one_of(TTP_ROLLUP_CALLS, 1, 0, 0);
    struct ttp_rollup_sums some = one_of(TTP_ROLLUP_EXITS, 2, 0, 0);
    ttp_rollup_set(&some, TTP_ROLLUP_MIN, ttp_rollup_signed(5));
    ttp_rollup_set(&some, TTP_ROLLUP_MAX, ttp_rollup_signed(9));
    ck_assert(ttp_rollup_add_sums(&none, ttp_rollup_row_kinds, &some));
    ck_assert_uint_eq(ttp_rollup_get_count(&none, TTP_ROLLUP_MIN), 5);
    ttp_rollup_set(&some, TTP_ROLLUP_MIN, ttp_rollup_signed(-3));
    ttp_rollup_set(&some, TTP_ROLLUP_MAX, ttp_rollup_signed(7));
    ck_assert(ttp_rollup_add_sums(&none, ttp_rollup_row_kinds, &some));
    struct ttp_rollup_number least = ttp_rollup_get(&none, TTP_ROLLUP_MIN);
    ck_assert_int_eq(ttp_rollup_narrow(&least), -3);
    ck_assert_uint_eq(ttp_rollup_get_count(&none, TTP_ROLLUP_MAX), 9);
}
END_TEST

static uint64_t draw(uint64_t *seed)
{
    *seed = *seed * UINT64_C(6364136223846793005) + 1442695040888963407;
    return *seed >> 8 ^ *seed << 24;
}

/* A number of any size that the kind has. */
static struct ttp_rollup_number draw_number(unsigned kind, uint64_t *seed)
{
    unsigned shift = (unsigned)(draw(seed) % 64), words = (unsigned)(draw(seed) % 3);
    uint64_t w[3] = {draw(seed) >> shift | 1, draw(seed) >> shift, draw(seed) >> shift};
    switch (kind) {
    case TTP_ROLLUP_TIME: {
        uint64_t high = words > 0 ? w[1] : (draw(seed) & 1) - 1;
        return (struct ttp_rollup_number){{w[0], high, (int64_t)high < 0 ? UINT64_MAX : 0}};
    }
    case TTP_ROLLUP_SQUARE:
        return (struct ttp_rollup_number){{w[0], words > 0 ? w[1] : 0, words > 1 ? w[2] : 0}};
    case TTP_ROLLUP_LEAST:
    case TTP_ROLLUP_GREATEST: return ttp_rollup_signed((int64_t)draw(seed) >> shift);
    default: return ttp_rollup_count(w[0]);
    }
}

START_TEST(bytes_say_the_same_again)
{
    uint64_t seed = 7;
    for (int turn = 0; turn < 4000; turn++) {
        struct ttp_rollup_sums sums = {0};
        struct ttp_rollup_number numbers[TTP_ROLLUP_FIELDS];
        uint8_t bytes[TTP_ROLLUP_SUMS_BYTES_MAX], again[TTP_ROLLUP_SUMS_BYTES_MAX];
        for (unsigned i = 0; i < TTP_ROLLUP_FIELDS; i++)
            if (draw(&seed) % 3 == 0)
                ttp_rollup_set(&sums, i, draw_number(ttp_rollup_row_kinds[i], &seed));
        bool has_exits = sums.mask >> TTP_ROLLUP_EXITS & 1;
        for (unsigned i = TTP_ROLLUP_MIN; i <= TTP_ROLLUP_MAX; i++)
            if (has_exits)
                ttp_rollup_set(&sums, i, draw_number(ttp_rollup_row_kinds[i], &seed));
            else
                sums.mask &= ~(UINT64_C(1) << i);
        struct ttp_writer_cursor to = ttp_writer_cursor_init(bytes, sizeof bytes);
        ttp_rollup_write_sums(&to, &sums, ttp_rollup_row_kinds);
        ck_assert(!to.full);
        struct ttp_reader_cursor from = ttp_reader_cursor_init(bytes, ttp_written(&to));
        uint64_t mask = ttp_rollup_read_numbers(&from, numbers, ttp_rollup_row_kinds);
        ck_assert(!from.bad && ttp_reader_left(&from) == 0 && mask == sums.mask);
        struct ttp_rollup_sums read = {0};
        ck_assert(ttp_rollup_add_numbers(&read, ttp_rollup_row_kinds, mask, numbers));
        struct ttp_writer_cursor twice = ttp_writer_cursor_init(again, sizeof again);
        ttp_rollup_write_sums(&twice, &read, ttp_rollup_row_kinds);
        ck_assert(ttp_written(&twice) == ttp_written(&to));
        ck_assert(memcmp(bytes, again, ttp_written(&to)) == 0);
        for (size_t cut = 0; cut < ttp_written(&to); cut++) { /* never past the end */
            uint8_t *part = malloc(cut + 1);
            memcpy(part, bytes, cut);
            from = ttp_reader_cursor_init(part, cut);
            (void)ttp_rollup_read_numbers(&from, numbers, ttp_rollup_row_kinds);
            ck_assert(from.bad);
            free(part);
        }
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("rollup_sums");
    TCase *tests = tcase_create("sums");
    tcase_add_test(tests, sums_end_where_they_say);
    tcase_add_test(tests, extremes_are_of_exits);
    tcase_add_test(tests, bytes_say_the_same_again);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}

/* Cells that are too long for their column: what a name of many scopes ends with is seen. */
#include <stdlib.h>
#include <string.h>

#include "tests/asserts.h"
#include "tools/calls/callers/caller_names.h"
#include "tools/command/output.h"
#include "tools/io/table.h"

/* One column of 30, and one behind it. */
static void shows_more(struct tool_column first, const char *text, size_t more, const char *wanted)
{
    const struct tool_column columns[] = {first, {.title = "N", .is_text = true}};
    struct tool_table table;
    struct tool_output out;
    char line[64] = "";
    tool_output_open(&out, -1);
    tool_table_open(&table, columns, 2);
    tool_table_callers(&table, TOOL_PLAIN, text, strlen(text), more);
    tool_table_text(&table, TOOL_PLAIN, "x");
    tool_table_print(&table, &out, 33, false);
    const char *row = memchr(out.data, '\n', out.size_bytes);
    ck_assert_ptr_nonnull(row);
    size_t size = out.size_bytes - (size_t)(row + 1 - (const char *)out.data);
    ck_assert_uint_lt(size, sizeof line);
    memcpy(line, row + 1, size);
    line[strcspn(line, "\n")] = '\0';
    ck_assert_str_eq(line, wanted);
    tool_table_close(&table);
    free(out.data);
}

static const struct tool_column function = {
    .title = "FUNCTION", .is_text = true, .gives_way = true};

static void shows(const char *text, const char *wanted) { shows_more(function, text, 0, wanted); }

START_TEST(what_fits_is_whole)
{
    shows("short", "short     x");
    shows("std::vector::push_back", "std::vector::push_back  x");
}
END_TEST

/* Names come from files. What was escaped before stays as it is. */
START_TEST(no_byte_acts_on_a_terminal)
{
    shows("a\x1b[31m\nb\xff \xc3\xa9", "a\\x1b[31m\\x0ab\\xff \xc3\xa9  x");
    shows("a\\x1b[31m", "a\\x1b[31m  x");
}
END_TEST

START_TEST(a_name_keeps_its_end)
{
    shows("std::__detail::_Map_base<...>::at", "..._Map_base<...>::at           x");
    shows("a_long_space::within::another_one::of_four::last_name",
          "...of_four::last_name           x");
    shows("space::a_function_whose_name_does_not_fit", "...a_function_whose_name_do...  x");
    shows("libsomething-of-many-words.so.0+0xfc7f0", "...-of-many-words.so.0+0xfc7f0  x");
    shows("libsomething-of-many-words.so.0+0xfc7f0 < of_main", "...any-words.so.0+0xfc7f0 <...  x");
    shows("libsomething-of-many-words.so.0+0xfc7f0 < f", "...any-words.so.0+0xfc7f0 < f   x");
    shows("std::vector<a::b, c::d, e::f>::at", "...at                           x");
}
END_TEST

/* What stands behind it is cut before its scopes are. */
START_TEST(a_name_keeps_its_beginning_too)
{
    shows("Parser::Load(this=0x7fff9049f330, name=\"x\")", "Parser::Load(this=0x7fff904...  x");
    shows("Manifest::ParseEdge x 116, not in a row", "Manifest::ParseEdge x 116, ...  x");
    shows("(anonymous namespace)::main(int, char**)", "(anonymous namespace)::main...  x");
    shows("a::fill [clone .constprop.0.isra.1]", "a::fill [clone .constprop.0...  x");
    shows("of::a::long::space::Sort::operator()(int)", "...space::Sort::operator()(...  x");
    shows("space::of_a::long_name::method(int, char)", "...of_a::long_name::method(...  x");
}
END_TEST

/* SELF and what of it is OFF CPU stay where a name is cut for them. */
START_TEST(a_tight_table_keeps_its_first_ranks)
{
    const struct tool_column columns[] = {
        {.title = "SELF"},
        {.title = "OFF CPU", .rank = 1},
        {.title = "MEAN", .rank = 3},
        {.title = "FUNCTION", .is_text = true, .gives_way = true}};
    struct tool_table table;
    struct tool_output out;
    tool_output_open(&out, -1);
    tool_table_open(&table, columns, 4);
    table.least = 22;
    table.least_tight = 18;
    for (int i = 0; i < 3; i++)
        tool_table_text(&table, TOOL_PLAIN, "1.234 ms");
    tool_table_text(&table, TOOL_PLAIN, "pthread_mutex_unlock_and_more");
    tool_table_print(&table, &out, 38, false);
    tool_output_bytes(&out, "", 1);
    ck_assert_str_eq(out.data, "    SELF   OFF CPU  FUNCTION\n"
                               "1.234 ms  1.234 ms  pthread_mutex_u...\n");
    tool_table_close(&table);
    free(out.data);
}
END_TEST

START_TEST(a_name_in_a_tree_keeps_its_place)
{
    shows("    std::__detail::_Map_base<...>::at", "    ..._Map_base<...>::at       x");
}
END_TEST

START_TEST(others_keep_their_beginning)
{
    shows("  [shorter: a::b::c x 9, c::d::e x 5]", "  [shorter: a::b::c x 9, c:...  x");
    shows("a_function_whose_name_does_not_fit", "a_function_whose_name_does_...  x");
}
END_TEST

/* Whole names, and how many there are behind them. */
START_TEST(callers_are_counted)
{
    shows("one::function < of::another < of::a::third", "one::function and 2 more        x");
    shows("(3 as above) < six < e < f < g < h", "(3 as above) < six and 4 more   x");
    shows("(3 as above) < seventeen < of < f", "(3 as above) < seventeen < ...  x");
    shows("a < b < c < d < e < f < g < h < i < j < k", "a < b < c < d < e and 6 more    x");
    shows_more(function, "a < b x 9 < c < d < of_all < main_", 94,
               "a < b x 9 < c < d and 96 more   x");
    shows_more(function, "a < b < c", 7, "a < b < c and 7 more  x");
    shows("a_function_of_twenty < another < main", "a_function_of_twenty < anot...  x");
    shows_more(function, "a_function_of_twenty", 12345, "a_function_of_twenty and 12...  x");
    /* names that say so themselves */
    shows("a < b < of_some < this and 9 more", "a < b < of_some and 1 more      x");
    shows_more(function, "a < b < of_some < its and 9 more", 5,
               "a < b < of_some and 6 more      x");
    shows("one operand < another operand of it", "one operand and 1 more          x");
}
END_TEST

START_TEST(a_narrow_column_has_a_part_of_the_second_name)
{
    const struct tool_column columns[] = {{.title = "N", .is_text = true, .gives_way = true}};
    static const char *const wanted[][2] = {{"open < read_settings < main", "open < read_s..."},
                                            {"a < b < c < d < e < f", "a < b and 4 more"}};
    for (size_t i = 0; i < 2; i++) {
        struct tool_table table;
        struct tool_output out;
        tool_output_open(&out, -1);
        tool_table_open(&table, columns, 1);
        tool_table_text(&table, TOOL_PLAIN, wanted[i][0]);
        tool_table_print(&table, &out, 16, false);
        tool_output_bytes(&out, "", 1);
        const char *line = strchr(out.data, '\n') + 1;
        ck_assert_uint_eq(strcspn(line, "\n"), strlen(wanted[i][1]));
        ck_assert(memcmp(line, wanted[i][1], strlen(wanted[i][1])) == 0);
        tool_table_close(&table);
        free(out.data);
    }
}
END_TEST

/* Names are letters. */
static void add_callers(struct tool_callers *callers, const char *letters)
{
    tool_callers_open(callers);
    for (const char *at = letters; *at != '\0'; at++)
        tool_callers_add(callers, (char[]){*at, '\0'});
}

static void tells(const char *above, const char *callers, size_t columns, const char *wanted)
{
    struct tool_callers of[2];
    struct tool_output text;
    tool_output_open(&text, -1);
    add_callers(&of[0], above);
    add_callers(&of[1], callers);
    size_t more = tool_callers_put_below(&of[1], &of[0], columns, &text);
    if (more > 0)
        tool_output_printf(&text, " and %zu more", more);
    tool_output_bytes(&text, "", 1);
    ck_assert_str_eq(text.data, wanted);
    tool_callers_close(&of[0]);
    tool_callers_close(&of[1]);
    free(text.data);
}

START_TEST(recursion_is_told_in_a_few_words)
{
    tells("", "abbbbbc", 99, "a < b x 5 < c");
    tells("", "abcbcbcbcbcd", 99, "a < b < c < (these 2 4 more times) < d");
    tells("", "abbbc", 99, "a < b < b < b < c"); /* three are not many */
    tells("", "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", SIZE_MAX,
          "a < b < c < d < e < f < g < h < i < j < k < l < m < n < o < p < q < r < s < t < u < "
          "v < w < x < y < z < A < B < C < D < E < F < G < H < I < J < K < L < M < N < O < P < "
          "Q < R < S < T < U < V < W < X < Y < Z < 0 < 1 < 2 < 3 < 4 < 5 < 6 < 7 and 2 more");
}
END_TEST

START_TEST(rows_differ_where_they_are_cut)
{
    tells("abcd", "abce", 4, "(3 as above) < e");
    tells("abcd", "abce", 99, "a < b < c < e"); /* it fits */
    tells("abcd", "ab", 1, "a < b");
    tells("abcd", "abcd", 4, "(3 as above) < d");
    tells("ab", "abcd", 4, "(2 as above) < c < d");
    tells("abcd", "axyz", 4, "a < x < y < z");
}
END_TEST

START_TEST(a_path_keeps_its_end)
{
    const struct tool_column first = {
        .title = "FILE", .is_text = true, .gives_way = true, .keeps_end = true};
    shows_more(first, "/usr/lib/python3/dist-packages/one.py", 0,
               "...ython3/dist-packages/one.py  x");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("table cells");
    TCase *tests = tcase_create("cells");
    tcase_add_test(tests, what_fits_is_whole);
    tcase_add_test(tests, no_byte_acts_on_a_terminal);
    tcase_add_test(tests, a_name_keeps_its_end);
    tcase_add_test(tests, a_name_keeps_its_beginning_too);
    tcase_add_test(tests, a_tight_table_keeps_its_first_ranks);
    tcase_add_test(tests, a_path_keeps_its_end);
    tcase_add_test(tests, a_name_in_a_tree_keeps_its_place);
    tcase_add_test(tests, others_keep_their_beginning);
    tcase_add_test(tests, callers_are_counted);
    tcase_add_test(tests, a_narrow_column_has_a_part_of_the_second_name);
    tcase_add_test(tests, recursion_is_told_in_a_few_words);
    tcase_add_test(tests, rows_differ_where_they_are_cut);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}

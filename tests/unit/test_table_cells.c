/* Cells that are too long for their column: what a name of many scopes ends with is seen. */
#include <stdlib.h>
#include <string.h>

#include "tests/asserts.h"
#include "tools/command/output.h"
#include "tools/io/table.h"

/* One column of 30, and one behind it. */
static void shows_in(struct tool_column first, const char *text, const char *wanted)
{
    const struct tool_column columns[] = {first, {.title = "N", .is_text = true}};
    struct tool_table table;
    struct tool_output out;
    char line[64] = "";
    tool_output_open(&out, -1);
    tool_table_open(&table, columns, 2);
    tool_table_text(&table, TOOL_PLAIN, text);
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

static void shows(const char *text, const char *wanted)
{
    const struct tool_column first = {.title = "FUNCTION", .is_text = true, .gives_way = true};
    shows_in(first, text, wanted);
}

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
    shows("one::function < of::another < of::a::third", "one::function < of::another...  x");
}
END_TEST

START_TEST(a_path_keeps_its_end)
{
    const struct tool_column first = {
        .title = "FILE", .is_text = true, .gives_way = true, .keeps_end = true};
    shows_in(first, "/usr/lib/python3/dist-packages/one.py", "...ython3/dist-packages/one.py  x");
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
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}

/* Texts of filters become rules, expressions and conditions; what is none is refused where it stops
 * making sense, in words; and memory is bounded, and may fail. */
#include <tracetape/filter.h>

#include <inttypes.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "tests/asserts.h"
#include "tests/unit/test_reader_fixture.h"

static ttape_filter *take(const char *text)
{
    ttape_filter *filter = NULL;
    ttape_error err = {0};
    ttape_status status = ttape_filter_parse(&filter, ttest_string(text), NULL, &err);
    ck_assert_msg(status == TTAPE_OK, "%s: %s at %" PRIu64, text, err.message, err.offset);
    return filter;
}

static const ttape_filter_rule *only_rule(const ttape_filter *filter, const char *text)
{
    uint32_t count;
    const ttape_filter_rule *rules = ttape_filter_get_rules(filter, &count);
    ck_assert_msg(count == 1, "%s: %u rules", text, count);
    return rules;
}

START_TEST(functions_become_expressions)
{
    static const struct {
        const char *text, *function, *path;
    } wanted[] = {
        {"main", "^main$", ""},
        {"  main\t", "^main$", ""},
        {"parse_*", "^parse_.*$", ""},
        {"a**b", "^a.*b$", ""},
        {"a?b.c", "^a.b\\.c$", ""},
        {"[ab]x[!0-9]", "^[ab]x[^0-9]$", ""},
        {"[]]", "^[]]$", ""},
        {"a\\*b", "^a\\*b$", ""},
        {"a\\qb", "^aqb$", ""},
        {"/^a|b$/", "^a|b$", ""},
        {"/a\\/b\\.c/", "a/b\\.c", ""},
        {"app::fill", "^app::fill$", ""},
        {"~T", "^~T$", ""},
        {"T<int, U<a (*)(b)> >::f", "^T<int, U<a \\(.*\\)\\(b\\)> >::f$", ""},
        {"\"f(int)\"", "^f\\(int\\)$", ""},
        {"'it\\'s'", "^it's$", ""},
        {"f@libc*", "^f$", "(^|/)libc.*$"},
        {"f@/usr/lib/libm.so", "^f$", "(^|/)/usr/lib/libm\\.so$"},
        {"f@/lib(m|c)/", "^f$", "lib(m|c)"},
        {"*@'a b.c'", "^.*$", "(^|/)a b\\.c$"},
        {"below", "^below$", ""},
        {"time", "^time$", ""},
        {"depth()", "^depth$", ""},
        {"to@x", "^to$", "(^|/)x$"},
        {"{a}+$^|", "^\\{a\\}\\+\\$\\^\\|$", ""},
    };
    ttape_filter *filter = take(wanted[_i].text);
    const ttape_filter_rule *rule = only_rule(filter, wanted[_i].text);
    regex_t regex;
    ck_assert_int_eq(rule->kind, TTAPE_FILTER_ONLY);
    ck_assert_str_eq(rule->function.data, wanted[_i].function);
    ck_assert_uint_eq(rule->function.size_bytes, strlen(wanted[_i].function));
    ck_assert_str_eq(rule->path.size_bytes != 0 ? rule->path.data : "", wanted[_i].path);
    ck_assert_int_eq(regcomp(&regex, rule->function.data, REG_EXTENDED), 0);
    regfree(&regex);
    ttape_filter_close(filter);
}
END_TEST

START_TEST(rules_have_kinds_and_numbers)
{
    static const char text[] = "a, b; !c ;; below d,e\n!below f\n to g;depth 3; time 1.5ms; size "
                               "0x40; time = 5; !  below h; depth 2 below i, j(n>1);time 0ns below "
                               "k;  depth 1 ; time 1.5m below l; time 0.9h below m";
    static const struct {
        ttape_filter_kind kind;
        const char *function;
        uint64_t number;
    } wanted[] = {{TTAPE_FILTER_ONLY, "^a$", 0},
                  {TTAPE_FILTER_ONLY, "^b$", 0},
                  {TTAPE_FILTER_WITHOUT, "^c$", 0},
                  {TTAPE_FILTER_BELOW, "^d$", 0},
                  {TTAPE_FILTER_BELOW, "^e$", 0},
                  {TTAPE_FILTER_NOT_BELOW, "^f$", 0},
                  {TTAPE_FILTER_TO, "^g$", 0},
                  {TTAPE_FILTER_DEPTH, NULL, 3},
                  {TTAPE_FILTER_TIME, NULL, 1500000},
                  {TTAPE_FILTER_SIZE, NULL, 64},
                  {TTAPE_FILTER_ONLY, "^time$", 0},
                  {TTAPE_FILTER_NOT_BELOW, "^h$", 0},
                  {TTAPE_FILTER_DEPTH_BELOW, "^i$", 2},
                  {TTAPE_FILTER_DEPTH_BELOW, "^j$", 2},
                  {TTAPE_FILTER_TIME_BELOW, "^k$", 0},
                  {TTAPE_FILTER_DEPTH, NULL, 1},
                  {TTAPE_FILTER_TIME_BELOW, "^l$", 90000000000},
                  {TTAPE_FILTER_TIME_BELOW, "^m$", 3240000000000}};
    uint32_t count;
    ttape_filter *filter = take(text);
    const ttape_filter_rule *rules = ttape_filter_get_rules(filter, &count);
    ck_assert_uint_eq(count, sizeof wanted / sizeof wanted[0]);
    for (uint32_t i = 0; i < count; i++) {
        ck_assert_int_eq(rules[i].kind, wanted[i].kind);
        ck_assert_uint_eq(rules[i].number, wanted[i].number);
        if (wanted[i].function != NULL)
            ck_assert_str_eq(rules[i].function.data, wanted[i].function);
    }
    ck_assert_int_eq(strncmp(text + rules[4].text_at, "e", rules[4].text_bytes), 0);
    ck_assert_uint_eq(rules[15].text_bytes, 1);
    ck_assert_int_eq(strncmp(text + rules[15].text_at, "1", 1), 0);
    ttape_filter_close(filter);
    filter = take(" \n; \t");
    (void)ttape_filter_get_rules(filter, &count);
    ck_assert_uint_eq(count, 0);
    ttape_filter_close(filter);
    ck_assert_ptr_null(ttape_filter_get_rules(NULL, &count));
    ck_assert_uint_eq(count, 0);
    ttape_filter_close(NULL);
}
END_TEST

static double to_double(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

START_TEST(conditions_have_operands)
{
    static const struct {
        const char *text, *name;
        ttape_filter_operator compare;
        ttape_filter_operand operand;
        uint64_t number;
        const char *word;
    } wanted[] = {
        {"f(n=3)", "n", TTAPE_FILTER_EQUAL, TTAPE_FILTER_NUMBER, 3, NULL},
        {"f( n == 0x1F )", "n", TTAPE_FILTER_EQUAL, TTAPE_FILTER_NUMBER, 31, NULL},
        {"f(n!=-1)", "n", TTAPE_FILTER_NOT_EQUAL, TTAPE_FILTER_NEGATIVE, UINT64_MAX, NULL},
        {"f(n<-0)", "n", TTAPE_FILTER_LESS, TTAPE_FILTER_NUMBER, 0, NULL},
        {"f(n<=18446744073709551615)", "n", TTAPE_FILTER_LESS_EQUAL, TTAPE_FILTER_NUMBER,
         UINT64_MAX, NULL},
        {"f(n>-9223372036854775808)", "n", TTAPE_FILTER_GREATER, TTAPE_FILTER_NEGATIVE,
         UINT64_C(1) << 63, NULL},
        {"f(n & 4)", "n", TTAPE_FILTER_BITS, TTAPE_FILTER_NUMBER, 4, NULL},
        {"f(n>=GREEN)", "n", TTAPE_FILTER_GREATER_EQUAL, TTAPE_FILTER_WORD, 0, "GREEN"},
        {"f(s=\"/etc/*\")", "s", TTAPE_FILTER_EQUAL, TTAPE_FILTER_TEXT, 0, "^/etc/.*$"},
        {"f(s!=/x\\/y/)", "s", TTAPE_FILTER_NOT_EQUAL, TTAPE_FILTER_TEXT, 0, "x/y"},
        {"f=-1", "", TTAPE_FILTER_EQUAL, TTAPE_FILTER_NEGATIVE, UINT64_MAX, NULL},
        {"f() = ENOENT", "", TTAPE_FILTER_EQUAL, TTAPE_FILTER_WORD, 0, "ENOENT"},
        {"f > 5ms", "", TTAPE_FILTER_GREATER, TTAPE_FILTER_SPAN, 5000000, NULL},
        {"f <= 0.25us", "", TTAPE_FILTER_LESS_EQUAL, TTAPE_FILTER_SPAN, 250, NULL},
        {"f>1.000000001s", "", TTAPE_FILTER_GREATER, TTAPE_FILTER_SPAN, 1000000001, NULL},
        {"/f/&3", "", TTAPE_FILTER_BITS, TTAPE_FILTER_NUMBER, 3, NULL},
    };
    ttape_filter *filter = take(wanted[_i].text);
    const ttape_filter_rule *rule = only_rule(filter, wanted[_i].text);
    ck_assert_uint_eq(rule->condition_count, 1);
    const ttape_filter_condition *condition = rule->conditions;
    ck_assert_str_eq(condition->name.size_bytes != 0 ? condition->name.data : "", wanted[_i].name);
    ck_assert_int_eq(condition->compare, wanted[_i].compare);
    ck_assert_int_eq(condition->operand, wanted[_i].operand);
    ck_assert_uint_eq(condition->number, wanted[_i].number);
    if (wanted[_i].word != NULL)
        ck_assert_str_eq(condition->text.data, wanted[_i].word);
    ttape_filter_close(filter);
}
END_TEST

START_TEST(conditions_add_up)
{
    ttape_filter *filter = take("f@x(a=1,b=2.5, c=-0.5) != \"no\", g");
    uint32_t count;
    const ttape_filter_rule *rules = ttape_filter_get_rules(filter, &count);
    ck_assert_uint_eq(count, 2);
    ck_assert_uint_eq(rules[0].condition_count, 4);
    ck_assert_int_eq(rules[0].conditions[1].operand, TTAPE_FILTER_REAL);
    ck_assert_double_eq(to_double(rules[0].conditions[1].number), 2.5);
    ck_assert_double_eq(to_double(rules[0].conditions[2].number), -0.5);
    ck_assert_uint_eq(rules[0].conditions[3].name.size_bytes, 0);
    ck_assert_uint_eq(rules[1].condition_count, 0);
    ttape_filter_close(filter);
}
END_TEST

START_TEST(what_is_no_filter_is_refused_at_its_place)
{
    static const struct {
        const char *text;
        uint64_t at;
        const char *says;
    } wanted[] = {
        {"!", 1, "a function is missing"},
        {"f;(", 2, "a function is missing"},
        {"f,", 2, "a function is missing"},
        {"f g", 2, "';' parts rules"},
        {"f)", 1, "';' parts rules"},
        {"depth 3x", 7, "';' parts rules"},
        {"depth three", 6, "a number is missing"},
        {"depth 0", 6, "1 at least"},
        {"depth 2 below", 8, "';' parts rules"},
        {"depth 2 below ;", 8, "';' parts rules"},
        {"size 2 below f", 7, "';' parts rules"},
        {"time below f", 5, "a time is missing"},
        {"time 1ms below f, g(n=1) = 2", 18, "are not known there"},
        {"depth 1 below f > 1ms", 14, "are not known there"},
        {"time 5", 6, "no unit"},
        {"time five", 5, "a time is missing"},
        {"time 99999999999s", 17, "63 bits"},
        {"size 0x", 7, "digits are missing"},
        {"size 18446744073709551616", 24, "64 bits"},
        {"f@", 2, "behind '@'"},
        {"[a", 0, "']'"},
        {"a<b", 1, "a blank before it"},
        {"//", 0, "nothing stands between"},
        {"\"a", 0, "the quote is not closed"},
        {"f(", 2, "an argument's name is missing"},
        {"f(3)", 2, "an argument's name is missing"},
        {"f(n)", 3, "a comparison is missing"},
        {"f(n=)", 4, "a value is missing"},
        {"f(n=1", 5, "')' or ','"},
        {"f(n=1 2)", 6, "')' or ','"},
        {"f(n<\"x\")", 7, "= and != only"},
        {"f(n>5ms)", 7, "behind the function"},
        {"f(n=-5ms)", 8, "not below zero"},
        {"f(n&1.5)", 7, "whole number"},
        {"f > ", 4, "a value is missing"},
        {"f = 99999999999999999999", 23, "64 bits"},
        {"f(n=-9223372036854775809)", 24, "64 bits"},
    };
    ttape_error err = {0};
    ttape_filter *filter;
    const char *text = wanted[_i].text;
    ck_assert_int_eq(ttape_filter_parse(&filter, ttest_string(text), NULL, &err), TTAPE_E_ARGUMENT);
    ck_assert_ptr_null(filter);
    ck_assert_msg(err.offset == wanted[_i].at && strstr(err.message, wanted[_i].says) != NULL,
                  "%s: '%s' at %" PRIu64, text, err.message, err.offset);
    ck_assert_int_eq(ttape_filter_parse(&filter, ttest_string(text), NULL, NULL), TTAPE_E_ARGUMENT);
}
END_TEST

static ttape_status parse_repeated(const char *part, size_t count, ttape_error *err)
{
    size_t size = strlen(part);
    char *text = malloc(size * count);
    ttape_filter *filter;
    ck_assert_ptr_nonnull(text);
    for (size_t i = 0; i < count; i++)
        memcpy(text + i * size, part, size);
    ttape_status status =
        ttape_filter_parse(&filter, (ttape_string){text, size * count}, NULL, err);
    ttape_filter_close(filter);
    free(text);
    return status;
}

START_TEST(bounds_hold)
{
    ttape_error err = {0};
    ttape_filter *filter;
    ck_assert_int_eq(parse_repeated("f;", TTAPE_FILTER_MAX_RULES, &err), TTAPE_OK);
    ck_assert_int_eq(parse_repeated("f;", TTAPE_FILTER_MAX_RULES + 1, &err), TTAPE_E_LIMIT);
    ck_assert_uint_eq(err.offset, 2 * TTAPE_FILTER_MAX_RULES);
    ck_assert_int_eq(parse_repeated("x", TTAPE_FILTER_MAX_PATTERN, &err), TTAPE_OK);
    ck_assert_int_eq(parse_repeated("*.", TTAPE_FILTER_MAX_PATTERN / 2, &err), TTAPE_OK);
    ck_assert_int_eq(parse_repeated("x", TTAPE_FILTER_MAX_PATTERN + 1, &err), TTAPE_E_LIMIT);
    ck_assert_int_eq(parse_repeated(" ", TTAPE_FILTER_MAX_BYTES, &err), TTAPE_OK);
    ck_assert_int_eq(parse_repeated(" ", TTAPE_FILTER_MAX_BYTES + 1, &err), TTAPE_E_LIMIT);
    const ttape_string zero = {"f\0g", 3};
    ck_assert_int_eq(ttape_filter_parse(&filter, zero, NULL, &err), TTAPE_E_ARGUMENT);
    ck_assert_uint_eq(err.offset, 1);
    ck_assert_int_eq(ttape_filter_parse(NULL, zero, NULL, &err), TTAPE_E_ARGUMENT);
}
END_TEST

START_TEST(conditions_are_bounded)
{
    char text[1024] = "f(";
    ttape_filter *filter;
    for (uint32_t i = 0; i <= TTAPE_FILTER_MAX_CONDITIONS; i++)
        strcat(text, i == 0 ? "a=1" : ",a=1");
    strcat(text, ")");
    ck_assert_int_eq(ttape_filter_parse(&filter, ttest_string(text), NULL, NULL), TTAPE_E_LIMIT);
}
END_TEST

/* Fails from the n-th allocation on. */
struct failing {
    unsigned left, open;
};

static void *allocate(void *context, size_t size_bytes)
{
    struct failing *failing = context;
    if (failing->left == 0)
        return NULL;
    failing->left--;
    failing->open++;
    return malloc(size_bytes);
}

static void release(void *context, void *memory, size_t size_bytes)
{
    (void)size_bytes;
    ((struct failing *)context)->open -= memory != NULL;
    free(memory);
}

START_TEST(memory_may_fail)
{
    static const char text[] = "f@lib*(n=3, s=\"x\") = ENOENT; time 3s";
    struct failing failing;
    ttape_status status = TTAPE_E_MEMORY;
    for (unsigned n = 0; status != TTAPE_OK; n++) {
        const ttape_allocator allocator = {&failing, allocate, release};
        ttape_filter *filter;
        ttape_error err = {0};
        failing = (struct failing){.left = n};
        status = ttape_filter_parse(&filter, ttest_string(text), &allocator, &err);
        ck_assert(status == TTAPE_OK || status == TTAPE_E_MEMORY);
        ck_assert(n < 100);
        ttape_filter_close(filter);
        ck_assert_uint_eq(failing.open, 0);
    }
}
END_TEST

/* ---- triggers ---- */

START_TEST(triggers_have_events_and_actions)
{
    static const char text[] =
        "parse@lib*(n>3) do on; f = -1 do checkpoint, finish\nf > 5ms times "
        "10 do off; end g do finish;; signal USR1 do off; signal 34 do on;"
        "after 1.5s do checkpoint; do do off; end() do on; exit!= 3 do keep; "
        "exit = 0x3 do keep; 'exit' = 3 do on; exit > 5ms do keep, on;"
        "f do depth 3, time 1.5ms, off; f do time 0ns; f do depth 9999999999";
    static const struct {
        ttape_trigger_event event;
        uint32_t actions, rule;
        uint64_t times, number;
    } wanted[] = {{TTAPE_TRIGGER_BEGIN, TTAPE_TRIGGER_ON, 0, 1, 0},
                  {TTAPE_TRIGGER_END, TTAPE_TRIGGER_CHECKPOINT | TTAPE_TRIGGER_FINISH, 1, 1, 0},
                  {TTAPE_TRIGGER_END, TTAPE_TRIGGER_OFF, 2, 10, 0},
                  {TTAPE_TRIGGER_END, TTAPE_TRIGGER_FINISH, 3, 1, 0},
                  {TTAPE_TRIGGER_SIGNAL, TTAPE_TRIGGER_OFF, TTAPE_NONE, 1, 10},
                  {TTAPE_TRIGGER_SIGNAL, TTAPE_TRIGGER_ON, TTAPE_NONE, 1, 34},
                  {TTAPE_TRIGGER_AFTER, TTAPE_TRIGGER_CHECKPOINT, TTAPE_NONE, 1, 1500000000},
                  {TTAPE_TRIGGER_BEGIN, TTAPE_TRIGGER_OFF, 4, 1, 0},
                  {TTAPE_TRIGGER_BEGIN, TTAPE_TRIGGER_ON, 5, 1, 0},
                  {TTAPE_TRIGGER_EXIT, TTAPE_TRIGGER_KEEP, TTAPE_NONE, 1, 3},
                  {TTAPE_TRIGGER_END, TTAPE_TRIGGER_KEEP, 6, 1, 0},
                  {TTAPE_TRIGGER_END, TTAPE_TRIGGER_ON, 7, 1, 0},
                  {TTAPE_TRIGGER_END, TTAPE_TRIGGER_KEEP | TTAPE_TRIGGER_ON, 8, 1, 0},
                  {TTAPE_TRIGGER_BEGIN,
                   TTAPE_TRIGGER_DEPTH | TTAPE_TRIGGER_TIME | TTAPE_TRIGGER_OFF, 9, 1, 0},
                  {TTAPE_TRIGGER_BEGIN, TTAPE_TRIGGER_TIME, 10, 1, 0},
                  {TTAPE_TRIGGER_BEGIN, TTAPE_TRIGGER_DEPTH, 11, 1, 0}};
    ttape_filter *filter;
    ttape_error err = {0};
    uint32_t count, rule_count;
    ttape_status status = ttape_filter_parse_triggers(&filter, ttest_string(text), NULL, &err);
    ck_assert_msg(status == TTAPE_OK, "%s at %" PRIu64, err.message, err.offset);
    const ttape_trigger *triggers = ttape_filter_get_triggers(filter, &count);
    const ttape_filter_rule *rules = ttape_filter_get_rules(filter, &rule_count);
    ck_assert_uint_eq(count, sizeof wanted / sizeof wanted[0]);
    ck_assert_uint_eq(rule_count, 12);
    ck_assert(triggers[13].depth == 3 && triggers[13].min_ns == 1500000);
    ck_assert(triggers[14].depth == 0 && triggers[14].min_ns == 0);
    ck_assert_uint_eq(triggers[15].depth, UINT32_MAX);
    ck_assert_int_eq(triggers[9].compare, TTAPE_FILTER_NOT_EQUAL);
    for (uint32_t i = 0; i < count; i++) {
        ck_assert_int_eq(triggers[i].event, wanted[i].event);
        ck_assert_uint_eq(triggers[i].actions, wanted[i].actions);
        ck_assert_uint_eq(triggers[i].rule, wanted[i].rule);
        ck_assert_uint_eq(triggers[i].times, wanted[i].times);
        ck_assert_uint_eq(triggers[i].number, wanted[i].number);
    }
    for (uint32_t i = 0; i < rule_count; i++)
        ck_assert_int_eq(rules[i].kind, TTAPE_FILTER_CALLS);
    ck_assert_str_eq(rules[4].function.data, "^do$");
    ck_assert_int_eq(strncmp(text + triggers[3].text_at, "end g do finish", triggers[3].text_bytes),
                     0);
    ttape_filter_close(filter);
    ck_assert_ptr_null(ttape_filter_get_triggers(NULL, &count));
    ck_assert_uint_eq(count, 0);
}
END_TEST

START_TEST(what_is_no_trigger_is_refused_at_its_place)
{
    static const struct {
        const char *text;
        uint64_t at;
        const char *says;
    } wanted[] = {
        {"f", 1, "'do' and an action are missing"},
        {"f do", 2, "'do' and an action are missing"},
        {"f do  jump", 6, "no action"},
        {"f do on off", 8, "belongs to no trigger"},
        {"f do on, off", 12, "switches on, or off"},
        {"f do on,", 8, "no action"},
        {"f, g do on", 1, "'do' and an action are missing"},
        {"signal NONE do on", 7, "no signal"},
        {"signal 65 do on", 7, "no signal"},
        {"after 5 do on", 7, "the time has no unit"},
        {"f times 0 do on", 9, "once at least"},
        {"f times x do on", 8, "a number is missing"},
        {"f(n>) do on", 4, "a value is missing"},
        {"f do depth 0", 11, "1 at least"},
        {"f do depth", 10, "a number is missing"},
        {"f do time 5", 11, "the time has no unit"},
        {"f do depth 2, on, depth 2", 24, "one depth, and one time"},
        {"f do args", 5, "no action: on, off, depth N, time T, checkpoint, keep or finish"},
        {"exit = 256 do keep", 7, "255 at most"},
        {"exit = 1 do keep, finish", 12, "the only action"},
        {"exit = 1 times 2 do keep", 9, "'do' and an action are missing"},
    };
    ttape_error err = {0};
    ttape_filter *filter;
    const char *text = wanted[_i].text;
    ck_assert_int_eq(ttape_filter_parse_triggers(&filter, ttest_string(text), NULL, &err),
                     TTAPE_E_ARGUMENT);
    ck_assert_ptr_null(filter);
    ck_assert_msg(err.offset == wanted[_i].at && strstr(err.message, wanted[_i].says) != NULL,
                  "%s: '%s' at %" PRIu64, text, err.message, err.offset);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("filter");
    TCase *tests = tcase_create("filter");
    tcase_add_loop_test(tests, functions_become_expressions, 0, 25);
    tcase_add_test(tests, rules_have_kinds_and_numbers);
    tcase_add_loop_test(tests, conditions_have_operands, 0, 16);
    tcase_add_test(tests, conditions_add_up);
    tcase_add_loop_test(tests, what_is_no_filter_is_refused_at_its_place, 0, 37);
    tcase_add_test(tests, bounds_hold);
    tcase_add_test(tests, conditions_are_bounded);
    tcase_add_test(tests, memory_may_fail);
    tcase_add_test(tests, triggers_have_events_and_actions);
    tcase_add_loop_test(tests, what_is_no_trigger_is_refused_at_its_place, 0, 21);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}

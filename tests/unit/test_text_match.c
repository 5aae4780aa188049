/* Strings of programs and texts of logs: how much of a text a program has printed by a string. */
#include <stdlib.h>
#include <string.h>

#include "tests/asserts.h"
#include "tools/context/text/text_match.h"

/* Exact sizes, so that one byte too far is found. */
static struct tool_text copy(const char *text)
{
    size_t size = strlen(text);
    char *bytes = malloc(size + (size == 0));
    memcpy(bytes, text, size);
    return (struct tool_text){bytes, size};
}

static void expect(const char *string, const char *text, enum tool_text_how how, uint32_t bytes)
{
    struct tool_text one = copy(string), other = copy(text);
    uint8_t *marks = calloc(other.size_bytes + 1, 1);
    uint32_t marked = 0, found = tool_text_match(one, other, how, marks).bytes;
    for (size_t i = 0; i < other.size_bytes; i++)
        marked += marks[i];
    ck_assert_msg(found == bytes && marked == bytes, "'%s' in '%s': %u, %u marked, not %u", string,
                  text, found, marked, bytes);
    free((char *)one.bytes);
    free((char *)other.bytes);
    free(marks);
}

static void has(const char *string, const char *text, uint32_t bytes)
{
    expect(string, text, TOOL_TEXT_WHOLE, bytes);
}

START_TEST(formats)
{
    has("Hello %d mars\n", "[0xFFFF5652] Hello 1 mars", 11);
    has("Hello % d mars", "Hello  1 mars", 11);
    has("Hello %d mars", "Hello big mars", 0);
    has("Hello %s mars", "Hello big mars", 11);
    has("Hello %s mars", "Hello  mars", 11);
    has("at %08x of %5.2f%% (%c)", "at 0000beef of 12.50% (y)", 11);
    has("%-*s|%*d|end", "abc   |   7|end", 5);
    has("got %ld of %zu: %1$s", "got -4 of 12: all", 10);
    has("%p is nobody's", "(nil) is nobody's", 12);
    has("100% sure", "100% sure", 6); /* "% s" is read as a conversion */
    has("%d%d%s", "12 13 words", 0);
    has("%1 of %2 parts", "three of four parts", 10);
}
END_TEST

START_TEST(braces)
{
    has("{} of {:>8} done", "7 of       12 done", 9);
    has("{{\"done\": {0}}}", "{\"done\": yes}", 10);
    has("{\"done\": %d}", "{\"done\": 3}", 10);
    has("open { only", "open { only", 11);
}
END_TEST

START_TEST(parts)
{
    has("picked ", "picked 3 apples", 6);
    has(" apples of ", "picked 3 apples of 7 trees", 9);
    has("stopped", "unstopped", 0);
    has("stop", "stopped", 0);
    has("stop", "stop: now", 4);
    has("at", "at noon", 0); /* two letters */
    has("1234 -- 5", "1234 -- 5", 0);
    has("usage: x\n  -a  all of them\n", "12:00 -a  all of them", 15);
    has("\xc3\xa9t\xc3\xa9", "un \xc3\xa9t\xc3\xa9 chaud", 5);
    has("", "text", 0);
    has("text", "", 0);
}
END_TEST

/* What somebody types is a part of what was printed. */
START_TEST(parts_of_strings)
{
    has("Hello earth, from %s to %s", "earth", 5);
    has("Hello earth, from %s to %s", "art", 0);
    has("Hello earth, from %s to %s", "earth, from home to", 15);
    has("Plain text of %d parts, %5.2f", "parts, 1.5", 7);
    has("Hello earth again", "12:00 Hello earth", 0);
    expect("Hello earth again", "12:00 Hello earth", TOOL_TEXT_CUT, 11);
    expect("Hello earth again", "12:00 Hello", TOOL_TEXT_CUT, 0); /* too little */
    expect("Hello earth again", "12:00 Hello earth agai", TOOL_TEXT_CUT, 16);
}
END_TEST

/* Much to try, and no end of conversions: it ends. */
START_TEST(bounds)
{
    char string[TOOL_TEXT_STRING_MOST + 1], text[5000];
    for (size_t i = 0; i + 4 < sizeof string; i += 4)
        memcpy(string + i, "%sab", 5);
    for (size_t i = 0; i + 2 < sizeof text; i += 2)
        memcpy(text + i, "ab", 3);
    struct tool_text one = copy(string), other = copy(text);
    (void)tool_text_match(one, other, TOOL_TEXT_CUT, NULL);
    text[sizeof text - 3] = 'c';
    (void)tool_text_match(one, (struct tool_text){text, sizeof text - 2}, TOOL_TEXT_CUT, NULL);
    free((char *)one.bytes);
    free((char *)other.bytes);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("texts");
    TCase *test_case = tcase_create("texts");
    tcase_add_test(test_case, formats);
    tcase_add_test(test_case, braces);
    tcase_add_test(test_case, parts);
    tcase_add_test(test_case, parts_of_strings);
    tcase_add_test(test_case, bounds);
    suite_add_tcase(suite, test_case);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}

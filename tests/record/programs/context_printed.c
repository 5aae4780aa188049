/* Prints lines as programs do: by formats, through helpers, of tables, of parts. Says of each the
 * context value, the right stack, and how far from its end the function with the text is. Argument:
 * the operation's number. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tracetape/context.h>

#define QUIET __attribute__((no_instrument_function))
#define KEEP  __attribute__((noinline))

static volatile int one = 1;
static const char *volatile teller; /* the stack, by who calls */

QUIET KEEP static void line(const char *text)
{
    char value[TTAPE_CONTEXT_TEXT_BYTES];
    if (ttape_context_text(value, sizeof value) != 0)
        printf("%s|%s|%s\n", value, teller, text);
}

QUIET KEEP static void say(const char *stack, const char *format, ...)
{
    char text[300];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    teller = stack;
    line(text);
    one = 1;
}

/* A helper with hooks: the value is its own, the text its caller's. */
KEEP static void helper(int level, const char *format, ...)
{
    static const char *const levels[] = {"DEBUG", "NOTICE"};
    char text[300];
    va_list arguments;
    size_t size = (size_t)snprintf(text, sizeof text, "12:00:01 %s ", levels[level]);
    va_start(arguments, format);
    (void)vsnprintf(text + size, sizeof text - size, format, arguments);
    va_end(arguments);
    line(text);
}

/* One without, and one around it that has hooks: two calls from the text. */
QUIET KEEP static void quiet_helper(const char *format, int number)
{
    char text[300];
    (void)snprintf(text, sizeof text, format, number);
    line(text);
}
KEEP static void outer_helper(const char *format, int number)
{
    helper(1, format, number);
    one = 1;
}

KEEP static void plain(void) { say("plain 0", "Plain text of %d parts, %5.2f %%", one + 6, 0.5); }
KEEP static void wide(void)
{
    say("wide 0", "wanted 0x%08x by %-8s|%*d", 4711u * (unsigned)one, "us", 5, one);
}
KEEP static void quiet(void)
{
    teller = "quiet 0";
    quiet_helper("quietly counted %d", one);
    one = 1;
}
KEEP static void outer(void)
{
    teller = "outer>outer_helper>helper 2";
    outer_helper("outside of %d walls", one);
    one = 1;
}
KEEP static void whole(void) { say("whole 0", "the engine has stopped"); }
KEEP static void ending(void) { say("ending 0", "stopped"); } /* its end, which linkers merge */

static inline __attribute__((always_inline)) void inlined(int which)
{
    say(which ? "inliner_b>inlined 0" : "inliner_a>inlined 0", "from within, number %d", one);
}
KEEP static void inliner_a(void)
{
    inlined(0);
    one = 1;
}
KEEP static void inliner_b(void)
{
    inlined(1);
    one = 1;
}

static const char *const reasons[] = {"no rain fell", "too much sun"};
static const struct {
    int number;
    const char *text;
} errors[] = {{7, "kettle is empty"}, {9, "stove is cold"}};
KEEP static void table(void) { say("table 0", "%s", reasons[one]); }
KEEP static void structs(void)
{
    say("structs 0", "E%d: %s", errors[one].number, errors[one].text);
}
KEEP static void twice_a(void) { say("twice_a 0", "said by two"); }
KEEP static void twice_b(void) { say("twice_b 0", "said by two"); }
/* As streams do. */
QUIET KEEP static void add(char *text, const char *more) { strcat(text, more); }
KEEP static void parts(void)
{
    char text[300] = "";
    add(text, "one piece ");
    (void)sprintf(text + strlen(text), "%d", one);
    add(text, " and another piece");
    teller = "parts 0";
    line(text);
    one = 1;
}

/* The same functions in two orders: by XOR the same value, and depth. */
KEEP static void second(int more, int by_helper);
KEEP static void first(int more, int by_helper)
{
    if (more)
        second(0, by_helper);
    else if (by_helper)
        teller = "second>first>helper 1", helper(0, "first asks for %s", "tea");
    else
        say("second>first 0", "first says %d", one);
    one = 1;
}
KEEP static void second(int more, int by_helper)
{
    if (more)
        first(0, by_helper);
    else if (by_helper)
        teller = "first>second>helper 1", helper(1, "second wants %d cups", one);
    else
        say("first>second 0", "second shouts %d", one);
    one = 1;
}

int main(int argc, char **argv)
{
    const ttape_context_options options = {
        .size = sizeof options,
        .operation = (ttape_context_operation)(argc > 1 ? atoi(argv[1]) : 0)};
    if (ttape_context_start(&options) != 0)
        return 1;
    plain(), wide(), quiet(), outer(), whole(), ending(), inliner_a(), inliner_b();
    table(), structs(), twice_a(), twice_b(), parts();
    for (int by_helper = 0; by_helper < 2; by_helper++) {
        first(1, by_helper);
        second(1, by_helper);
    }
    return 0;
}

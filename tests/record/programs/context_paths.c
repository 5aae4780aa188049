/* Calls along a path of letters, and says in each call its context value and the right stack: the
 * program has each call between a, b, c and d, a run only those of its paths. */
#include <stdio.h>
#include <string.h>

#include <tracetape/context.h>

#define QUIET __attribute__((no_instrument_function))

static const char *path;

QUIET static void say(const char *end)
{
    char text[TTAPE_CONTEXT_TEXT_BYTES];
    if (ttape_context_text(text, sizeof text) == 0)
        return;
    printf("%s main", text);
    for (const char *at = path; at < end; at++)
        printf(">%c", *at);
    printf("\n");
}

static void a(const char *at);
static void b(const char *at);
static void c(const char *at);
static void d(const char *at);

QUIET static void go(const char *at)
{
    say(at);
    if (*at == 'a')
        a(at + 1);
    else if (*at == 'b')
        b(at + 1);
    else if (*at == 'c')
        c(at + 1);
    else if (*at == 'd')
        d(at + 1);
}

static void a(const char *at) { go(at); }
static void b(const char *at) { go(at); }
static void c(const char *at) { go(at); }
static void d(const char *at) { go(at); }

int main(int argc, char **argv)
{
    const ttape_context_options options = {
        .size = sizeof options, .operation = (ttape_context_operation)(argv[1][0] - '0')};
    if (ttape_context_start(&options) != 0)
        return 1;
    for (int i = 2; i < argc; i++) {
        path = argv[i];
        go(path);
    }
    return 0;
}

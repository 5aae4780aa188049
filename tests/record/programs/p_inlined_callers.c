/* Who calls is inlined, and was open: by one way, by two ways, by a pointer. Prints lines; then it
 * crashes or hangs, by its first letter. */
#include <stdio.h>
#include <unistd.h>

#ifdef __clang__
#define APART __attribute__((noinline))
#else
#define APART __attribute__((noipa))
#endif
#define INTO static inline __attribute__((always_inline))

static volatile int sink;

APART static void say(const char *text, int row)
{
    char line[80];
    int size = snprintf(line, sizeof line, "%s %d\n", text, row);
    sink += (int)write(1, line, (size_t)size);
    sink++;
}

INTO void check_row(int row)
{
    if (row % 2 != 0)
        say("row", row);
    sink += row;
}
INTO void check_all(int row)
{
    check_row(row);
    check_row(row + 3);
}
/* Both of its calls are in two inlined ones of the same names. */
APART static void imports(int row)
{
    check_all(row);
    sink++;
}
/* One call is in none, so that nothing is known of both. */
APART static void two_ways(int row)
{
    check_row(row);
    say("plain", row);
    sink++;
}
INTO void direct(int row) { say("direct", row); }
/* A pointer may lead to say, too. */
APART static void by_pointer(void (*to)(const char *, int), int row)
{
    direct(row);
    sink++;
    to("pointer", row);
    sink++;
}

APART static void store(volatile int *to)
{
    sink++;
    *to = 7;
    sink++;
}
INTO void handle(volatile int *to)
{
    sink++;
    store(to);
    sink++;
}
APART static void serve(int row)
{
    handle(row > 2 ? (volatile int *)8 : &sink);
    sink++;
}

APART static void hang(void)
{
    for (;;)
        (void)pause();
}
INTO void waits(int row)
{
    sink += row;
    hang();
    sink++;
}
APART static void server(int row)
{
    sink++;
    waits(row);
    sink++;
}

int main(int count, char **words)
{
    imports(1);
    two_ways(5);
    by_pointer(say, 9);
    char what = count > 1 ? words[1][0] : 0;
    if (what == 'c')
        serve(count + 1);
    if (what == 'h')
        server(count);
    sink++;
    return 0;
}

/* Says contexts' values with an operation and ids that it asks for. Arguments: dictionary,
 * operation, ids, how many different contexts (with a small dictionary) or 0. */
#include <stdio.h>
#include <stdlib.h>

#include <tracetape/context.h>

#define NOINLINE __attribute__((noinline))
#define NOHOOKS  __attribute__((no_instrument_function, noinline))

static volatile int sink;
static long wanted;

static NOHOOKS void say(const char *stack)
{
    ttape_context_value context = ttape_context();
    printf(TTAPE_CONTEXT_FORMAT " %s%s\n", TTAPE_CONTEXT_ARGUMENTS(context), stack,
           (context.flags & ~TTAPE_CONTEXT_OVERFLOW) != 0 ? " flags" : "");
}

NOINLINE void c(void) { say("main>a>b>c"); }
NOINLINE void b(void)
{
    say("main>a>b");
    c();
    say("main>a>b");
}
NOINLINE void a(void)
{
    say("main>a");
    b();
}
/* The other order: collides where order does not count. */
NOINLINE void d(int depth)
{
    sink++;
    say(depth == 1 ? "main>d" : depth == 2 ? "main>d>d" : "main>d>d>d");
    if (depth < 3)
        d(depth + 1);
}

/* A tree of calls: each number's digits are a context of its own. */
NOINLINE void left(long number);
NOINLINE void right(long number);
static NOHOOKS void step(long number)
{
    if (number == 0)
        sink += (int)ttape_context().depth;
    else if (number % 2 != 0)
        left(number / 2);
    else
        right(number / 2);
}
NOINLINE void left(long number) { step(number); }
NOINLINE void right(long number) { step(number); }

int main(int count, char **values)
{
    if (count != 5)
        return 2;
    wanted = atol(values[4]);
    ttape_context_options options = {.size = sizeof(options),
                                     .operation = (ttape_context_operation)atoi(values[2]),
                                     .ids = (ttape_context_ids)atoi(values[3]),
                                     .dictionary = values[1],
                                     .dictionary_bytes = wanted != 0 ? 1 : 0};
    if (ttape_context_start(&options) != 0)
        return 0;
    for (long i = 1; i <= wanted; i++)
        step(i);
    if (wanted != 0)
        return 0;
    say("main");
    a();
    d(1);
    return 0;
}

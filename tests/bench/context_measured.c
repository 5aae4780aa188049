/* What asking for a context value costs. Arguments: depth, how: `same`, in one call over and over;
 * `calls`, once in each of many calls of one function, which is another call, and no new context;
 * `new`, each time in a context that nobody asked for before; `hooks`, only the calls. Prints
 * nanoseconds each time, without what the calls cost. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <tracetape/context.h>

#define NOINLINE __attribute__((noinline))
#define NOHOOKS  __attribute__((no_instrument_function))
#define TIMES    2000000L
#define NEW      50000L
#define ROUNDS   5

static volatile uint64_t sink;
static const char *how;
static double best;

static NOHOOKS double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

NOINLINE void asks(void) { sink += ttape_context().value; }
NOINLINE void does_not(void) { sink += 1; }
NOINLINE void left(long number);
NOINLINE void right(long number);
static NOHOOKS void branch(long number)
{
    if (number <= 1)
        sink += how[0] == 'n' ? ttape_context().value : 1;
    else if (number % 2 != 0)
        left(number / 2);
    else
        right(number / 2);
}
NOINLINE void left(long number) { branch(number); }
NOINLINE void right(long number) { branch(number); }

static NOHOOKS double each(long times, void (*work)(void))
{
    double start = now();
    for (long i = 0; i < times; i++)
        work();
    return (now() - start) / (double)times;
}
static NOHOOKS double same(void)
{
    double start = now();
    for (long i = 0; i < TIMES; i++)
        sink += ttape_context().value;
    return (now() - start) / (double)TIMES;
}
/* Each number's digits are a context: in all rounds together each comes once. */
static NOHOOKS double fresh(long round)
{
    static double plain;
    const char *wanted = how;
    how = "plain";
    double start = now();
    for (long i = 0; i < NEW; i++)
        branch(NEW * (round + 1) + i);
    plain = now() - start;
    how = wanted;
    start = now();
    for (long i = 0; i < NEW; i++)
        branch(NEW * (round + 1) + i);
    return (now() - start - plain) / (double)NEW;
}

static NOHOOKS void measure(void)
{
    for (long round = 0; round < ROUNDS; round++) {
        double ns = strcmp(how, "same") == 0    ? same()
                    : strcmp(how, "calls") == 0 ? each(TIMES, asks) - each(TIMES, does_not)
                    : strcmp(how, "new") == 0   ? fresh(round)
                                                : each(TIMES, does_not) / 2;
        best = round == 0 || ns < best ? ns : best;
    }
}
NOINLINE void descend(long depth)
{
    if (depth > 1)
        descend(depth - 1);
    else
        measure();
    sink++;
}

int main(int count, char **values)
{
    if (count != 3)
        return 2;
    how = values[2];
    descend(atol(values[1]) - 1);
    printf("%.2f\n", best);
    return 0;
}

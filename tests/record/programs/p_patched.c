/* Functions of all shapes: returns, tail jumps, conditional ones, tables, frames that are left.
 * With -DMIXED those that say so have no compiled-in hooks, whatever the compiler is asked for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__clang__)
#define OURS __attribute__((noinline))
#else
#define OURS __attribute__((noinline, noclone))
#endif
#ifdef MIXED
#define BARE OURS __attribute__((no_instrument_function))
#else
#define BARE OURS
#endif

static volatile long sink;

BARE long tiny(long x) { return x + 1; }
OURS long twice(long x) { return tiny(x) + tiny(-x); }
OURS long jumps_on(long x)
{
    sink += x;
    return twice(x + 3); /* a tail jump, where the compiler makes one */
}
BARE long sometimes(long x)
{
    if (x % 3 == 0)
        return jumps_on(x);
    sink -= x;
    return x;
}
OURS long several_ends(long x)
{
    if (x < 3)
        return 7;
    if (x % 5 == 0)
        return tiny(x) * 2;
    sink += x;
    return x ^ sink;
}
BARE long chooses(long x)
{
    switch (x % 9) {
    case 0: return twice(x);
    case 1: sink = 3; return 5;
    case 2: return tiny(x + sink);
    case 3: sink ^= 5; return sink + 1;
    case 4: return several_ends(x);
    case 5: sink += 11; return 12;
    case 6: return sometimes(x);
    default: return 0;
    }
}
BARE long deep(long n)
{
    long below = n == 0 ? 0 : deep(n - 1);
    sink += below; /* so that it is no loop */
    return n + below;
}
OURS long is_odd(long n);
BARE long is_even(long n) { return n == 0 ? 1 : is_odd(n - 1); }
OURS long is_odd(long n) { return n == 0 ? 0 : is_even(n - 1); }
OURS double sums(int count, ...)
{
    va_list list;
    double all = 0;
    va_start(list, count);
    for (int i = 0; i < count; i++)
        all += i % 2 == 0 ? va_arg(list, int) : va_arg(list, double);
    va_end(list);
    return all;
}
BARE long many(long a, long b, long c, long d, long e, long f, long g, long h, double i)
{
    return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + (long)i;
}
struct large {
    long items[9];
};
OURS struct large returns_large(long x)
{
    struct large made;
    for (int i = 0; i < 9; i++)
        made.items[i] = x * i;
    return made;
}
BARE int compares(const void *a, const void *b)
{
    return *(const int *)a < *(const int *)b ? -1 : *(const int *)a > *(const int *)b;
}
static jmp_buf place;
BARE void leaves(long x)
{
    if (x == 0)
        longjmp(place, 1);
    leaves(x - 1);
    sink++;
}
OURS long survives(long x)
{
    if (setjmp(place) == 0)
        leaves(x);
    return x + sink % 2;
}

int main(void)
{
    int items[40];
    long all = 0;
    for (long i = 0; i < 200; i++)
        all += chooses(i) + several_ends(i);
    for (long i = 0; i < 100; i++)
        all += tiny(i); /* from one place, all with one stack pointer */
    for (long i = 0; i < 100; i++)
        all += several_ends(i);
    all += deep(50) + is_even(31) + is_odd(20);
    for (int i = 0; i < 40; i++)
        items[i] = i * 7919 % 41;
    qsort(items, 40, sizeof items[0], compares);
    for (int i = 0; i < 5; i++)
        all += survives(i + 2);
    all += many(1, 2, 3, 4, 5, 6, 7, 8, 9.5) + returns_large(3).items[8];
    printf("%ld %d %d %g\n", all, items[0], items[39], sums(5, 1, 2.5, 3, 4.5, 5));
    return 3;
}

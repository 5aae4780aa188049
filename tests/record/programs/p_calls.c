/* Calls and nothing else: recursion, calls through pointers, variadic and static functions, returns
 * of structures and floating point. For builds of every kind. */
#include <stdarg.h>
#include <stdio.h>

#include "own.h"

struct triple {
    double a, b;
    long c;
};

ALONE static long fibonacci(long n)
{
    IN;
    long result = n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
    OUT;
    return result;
}

ALONE static long add_all(int count, ...)
{
    IN;
    va_list list;
    double sum = 0;
    va_start(list, count);
    for (int i = 0; i < count; i++)
        sum += va_arg(list, double);
    va_end(list);
    OUT;
    return (long)(sum * 10);
}

ALONE static struct triple make_triple(double a, long c)
{
    IN;
    struct triple made = {a, a * 2, c};
    OUT;
    return made;
}

ALONE static long double widen(struct triple from, long double by)
{
    IN;
    long double wide = (long double)from.a * by + (long double)from.b + (long double)from.c;
    OUT;
    return wide;
}

ALONE static int is_even(int n);
ALONE static int is_odd(int n)
{
    IN;
    int result = n == 0 ? 0 : is_even(n - 1);
    OUT;
    return result;
}

ALONE static int is_even(int n)
{
    IN;
    int result = n == 0 ? 1 : is_odd(n - 1);
    OUT;
    return result;
}

ALONE static int by_pointer(int (*function)(int), int n)
{
    IN;
    int result = function(n);
    OUT;
    return result;
}

int main(int argc, char **argv)
{
    IN;
    long rounds = own_argument(argc, argv, 1, 3);
    for (long i = 0; i < rounds; i++) {
        printf("fibonacci %ld\n", fibonacci(10 + i));
        printf("add_all %ld\n", add_all(4, 1.5, 2.5, 3.0, (double)i));
        printf("widen %.3Lf\n", widen(make_triple(0.5, i), 3.0L));
        printf("by_pointer %d %d\n", by_pointer(is_even, 20), by_pointer(is_odd, 20));
    }
    OUT;
    return 0;
}

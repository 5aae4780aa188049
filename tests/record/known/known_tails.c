/* Functions that end with a call of another one, which -O2 makes jumps of: the slow call is below
 * those that the source calls it from.
 * Known: main 1, serve 40, lookup 40, spin 40, wrap_a 40, wrap_b 40, wrap_c 40, finish 40,
 * burn 1 */
#include "known.h"

ALONE static long spin(long n)
{
    IN;
    if (n == 23)
        burn(5);
    sink += n;
    OUT;
    return n + 1;
}

ALONE static long lookup(long n)
{
    IN;
    sink += n;
    TAIL(spin(n));
}

ALONE static long finish(long n)
{
    IN;
    sink += n;
    OUT;
    return n;
}

ALONE static long wrap_c(long n)
{
    IN;
    sink += n;
    TAIL(finish(n + 1));
}

ALONE static long wrap_b(long n)
{
    IN;
    sink += n;
    TAIL(wrap_c(n + 1));
}

ALONE static long wrap_a(long n)
{
    IN;
    sink += n;
    TAIL(wrap_b(n + 1));
}

ALONE static long serve(long n)
{
    IN;
    long found = lookup(n);
    sink += found;
    TAIL(wrap_a(found));
}

int main(void)
{
    IN;
    for (long i = 0; i < 40; i++)
        sink += serve(i);
    OUT;
    return 0;
}

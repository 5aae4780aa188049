/* A machine of states that jump to one another: with -O2 a chain has each function once.
 * Known: main 1, run 12, begin 12, letter 120, blank 108, end 12, burn 1 */
#include "known.h"

ALONE static long letter(long n);

ALONE static long end(long n)
{
    IN;
    if (n == 0)
        sink += 1;
    OUT;
    return 7;
}

ALONE static long blank(long n)
{
    IN;
    sink += n;
    TAIL(letter(n - 1));
}

ALONE static long letter(long n)
{
    IN;
    sink += n;
    if (n == 1)
        TAIL(end(0));
    TAIL(blank(n));
}

ALONE static long begin(long n)
{
    IN;
    sink += n;
    TAIL(letter(n));
}

ALONE static long run(long n)
{
    IN;
    long r = begin(n);
    sink += r;
    OUT;
    return r;
}

int main(void)
{
    IN;
    for (long i = 0; i < 12; i++)
        sink += run(10);
    burn(4);
    OUT;
    return 1;
}

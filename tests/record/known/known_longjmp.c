/* longjmp over several frames, out of a recursion, and again to the same place.
 * Known: main 1, tries 20, descends 70, jumps 15, stays 20, again 1, once 3, burn 1 */
#include <setjmp.h>

#include "known.h"

static jmp_buf place;

ALONE static void jumps(long n)
{
    IN;
    sink += n;
    longjmp(place, (int)n + 1);
}

ALONE static void descends(long n, long depth)
{
    IN;
    if (depth > 0)
        descends(n, depth - 1);
    else if (n % 3 != 0)
        jumps(n);
    sink++;
    OUT;
}

ALONE static void stays(long n)
{
    IN;
    if (n == 11)
        burn(4);
    sink += n;
    OUT;
}

ALONE static long tries(long n)
{
    IN;
    if (setjmp(place) == 0)
        if (n < 14)
            descends(n, 4);
        else
            jumps(n);
    else
        own_back("tries");
    stays(n);
    sink++;
    OUT;
    return n;
}

ALONE static void once(volatile int *turns)
{
    IN;
    ++*turns;
    longjmp(place, 1);
}

ALONE static void again(void)
{
    IN;
    volatile int turns = 0;
    if (setjmp(place) != 0)
        own_back("again");
    if (turns < 3)
        once(&turns);
    sink++;
    OUT;
}

int main(void)
{
    IN;
    for (long i = 0; i < 20; i++)
        sink += tries(i);
    again();
    OUT;
    return 0;
}

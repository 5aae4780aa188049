/* Calls in calls, in loops; one of them is slow.
 * Known: main 1, serve 60, parse 60, look 120, slow_path 1, reply 60, burn 1, naps 1 */
#include "known.h"

ALONE static long look(long n)
{
    IN;
    sink += n;
    OUT;
    return n + 1;
}

ALONE static long parse(long n)
{
    IN;
    long first = look(n), second = look(first);
    sink += second;
    OUT;
    return second;
}

ALONE static long slow_path(long n)
{
    IN;
    burn(5);
    naps(3);
    sink += n;
    OUT;
    return n;
}

ALONE static long reply(long n)
{
    IN;
    sink += n;
    OUT;
    return n * 2;
}

ALONE static long serve(long n)
{
    IN;
    long found = parse(n);
    if (n == 37)
        found = slow_path(found);
    found = reply(found);
    sink += found;
    OUT;
    return found;
}

int main(void)
{
    IN;
    long sum = 0;
    for (long i = 0; i < 60; i++)
        sum += serve(i);
    sink += sum;
    OUT;
    return 0;
}

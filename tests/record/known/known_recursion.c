/* A function in itself, two in each other, and a tree of calls.
 * Known: main 1, down 301, odd 100, even 101, fib 177, ack 106, burn 1 */
#include "known.h"

ALONE static long down(long n)
{
    IN;
    long r = n > 0 ? down(n - 1) : (burn(4), 0);
    sink += r;
    OUT;
    return r + 1;
}

ALONE static long even(long n);

ALONE static long odd(long n)
{
    IN;
    long r = even(n - 1);
    sink += r;
    OUT;
    return r;
}

ALONE static long even(long n)
{
    IN;
    long r = n > 0 ? odd(n - 1) : 1;
    sink += r;
    OUT;
    return r;
}

ALONE static long fib(long n)
{
    IN;
    long r = n;
    if (n >= 2) {
        r = fib(n - 1);
        sink += r;
        r += fib(n - 2);
    }
    sink += r;
    OUT;
    return r;
}

ALONE static long ack(long m, long n)
{
    IN;
    long r;
    if (m == 0)
        r = n + 1;
    else if (n == 0)
        r = ack(m - 1, 1);
    else {
        r = ack(m, n - 1);
        sink += r;
        r = ack(m - 1, r);
    }
    sink += r;
    OUT;
    return r;
}

int main(void)
{
    IN;
    sink += down(300);
    sink += even(200);
    sink += fib(10);
    sink += ack(2, 3);
    sink += ack(1, 30);
    OUT;
    return 3;
}

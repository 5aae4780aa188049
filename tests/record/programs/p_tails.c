/* Tail calls, as far as instrumentation leaves any: calls in last place, calls that must be jumps
 * where the compiler can promise that, and hooks that are jumped to. */
#include <stdio.h>

#include "own.h"

#if defined(__clang__)
#define MUST   __attribute__((musttail))
#define LEAVES OUT /* the frame is gone before the callee's begins */
#else
#define MUST
#define LEAVES (void)0
#endif

static volatile long sink;

ALONE static long last(long n, long sum)
{
    IN;
    sink = n;
    OUT;
    return sum;
}

#if defined(__clang__)
ALONE static long hop(long n, long sum)
{
    IN;
    if (n == 0) {
        LEAVES;
        MUST return last(n, sum);
    }
    LEAVES;
    MUST return hop(n - 1, sum + n);
}
#else
ALONE static long hop(long n, long sum)
{
    IN;
    long result = n == 0 ? last(n, sum) : hop(n - 1, sum + n);
    OUT;
    return result;
}
#endif

/* Nothing after the call but the hook itself. */
ALONE static void in_last_place(long n)
{
    IN;
    if (n > 0)
        in_last_place(n - 1);
    OUT;
}

ALONE static long caller(long n)
{
    IN;
    long result = hop(n, 0);
    in_last_place(n);
    OUT;
    return result;
}

int main(int argc, char **argv)
{
    IN;
    long times = own_argument(argc, argv, 1, 5);
    for (long i = 0; i < times; i++)
        printf("%ld\n", caller(i * 3));
    OUT;
    return 0;
}

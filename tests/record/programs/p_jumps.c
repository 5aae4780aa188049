/* longjmp: out of depth five, in a loop, between nested setjmps, out of a callback of qsort, and
 * then deeper and shallower calls at the place that was left. */
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

#include "own.h"

static jmp_buf outer_point, inner_point;

ALONE static int helper(int n)
{
    IN;
    int result = n < 1 ? 0 : helper(n - 1) + n;
    OUT;
    return result;
}

ALONE static void descend(int depth, jmp_buf *point)
{
    IN;
    helper(1);
    if (depth == 0)
        longjmp(*point, 1);
    descend(depth - 1, point);
    OUT;
}

ALONE static int in_loop(int times)
{
    IN;
    volatile int sum = 0;
    for (volatile int i = 0; i < times; i++) {
        if (setjmp(outer_point) == 0)
            descend(5, &outer_point);
        own_back(__func__);
        sum += helper(i % 3);
    }
    OUT;
    return sum;
}

ALONE static void inner(int way)
{
    IN;
    if (setjmp(inner_point) == 0)
        descend(2, &inner_point);
    own_back(__func__);
    helper(1);
    if (way != 0)
        descend(3, &outer_point);
    OUT;
}

ALONE static int nested(int way)
{
    IN;
    if (setjmp(outer_point) == 0)
        inner(way);
    own_back(__func__);
    int result = helper(way + 1);
    OUT;
    return result;
}

static int compare(const void *a, const void *b)
{
    IN;
    int left = *(const int *)a, right = *(const int *)b;
    if (left == 13 || right == 13)
        longjmp(outer_point, 2);
    OUT;
    return left - right;
}

ALONE static int out_of_qsort(int evil)
{
    IN;
    int numbers[] = {5, 3, evil, 1, 4, 2};
    if (setjmp(outer_point) == 0)
        qsort(numbers, 6, sizeof(int), compare);
    own_back(__func__);
    int result = helper(2);
    OUT;
    return result;
}

/* After the jump the next call is as deep as one that was left. */
ALONE static int same_place(int n)
{
    IN;
    volatile int sum = 0;
    for (volatile int i = 0; i < n; i++) {
        if (setjmp(outer_point) == 0)
            descend(0, &outer_point);
        own_back(__func__);
        if (setjmp(outer_point) == 0)
            descend(1, &outer_point);
        own_back(__func__);
    }
    sum += helper(1);
    OUT;
    return sum;
}

int main(void)
{
    IN;
    printf("%d\n", in_loop(10));
    printf("%d %d\n", nested(0), nested(1));
    printf("%d %d\n", out_of_qsort(9), out_of_qsort(13));
    printf("%d\n", same_place(4));
    OUT;
    return 0;
}

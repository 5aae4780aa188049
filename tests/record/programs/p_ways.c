/* Known calls, built in all the ways in which compilers prepare functions for being traced: the
 * same calls each time. Prints how many of each. */
#include <stdio.h>
#include <stdlib.h>

static unsigned counts[4];
#ifdef ZEROS /* behind all else */
volatile char zeros[ZEROS];
#endif

__attribute__((noinline)) static int leaf(int n)
{
    counts[0]++;
    return n * 3 + 1;
}

__attribute__((noinline)) static int branch(int n)
{
    counts[1]++;
    if (n % 2 == 0)
        return leaf(n);
    return leaf(n) + leaf(n + 1);
}

__attribute__((noinline)) static int tree(int n)
{
    counts[2]++;
    if (n <= 0)
        return branch(n);
    int sum = tree(n - 1);
    for (int i = 0; i < 3; i++)
        sum += branch(i);
    return sum;
}

__attribute__((noinline)) static int compare(const void *a, const void *b)
{
    counts[3]++;
    return *(const int *)a - *(const int *)b;
}

int main(void)
{
    int list[] = {5, 3, 8, 1, 9, 2, 7}, sum = tree(20);
    qsort(list, 7, sizeof *list, compare);
    printf("%d %d\n", sum, list[3]);
    printf("leaf %u\nbranch %u\ntree %u\ncompare %u\nmain 1\n", counts[0], counts[1], counts[2],
           counts[3]);
    return 4;
}

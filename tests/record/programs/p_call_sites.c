/* Functions that are called from several lines: one of them in a loop, by itself, through a
 * pointer, by a jump of a function that is over then, and in a library. What test_call_sites.py
 * expects stands behind each call: the function's name, and how often. */
#include <stdlib.h>
#include <string.h>

#define FUNCTION __attribute__((noipa))
#define ROUNDS   9000

volatile int sum;

FUNCTION int work(int n)
{
    for (int i = 0; i < n % 7; i++)
        sum += i;
    return sum + n;
}

FUNCTION int deep(int n)
{
    sum += n;
    if (n == 0)
        return work(1) - sum; /* work 1 */
    int below = deep(n - 1);  /* deep 4 */
    sum += below;
    return (below ^ n) + 1;
}

FUNCTION int jumped(int n)
{
    sum += n;
    return work(n * n) - sum; /* work 1 */
}

FUNCTION int rounds(int (*pointer)(int))
{
    int all = work(2); /* work 1 */
    for (int i = 0; i < ROUNDS; i++)
        all += work(i); /* work 9000 */
    for (int i = 0; i < 3; i++)
        all += pointer(i); /* work 3 */
    return all;
}

FUNCTION int outer(int n)
{
    sum += n;
    return jumped(n + 1);
}

int main(int argc, char **argv)
{
    int all = rounds(work);       /* rounds 1 */
    all += deep(4);               /* deep 1 */
    all += outer(argc);           /* outer 1 */
    char *copy = strdup(argv[0]); /* strdup 1 */
    all += copy == NULL;
    free(copy); /* free 1 */
    return all == argc;
}

/* Labels as values, by distance: a jump to a label and a number of a table of -DTYPE. With -DMANY
 * there are eight, as fewer become something else with some compilers. */
#include <stdio.h>

#define TURNS 99

#ifdef MANY
#define LABELS 8
#define MORE   , &&e - &&a, &&g - &&a, &&h - &&a, &&i - &&a
#else
#define LABELS 4
#define MORE
#endif

__attribute__((noinline)) long chooses(unsigned op, long x)
{
    static const TYPE table[] = {&&a - &&a, &&b - &&a, &&c - &&a, &&d - &&a MORE};
    goto *(&&a + table[op]);
a:
    x = -x;
b:
    return x + 2;
c:
    x = ~x;
d:
    return -x;
#ifdef MANY
e:
    x += 3;
g:
    return x ^ 5;
h:
    x -= 9;
i:
    return ~x;
#endif
}

int main(void)
{
    long sum = 0;
    for (unsigned i = 0; i < TURNS; i++)
        sum = chooses(i % LABELS, sum) + i;
    printf("%ld\n", sum);
    return 0;
}

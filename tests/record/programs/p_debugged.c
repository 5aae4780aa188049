/* For debuggers: it says that it is there, and goes on until one says how many rounds are left; for
 * so many as its argument says.
 * Functions of which lines begin at each byte of their first five, and of their last. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

volatile int rest = 30000, kept;

void tick(void) { usleep(500); }

int quiet(void) { return 7; }

int outer(int a)
{
    tick();
    kept++;
    return a + 1;
}

int sum(int n)
{
    int all = 0;
    for (int i = 0; i < n; i++)
        all += i;
    return all;
}

int pick(int n)
{
    if (n % 3 == 0)
        return quiet();
    kept ^= n;
    return n;
}

int nested(int n)
{
    int made = sum(n) + pick(n);
    kept += made;
    return made;
}

int rounds(int i)
{
    int n = 0;
    n += outer(i);
    n += quiet();
    n += nested(i % 4);
    kept += n;
    return n;
}

int main(int count, char **words)
{
    int all = 0;
    if (count > 1)
        rest = atoi(words[1]);
    printf("there\n");
    fflush(stdout);
    for (int i = 0; rest > 0; i++, rest--)
        all += rounds(i);
    printf("over %d\n", rest);
    return all == 1;
}

/* A function that jumps to others by a table, the first of them right behind it. With the tables in
 * one segment with the code (-Wl,-z,noseparate-code), as gold puts them. With -DUNBOUNDED nothing
 * says how many entries the table has. */
#include <stdio.h>

#define ALONE __attribute__((noinline))
#define TURNS 600

static volatile long sum;
long first(const unsigned char *kind, long n);
long second(const unsigned char *kind, long n);
long third(const unsigned char *kind, long n);
long fourth(const unsigned char *kind, long n);
long fifth(const unsigned char *kind, long n);

ALONE long chooses(const unsigned char *kind, long n)
{
    switch (*kind) {
    case 0: return first(kind, n);
    case 1: return second(kind, n);
    case 2: return third(kind, n);
    case 3: return fourth(kind, n);
    case 4: return fifth(kind, n);
#ifdef UNBOUNDED
    default: __builtin_unreachable();
#else
    default: return 0;
#endif
    }
}

ALONE long first(const unsigned char *kind, long n) { return sum += n + *kind; }
ALONE long second(const unsigned char *kind, long n) { return sum -= n * *kind; }
ALONE long third(const unsigned char *kind, long n) { return sum ^= n + *kind; }
ALONE long fourth(const unsigned char *kind, long n) { return sum += 2 * n - *kind; }
ALONE long fifth(const unsigned char *kind, long n) { return sum += 7 * n + *kind; }

int main(void)
{
    unsigned char kinds[] = {0, 1, 2, 3, 4};
    long all = 0;
    for (int i = 0; i < TURNS; i++)
        all += chooses(&kinds[i % 5], i);
    printf("%ld\n", all);
    return 0;
}

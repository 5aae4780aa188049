/* A library, and the program that calls it. */
#include <stdlib.h>

int of_library(int a);

#ifdef LIBRARY
static volatile int used;
static __attribute__((noinline)) int within(int a) { return used = a * 3; }
int of_library(int a) { return within(a) + abs(a); }
#else
static __attribute__((noinline)) int own(int a) { return of_library(a) + 1; }
int main(void)
{
    int sum = 0;
    for (int i = 0; i < 5; i++)
        sum += own(i);
    return sum == 45 ? 3 : 1;
}
#endif

/* Sixty functions, each of which computes for a while of its own. `slow N` makes function N three
 * times as slow. */
#include <stdlib.h>

static volatile unsigned long sink;
static int slow;

__attribute__((noinline)) static void step(unsigned long count)
{
    for (unsigned long i = 0; i < count; i++)
        sink += i;
}

#define WORK(n)                                                                                    \
    __attribute__((noinline)) static void work_##n(void)                                           \
    {                                                                                              \
        for (int i = 0; i < (slow == 1##n ? 3 : 1); i++)                                           \
            for (unsigned long at = 0; at < 2000 + 25 * (1##n - 100); at++)                        \
                sink += at;                                                                        \
        step(40);                                                                                  \
    }
#define TEN(what, n)                                                                               \
    what(n##0) what(n##1) what(n##2) what(n##3) what(n##4) what(n##5) what(n##6) what(n##7)        \
        what(n##8) what(n##9)
#define SIXTY(what) TEN(what, 0) TEN(what, 1) TEN(what, 2) TEN(what, 3) TEN(what, 4) TEN(what, 5)
#define CALL(n)     work_##n();

SIXTY(WORK)

static void all(void) { SIXTY(CALL) }

int main(int argc, char **argv)
{
    slow = argc > 1 ? 100 + atoi(argv[1]) : 0;
    for (int round = 0; round < 60; round++)
        all();
    return 0;
}

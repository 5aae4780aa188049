/* Calls in an order that can be foretold: nesting, inlining, tail calls, large frames, alloca. */
#include <alloca.h>
#include <string.h>

#define NOINLINE __attribute__((noinline))

static volatile int sink;

NOINLINE void leaf(void) { sink++; }
static inline __attribute__((always_inline)) void inlined(void)
{
    sink++;
    leaf();
}
NOINLINE void middle(void)
{
    leaf();
    inlined();
    leaf();
}
NOINLINE int tail_callee(int x)
{
    leaf();
    return x + sink;
}
NOINLINE int tail_caller(int x) { return tail_callee(x + 1); }
NOINLINE void large(void)
{
    char room[8192];
    memset(room, 1, sizeof(room));
    sink += room[sink & 15];
    leaf();
    middle();
}
NOINLINE void grows(int size)
{
    leaf();
    char *room = alloca(size);
    memset(room, 1, size);
    sink += room[sink & 15];
    leaf();
    room = alloca(2 * size);
    memset(room, 1, size);
    sink += room[sink & 15];
    middle();
}
NOINLINE int many(int a, int b, int c, int d, int e, int f, int g, int h, int i)
{
    leaf();
    return a + b + c + d + e + f + g + h + i;
}
NOINLINE void recursive(int n)
{
    if (n > 0)
        recursive(n - 1);
    leaf();
}

int main(void)
{
    middle();
    sink += tail_caller(1);
    large();
    grows(100);
    grows(10000);
    sink += many(1, 2, 3, 4, 5, 6, 7, 8, 9);
    recursive(3);
    return 0;
}

/* Jumps through a table of functions, and through what a structure has: an interpreter's way.
 * Known: main 1, execute 30, op_add 10, op_mul 10, op_slow 10, helper 30, by_method 30, method 30,
 * burn 1 */
#include "known.h"

struct object {
    long (*act)(struct object *self, long n);
    long state;
};

ALONE static long helper(long n)
{
    IN;
    sink += n;
    OUT;
    return n;
}

ALONE static long op_add(long n)
{
    IN;
    sink += n;
    TAIL(helper(n + 1));
}

ALONE static long op_mul(long n)
{
    IN;
    sink += n;
    TAIL(helper(n * 2));
}

ALONE static long op_slow(long n)
{
    IN;
    if (n == 17)
        burn(5);
    TAIL(helper(n));
}

static long (*volatile table[])(long) = {op_add, op_mul, op_slow};

ALONE static long execute(long n)
{
    IN;
    sink += n;
    TAIL(table[n % 3](n));
}

ALONE static long method(struct object *self, long n)
{
    IN;
    self->state += n;
    OUT;
    return self->state;
}

ALONE static long by_method(struct object *self, long n)
{
    IN;
    sink += n;
    TAIL(self->act(self, n));
}

int main(void)
{
    IN;
    struct object one = {method, 0};
    __asm__ volatile("" : "+m"(one));
    for (long i = 0; i < 30; i++) {
        sink += execute(i);
        sink += by_method(&one, i);
    }
    OUT;
    return 0;
}

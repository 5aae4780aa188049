/* Functions that end with a jump to another one where the compiler makes one of a call in last
 * place. Built without such jumps, the same program says who calls whom. */
#include <signal.h>
#include <stdlib.h>

#include "own.h"

#define ALONE_HERE __attribute__((noinline, noipa)) static unsigned

typedef unsigned (*function)(unsigned);
struct object {
    const function *table;
};

static volatile unsigned sink;

ALONE_HERE spins(unsigned n)
{
    unsigned hash = n;
    for (unsigned i = 0; i < n; i++)
        hash = hash * 31 + i;
    return sink = hash;
}
ALONE_HERE looks_up(unsigned i) { return spins(i == 77 ? 300000 : 30); }
ALONE_HERE serves(unsigned i) { return looks_up(i) + spins(50); }
ALONE_HERE after(unsigned i) { return sink += i; }

/* -- through registers, memory, a condition; and where nothing of what is jumped to is seen -- */
ALONE_HERE plain(unsigned i) { return sink += i + 1; }
ALONE_HERE other(unsigned i) { return sink += i + 2; }
static volatile function to_plain = plain, to_library = (function)(void *)rand;
ALONE_HERE by_pointer(unsigned i) { return to_plain(i + 3); }
ALONE_HERE by_condition(unsigned i)
{
    if (i % 3 == 0)
        return plain(i);
    sink++;
    return i % 3 == 1 ? by_pointer(i) : 7;
}
ALONE_HERE unseen_direct(unsigned i)
{
    sink += i;
    return (unsigned)strtoul("7", 0, 10);
}
ALONE_HERE unseen_by_pointer(unsigned i) { return to_library(i + 5); }
ALONE_HERE unseen_then(unsigned i)
{
    after(i);
    return unseen_direct(i);
}
static const function of_a[] = {plain, by_pointer}, of_b[] = {other, by_condition};
ALONE_HERE by_table(const struct object *object, unsigned i) { return object->table[i % 2](i); }

/* One call site for all of them. */
ALONE_HERE dispatches(unsigned turns)
{
    static const function all[] = {unseen_direct, plain, unseen_by_pointer, other, by_condition,
                                   plain,         after, unseen_then,       plain, by_pointer};
    static const struct object objects[] = {{of_a}, {of_b}};
    for (unsigned i = 0; i < turns; i++) {
        sink += all[i % 10](i);
        sink += by_table(&objects[i % 3 == 0], i);
        after(i);
    }
    return sink;
}

/* -- loops of jumps -- */
ALONE_HERE pong(unsigned n);
ALONE_HERE ping(unsigned n) { return n == 0 ? 1 : pong(n - 1); }
ALONE_HERE pong(unsigned n)
{
    sink++;
    return n == 0 ? 2 : ping(n - 1);
}
ALONE_HERE second(unsigned n);
ALONE_HERE third(unsigned n);
ALONE_HERE first(unsigned n)
{
    after(n);
    if (n == 0)
        return 1;
    return n % 2 == 0 ? second(n - 1) : third(n - 1);
}
ALONE_HERE second(unsigned n)
{
    sink++;
    return n == 0 ? 2 : third(n - 1);
}
ALONE_HERE third(unsigned n)
{
    sink += n;
    after(n);
    return n == 0 ? 3 : first(n - 1);
}

/* -- a handler between the two, and one that ends so itself -- */
ALONE_HERE handles_last(unsigned number) { return sink += number; }
static void handles(int number)
{
    after(1);
    handles_last((unsigned)number);
}
ALONE_HERE raises(unsigned i)
{
    (void)raise(SIGUSR1);
    return plain(i);
}
ALONE_HERE raises_in_last(unsigned i)
{
    after(i);
    return (unsigned)raise(SIGUSR1);
}

ALONE_HERE finishes(unsigned i) { return after(i) & 0; }

int main(int argc, char **argv)
{
    unsigned turns = (unsigned)own_argument(argc, argv, 1, 100);
    unsigned rounds = (unsigned)own_argument(argc, argv, 2, 0);
    signal(SIGUSR1, handles);
    for (unsigned i = 0; i < turns; i++)
        serves(i);
    dispatches(turns);
    for (unsigned i = 0; i < 3; i++) {
        raises(i);
        raises_in_last(i);
        after(i);
    }
    if (rounds != 0) {
        ping(rounds);
        after(0);
        first(rounds);
        after(0);
    }
    return (int)finishes(turns);
}

/* Calls that other sources than the instructions name: direct, inlined, through a pointer that the
 * compiler knows, tail calls, between files. Built twice: -DPART=1 the other file. */
#define KEEP __attribute__((noinline))

void other(int x);

#if PART == 1

volatile int sink;

KEEP static void same_name(int x) { sink += x; }

void other(int x)
{
    same_name(x);
    sink = x;
}

#else

typedef void (*function)(int x);

KEEP static void same_name(int x)
{
    other(x);
    other(x + 1);
}

KEEP static void one(int x) { other(x); }
KEEP static void two(int x)
{
    same_name(x);
    other(x + 2);
}

static function const table[] = {one, two};

static inline void inlined(int x)
{
    two(x);
    other(x);
}

KEEP void by_table(int x)
{
    table[x & 1](x);
    other(0);
}

KEEP void by_tail(int x)
{
    inlined(x);
    one(x);
}

int main(int argc, char **argv)
{
    (void)argv;
    by_table(argc);
    by_tail(argc);
    return 0;
}
#endif

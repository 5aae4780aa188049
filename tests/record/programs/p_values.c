/* Functions that are given, and return, one value of each kind that C has; what they are given is
 * in test_values.py. Built with and without optimisation, by two compilers. */
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define FUNCTION __attribute__((noinline))
#define BARRIER  __asm__ volatile("" ::: "memory")

enum color { RED, GREEN = 5, BLUE = 9 };
enum signs { MINUS = -1, ZERO, PLUS = 200 };
enum masks { LOW = 1, BYTE = 0xff, HALF = 0xffff, WORD = 0x80000000 };
struct pair {
    int a;
    double b;
};
struct small {
    short x, y;
};
struct large {
    long x[5];
};
struct __attribute__((packed)) tight { /* with fields that are not aligned: in memory */
    char m;
    long n;
    short k;
};
struct __attribute__((packed)) close { /* with all that are */
    int n;
    short k;
    char m;
};
union number {
    long l;
    double d;
};
/* Of many fields: names that would not all have room. */
#define NAME(n) a_constant_whose_name_is_as_long_as_those_of_some_large_libraries_##n
#define TEN(n)                                                                                     \
    NAME(n##0), NAME(n##1), NAME(n##2), NAME(n##3), NAME(n##4), NAME(n##5), NAME(n##6),            \
        NAME(n##7), NAME(n##8), NAME(n##9)
enum wordy { TEN(1), TEN(2), TEN(3), TEN(4), TEN(5), TEN(6) };
struct wordies {
    enum wordy a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p;
};
typedef const char *text;
struct point {
    short x, y;
};
struct record {
    int id;
    text name;
    char code[4]; /* without a zero */
    unsigned low : 3;
    signed int middle : 5;
    enum color color;
    struct point at;
    union {
        unsigned bits;
        float number;
    };
    long double wide;
    struct record *next;
    long list[2];
};
typedef unsigned int counter;

FUNCTION int integers(signed char a, short b, int c, long d, long long e)
{
    BARRIER;
    return (int)(a + b + c + d + e);
}
FUNCTION int variadic(int a, ...)
{
    BARRIER;
    return a;
}
FUNCTION unsigned unsigneds(unsigned char a, unsigned short b, counter c, uint64_t d, size_t e)
{
    BARRIER;
    return (unsigned)(a + b + c + d + e);
}
FUNCTION float floats(float a, double b, int c, float d)
{
    BARRIER;
    return (float)(a + b + c + d);
}
FUNCTION double no_numbers(double a, float b, float c)
{
    BARRIER;
    return a + (double)b + (double)c;
}
FUNCTION text texts(text a, char *b, const unsigned char *c, const char *const d)
{
    BARRIER;
    return c != NULL && b != NULL && d == NULL ? a : d;
}
FUNCTION enum signs enums(enum color a, enum signs b, _Bool c, char d)
{
    BARRIER;
    return a == BLUE && c && d == 'x' ? b : PLUS;
}
FUNCTION enum masks masks(enum masks a, enum masks b)
{
    BARRIER;
    return a == HALF && b == BYTE ? WORD : LOW;
}
FUNCTION struct tight packeds(struct tight a, int b, struct close c, int d)
{
    BARRIER;
    a.n += b + c.n + d;
    return a;
}
FUNCTION struct pair pairs(struct pair a, struct small b)
{
    BARRIER;
    a.a += b.x;
    return a;
}
FUNCTION struct large larges(int before, struct large a, int after)
{
    BARRIER;
    a.x[0] += before + after;
    return a;
}
FUNCTION long unions(union number a, void (*b)(void), int *c, int d[3])
{
    BARRIER;
    return a.l + (b != NULL) + (c != NULL) + (d != NULL);
}
FUNCTION long stacks(long a, long b, long c, long d, long e, long f, long g, signed char h, text i)
{
    BARRIER;
    return a + b + c + d + e + f + g + h + (i != NULL);
}
FUNCTION double many_floats(double a, double b, double c, double d, double e, double f, double g,
                            double h, float i, int j)
{
    BARRIER;
    return a + b + c + d + e + f + g + h + (double)i + j;
}
FUNCTION long double wides(long double a, int b)
{
    BARRIER;
    return a + b;
}
FUNCTION __int128 halves(__int128 a, int b)
{
    BARRIER;
    return a + b;
}
FUNCTION int nowhere(const char *a, const char *b, int c)
{
    BARRIER;
    return a != b ? c : 0;
}
FUNCTION int records(const struct record *a, struct record b, int c)
{
    BARRIER;
    return a == NULL ? c : b.id;
}
FUNCTION struct record *found(struct record *a)
{
    BARRIER;
    return a;
}
FUNCTION int wordy(const struct wordies *a, int b)
{
    BARRIER;
    return a != NULL ? b : 0;
}
FUNCTION long fourteen(int a, int b, int c, int d, int e, int f, int g, int h, int i, int j, int k,
                       long double l, text m, struct point n)
{
    BARRIER;
    return a + b + c + d + e + f + g + h + i + j + k + (long)l + (m != NULL) + n.x;
}
FUNCTION void nothing(void) { BARRIER; }
FUNCTION long above(void)
{
    BARRIER;
    return 7;
}
FUNCTION long tail(long a)
{
    BARRIER;
    return integers(1, 2, 3, 4, a);
}

static FUNCTION int inner(int a, int unused, text b)
{
    BARRIER;
    (void)unused;
    return a + (b != NULL);
}

/* A text that ends where memory does, and one that does not end there. */
static void at_the_end(void)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *two = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (two == MAP_FAILED)
        return;
    munmap(two + page, page);
    struct record *cut = (struct record *)(void *)(two + page - offsetof(struct record, at));
    cut->id = 6;
    cut->name = (text)16;
    records(cut, *(struct record *)(void *)two, 3);
    memset(two, 'z', page);
    memcpy(two + page - 5, "ends", 5);
    nowhere(two + page - 5, (const char *)16, 1);
    two[page - 1] = '!';
    nowhere(two + page - 5, NULL, 2);
}

int table[8];
typedef long (*reached)(void);
FUNCTION const int *pointed(reached f, const int *at, reached g)
{
    BARRIER;
    return f != NULL && at == table + 4 && g == NULL ? table : NULL;
}

int main(int argc, char **argv)
{
    struct pair pair = {7, 2.5};
    struct small small = {3, -4};
    struct large large = {{10, 20, 30, 40, 50}};
    struct tight tight = {11, 22, 33};
    struct close close = {-2, 5, 'c'};
    union number number = {.l = -6};
    static char buffer[] = "buffer";
    int list[3] = {1, 2, 3};
    static struct record record = {.id = 5,
                                   .name = "name",
                                   .code = {'c', 'o', 'd', 'e'},
                                   .low = 6,
                                   .middle = -3,
                                   .color = GREEN,
                                   .at = {-2, 9},
                                   .number = 1.5f,
                                   .wide = -1e-30L};
    static struct wordies wordies = {.p = NAME(11)};
    integers(-1, -300, -70000, -5000000000, 9);
    unsigneds(255, 65535, 4000000000u, UINT64_MAX, 1);
    floats(1.5f, -2.25, 3, 1e-40f);
    no_numbers(__builtin_inf(), -__builtin_inff(), -0.0f);
    texts("a text", buffer, (const unsigned char *)"no text", NULL);
    enums(BLUE, MINUS, 1, 'x');
    enums(RED, PLUS, 0, 'y');
    masks(HALF, BYTE);
    tight = packeds(tight, 44, close, 55);
    pair = pairs(pair, small);
    large = larges(1, large, 2);
    unions(number, nothing, list, list);
    stacks(1, 2, 3, 4, 5, 6, 7, -8, "ninth");
    many_floats(1, 2, 3, 4, 5, 6, 7, 8, 9.5f, 10);
    wides(1.0L, 11);
    halves((__int128)1 << 64 | 2, 12);
    records(&record, record, 1);
    records(NULL, record, 2);
    found(&record);
    wordy(&wordies, 7);
    fourteen(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 1e4932L, "thirteen", record.at);
    at_the_end();
    pointed(above, table + 4, NULL);
    pointed(NULL, (const int *)16, above);
    nothing();
    above();
    tail(argc);
    variadic(4, 5, 6.0);
    inner(argc, 2, "inner");
    return argv == NULL || tight.n != 119 || pair.a != 10 || large.x[0] != 13;
}

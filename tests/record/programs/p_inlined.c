/* Inlined functions that count their calls, in callers of all kinds: with and without a frame, in
 * loops, with values in registers, flags, vectors and below the stack pointer across them. */
#include <stdint.h>
#include <stdio.h>

#define INLINED static inline __attribute__((always_inline))
#define OURS    __attribute__((noinline))

static volatile long mixed, doubled, scaled, carried, looped, walked;

INLINED uint32_t mix(uint32_t x)
{
    mixed++;
    x ^= x >> 13;
    x *= 0x5bd1e995;
    return x ^ x >> 15;
}
INLINED uint32_t twice(uint32_t x)
{
    doubled++;
    return mix(x) + mix(x + 1) * 3;
}
INLINED double scale(double x, double by)
{
    scaled++;
    return x * by + 0.5;
}
/* The carry of one addition goes into the next. */
INLINED uint64_t carry(uint64_t a, uint64_t b, uint64_t *high)
{
    uint64_t low;
    carried++;
    *high += __builtin_add_overflow(a, b, &low);
    return low;
}
INLINED long loops(long n)
{
    long sum = 0;
    looped++;
    for (long i = 0; i < n; i++)
        sum += i ^ sum << 1;
    return sum;
}
/* Its code begins with its own loop. */
INLINED long walks(const char *text)
{
    long count = 0;
    while (text[count] != 0)
        count++;
    walked++;
    return count;
}

OURS uint32_t leaf(uint32_t x) { return mix(x) ^ 5; }
OURS uint32_t nested(uint32_t x) { return twice(x ^ 3); }
OURS uint32_t around(uint32_t n)
{
    uint32_t sum = 0;
    for (uint32_t i = 0; i < n; i++)
        sum += mix(i ^ sum);
    return sum;
}
OURS double vectors(double x, double y)
{
    double sum = x;
    for (int i = 0; i < 4; i++)
        sum = scale(sum, y) + scale(y, x);
    return sum;
}
OURS uint64_t wide(uint64_t a, uint64_t b)
{
    uint64_t high = 0, low = carry(a, b, &high);
    low = carry(low, a, &high);
    return low ^ high << 1;
}
/* Below the stack pointer, where no call is made. */
OURS long red(long x)
{
    volatile long kept[6] = {x, x + 1, x + 2, x + 3, x + 4, x + 5};
    long sum = loops(x & 7);
    for (int i = 0; i < 6; i++)
        sum = sum * 3 + kept[i];
    return sum;
}
OURS long texts(const char *a, const char *b) { return walks(a) * 100 + walks(b); }
OURS long again(long n) { return n == 0 ? leaf(1) : again(n - 1) + mix((uint32_t)n); }

int main(void)
{
    uint64_t sum = 0;
    double total = 0;
    for (uint32_t i = 0; i < 100; i++) {
        sum = sum * 31 + leaf(i) + nested(i) + around(i % 5);
        sum = sum * 31 + wide(UINT64_MAX - i, i * 7919) + (uint64_t)red(i) + (uint64_t)again(i % 3);
        sum += (uint64_t)texts("some", "longer text");
        total += vectors(i, 0.25);
    }
    printf("%llx %.17g\n", (unsigned long long)sum, total);
    printf("mix %ld twice %ld scale %ld carry %ld loops %ld walks %ld\n", mixed, doubled, scaled,
           carried, looped, walked);
    return 0;
}

/* Square roots without the mathematical library: the same on every machine. */
#ifndef TTP_FORMAT_ROOT_H
#define TTP_FORMAT_ROOT_H

#include <stdint.h>
#include <string.h>

/* A power of two that is no less than the root, nor more than twice as much. */
static inline double ttp_above_root(double value)
{
    uint64_t bits;
    if (value <= 1)
        return 1;
    memcpy(&bits, &value, sizeof bits);
    bits = ((bits >> 52) - 1023) / 2 + 1; /* of the exponent half, and one more */
    bits = (bits + 1023) << 52;
    memcpy(&value, &bits, sizeof bits);
    return value;
}

/* The root, by Newton's method from above; what is not above 0 has 0. */
static inline double ttp_root(long double value)
{
    if (!(value > 0))
        return 0;
    long double root = ttp_above_root((double)value), next = (root + value / root) / 2;
    for (int i = 0; i < 200 && next < root; i++) {
        root = next;
        next = (root + value / root) / 2;
    }
    return (double)root;
}

#endif

/* Unsigned numbers of 128 bits in two halves, modulo 2^128: sums of squares (F-SUM-05), products
 * with a scale. Compilers for 32-bit machines have no type of that size; where there is one it
 * multiplies and adds, and the results are the same. */
#ifndef TTP_FORMAT_WIDE_H
#define TTP_FORMAT_WIDE_H

#include <tracetape/types.h>

#ifdef __SIZEOF_INT128__
__extension__ typedef unsigned __int128 ttp_u128; /* the standard has no name for it */
__extension__ typedef __int128 ttp_i128;
#endif

/* a * b by schoolbook, with digits of 32 bits. */
static inline ttape_wide ttp_wide_multiply_digits(uint64_t a, uint64_t b)
{
    uint64_t a0 = (uint32_t)a, a1 = a >> 32, b0 = (uint32_t)b, b1 = b >> 32;
    uint64_t low = a0 * b0, one = a1 * b0 + (low >> 32), other = a0 * b1 + (uint32_t)one;
    return (ttape_wide){(other << 32) | (uint32_t)low, a1 * b1 + (one >> 32) + (other >> 32)};
}

static inline ttape_wide ttp_wide_multiply(uint64_t a, uint64_t b)
{
#ifdef __SIZEOF_INT128__
    ttp_u128 product = (ttp_u128)a * b;
    return (ttape_wide){(uint64_t)product, (uint64_t)(product >> 64)};
#else
    return ttp_wide_multiply_digits(a, b);
#endif
}

static inline ttape_wide ttp_wide_add(ttape_wide a, ttape_wide b)
{
#ifdef __SIZEOF_INT128__ /* an instruction less for each frame that ends */
    ttp_u128 sum = ((ttp_u128)a.high << 64 | a.low) + ((ttp_u128)b.high << 64 | b.low);
    return (ttape_wide){(uint64_t)sum, (uint64_t)(sum >> 64)};
#else
    ttape_wide sum = {a.low + b.low, a.high + b.high};
    sum.high += sum.low < a.low;
    return sum;
#endif
}

static inline ttape_wide ttp_wide_scale(ttape_wide a, uint64_t by)
{
    ttape_wide product = ttp_wide_multiply(a.low, by);
    product.high += a.high * by;
    return product;
}

static inline ttape_wide ttp_wide_square(int64_t value)
{
#ifdef __SIZEOF_INT128__ /* signed: no need to know of which sign it is */
    ttp_u128 square = (ttp_u128)((ttp_i128)value * value);
    return (ttape_wide){(uint64_t)square, (uint64_t)(square >> 64)};
#else
    uint64_t size = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    return ttp_wide_multiply(size, size);
#endif
}

#endif

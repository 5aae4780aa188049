/* How both coded forms of time split a difference: a symbol, and raw low bits nothing predicts.
 *
 *   direct below 64 | 32 symbols an octave below 2048 | one an octave | 245: a wide difference
 *
 * T-STA-40 and T-MIX-08 say the same thing, each for its own form. */
#ifndef TTP_FORMAT_TICK_SYMBOL_H
#define TTP_FORMAT_TICK_SYMBOL_H

#include <stdint.h>

#include "format/times/times.h"

#define TTP_TICK_ESCAPE 245u /* the symbol of a wide difference */

static inline uint32_t ttp_tick_symbol(uint32_t delta)
{
    if (delta < 64)
        return delta;
    uint32_t top = 31u - (uint32_t)__builtin_clz(delta);
    if (delta < 2048)
        return ((top - 5) << 5) + (delta >> (top - 5));
    return delta == TTP_DELTA_WIDE ? TTP_TICK_ESCAPE : 213 + top;
}

static inline uint32_t ttp_tick_raw_bits(uint32_t symbol)
{
    return symbol < 64 ? 0 : symbol < 224 ? (symbol >> 5) - 1 : symbol < 245 ? symbol - 213 : 0;
}

/* The least difference of a symbol. */
static inline uint32_t ttp_tick_base(uint32_t symbol)
{
    if (symbol < 64)
        return symbol;
    if (symbol < 224)
        return ((symbol & 31) | 32) << ((symbol >> 5) - 1);
    return symbol < 245 ? 1u << (symbol - 213) : TTP_DELTA_WIDE;
}

#endif

/* Keys of hash tables that files and programs fill: nobody can choose entries that all collide. */
#ifndef TTP_WRITER_SECRET_H
#define TTP_WRITER_SECRET_H

#include <stdint.h>

/* An odd number that is not known outside of this process. What is stored never depends on it. */
uint64_t ttp_secret_key(void);

/* A place of 64 bits under a key: multiplying by an unknown odd number makes any two entries
 * collide with a chance of at most 2 / slots, the second round spreads runs. */
static inline uint64_t ttp_secret_hash(uint64_t value, uint64_t key)
{
    value *= key;
    value = (value ^ value >> 32) * UINT64_C(0xd6e8feb86659fd93);
    return value ^ value >> 32;
}

#endif

/* Places in hash tables that files and programs fill: nobody can choose entries that all collide.
 *
 * The key is an odd number that is not known outside of the process, from whoever owns the table
 * (this folder asks the system for nothing). What is read or written never depends on it. Whoever
 * has no secret gives 0, and tables here then take 1, which is odd. */
#ifndef TTP_FORMAT_SECRET_HASH_H
#define TTP_FORMAT_SECRET_HASH_H

#include <stdint.h>

/* A place of 64 bits under a key; take as many as there are slots for, from either end. Multiplying
 * by an unknown odd number makes any two entries collide with a chance of at most 2 / slots, the
 * second round spreads runs. */
static inline uint64_t ttp_secret_hash(uint64_t value, uint64_t key)
{
    value *= key;
    value = (value ^ value >> 32) * UINT64_C(0xd6e8feb86659fd93);
    return value ^ value >> 32;
}

#endif

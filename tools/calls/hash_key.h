/* Keys of hash tables that inputs fill: an input cannot choose entries that all collide. */
#ifndef TOOL_HASH_KEY_H
#define TOOL_HASH_KEY_H

#include <stdint.h>

/* An odd number that is not known outside of this process. What is written never depends on it. */
uint64_t tool_hash_key(void);

/* A place of 64 bits under a key; take as many as there are slots for, from either end. Multiplying
 * by an unknown odd number makes any two values collide with a chance of at most 2 / slots, the
 * second round spreads runs. */
static inline uint64_t tool_hash_place(uint64_t value, uint64_t key)
{
    value *= key;
    value = (value ^ value >> 32) * 0xD6E8FEB86659FD93u;
    return value ^ value >> 32;
}

#endif

/* Keys of hash tables that inputs fill: nobody can choose entries that all collide. */
#ifndef TOOL_HASH_KEY_H
#define TOOL_HASH_KEY_H

#include <stdint.h>

/* An odd number that is not known outside of this process. What is written never depends on it. */
uint64_t tool_hash_key(void);

#endif

/* From the system's random numbers; where there are none yet, from where the loader put us. */
#include <sys/random.h>

#include "tools/calls/hash_key.h"

uint64_t tool_hash_key(void)
{
    uint64_t key;
    if (getrandom(&key, sizeof(key), GRND_NONBLOCK) != (ssize_t)sizeof(key))
        key = (uint64_t)(uintptr_t)&key * 0x9E3779B97F4A7C15u ^ (uint64_t)(uintptr_t)&tool_hash_key;
    return key | 1;
}

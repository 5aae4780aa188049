/* From the system's random numbers; where there are none yet, from where the loader put us. */
#include "base/secret.h"

#ifndef TTP_NO_THREADS
#include <sys/random.h>
#endif

uint64_t ttp_secret_key(void)
{
    uint64_t key;
#ifndef TTP_NO_THREADS
    if (getrandom(&key, sizeof key, GRND_NONBLOCK) != (ssize_t)sizeof key)
#endif
        key = (uint64_t)(uintptr_t)&key * UINT64_C(0x9e3779b97f4a7c15) ^
              (uint64_t)(uintptr_t)&ttp_secret_key;
    return key | 1;
}

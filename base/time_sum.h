/* Sums of times as a file has them: where they pass 64 bits, which no real time does, they wrap
 * around as the library's do. */
#ifndef TTP_BASE_TIME_SUM_H
#define TTP_BASE_TIME_SUM_H

#include <stdint.h>

static inline void ttp_sum_ns(int64_t *sum, int64_t time_ns)
{
    *sum = (int64_t)((uint64_t)*sum + (uint64_t)time_ns);
}

/* From a to b. */
static inline int64_t ttp_change_ns(int64_t a_ns, int64_t b_ns)
{
    return (int64_t)((uint64_t)b_ns - (uint64_t)a_ns);
}

#endif

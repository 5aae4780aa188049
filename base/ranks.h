/* What has most time, or most calls, first. */
#ifndef TTP_BASE_RANKS_H
#define TTP_BASE_RANKS_H

#include <stddef.h>
#include <stdint.h>

struct ttp_rank {
    uint32_t group;  /* groups ascend; within one the largest comes first */
    uint32_t index;  /* what it is the rank of; the lower one first where all else is equal */
    uint64_t weight; /* of times: ttp_weight_of_ns */
    uint64_t calls;
};

/* Times below zero weigh less than others. */
static inline uint64_t ttp_weight_of_ns(int64_t time_ns)
{
    return (uint64_t)time_ns ^ (UINT64_C(1) << 63);
}

void ttp_sort_ranks(struct ttp_rank *ranks, size_t count);

#endif

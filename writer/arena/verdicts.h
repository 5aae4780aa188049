/* Functions whose calls are left out whatever is around them: the recorder says so while the
 * program runs, and hooks write nothing of these calls any more.
 *
 *     bucket (64 bytes)   4 x { image, function }
 *
 * One side writes, and a verdict is never changed nor taken back: image first, then function. Zero
 * is none yet. An image is one program in one process, so an address means one function, as long as
 * nothing is unloaded: a program that unloads modules looks here no more. */
#ifndef TTP_WRITER_VERDICTS_H
#define TTP_WRITER_VERDICTS_H

#include <stdbool.h>
#include <stdint.h>

#include "writer/arena/arena.h"

#define TTP_VERDICTS_AT     (3 * TTP_BLOCK_BYTES) /* where notes end */
#define TTP_VERDICT_BUCKETS 4096u
#define TTP_VERDICTS_EACH   4u
#define TTP_VERDICT_EVERY   64u /* calls that are left out, after which the recorder says so */

struct ttp_verdict {
    uint64_t image, function;
};

struct ttp_verdict_bucket {
    struct ttp_verdict items[TTP_VERDICTS_EACH];
};

#define TTP_VERDICT_BYTES (TTP_VERDICT_BUCKETS * sizeof(struct ttp_verdict_bucket))

_Static_assert(sizeof(struct ttp_verdict_bucket) == 64, "a line of the cache");
_Static_assert(TTP_VERDICT_BYTES % TTP_BLOCK_BYTES == 0, "blocks begin behind them");

/* So that the same program's processes do not meet in few buckets. */
static inline uint64_t ttp_verdict_seed(uint64_t image)
{
    return image * UINT64_C(0x9E3779B97F4A7C15) >> 40;
}

static inline struct ttp_verdict_bucket *ttp_verdict_bucket_of(struct ttp_verdict_bucket *buckets,
                                                               uint64_t seed, uint64_t function)
{
    return buckets + (((function >> 4) ^ seed) & (TTP_VERDICT_BUCKETS - 1));
}

static inline bool ttp_verdict_is_there(struct ttp_verdict_bucket *buckets, uint64_t seed,
                                        uint64_t image, uint64_t function)
{
    const struct ttp_verdict *at = ttp_verdict_bucket_of(buckets, seed, function)->items;
    for (uint32_t i = 0; i < TTP_VERDICTS_EACH; i++) {
        uint64_t found = __atomic_load_n(&at[i].function, __ATOMIC_ACQUIRE);
        if (found == function && at[i].image == image)
            return true;
        if (found == 0)
            return false;
    }
    return false;
}

#endif

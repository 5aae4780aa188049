/* Functions whose calls are left out whatever is around them: the recorder says so while the
 * program runs, and hooks write nothing of these calls any more.
 *
 *     line (64 bytes)   8 x function << 17 | image
 *
 * One side writes, by one store; a verdict is never changed nor taken back. Zero is none yet. An
 * image is one program in one process, so an address means one function, as long as nothing is
 * unloaded: a program that unloads modules looks here no more. */
#ifndef TTP_WRITER_VERDICTS_H
#define TTP_WRITER_VERDICTS_H

#include <stdbool.h>
#include <stdint.h>

#include "recorder/arena/arena.h"

#define TTP_VERDICTS_AT    (3 * TTP_BLOCK_BYTES) /* where notes end */
#define TTP_VERDICT_SLOTS  16384u
#define TTP_VERDICT_LINE   8u
#define TTP_VERDICT_BYTES  (TTP_VERDICT_SLOTS * sizeof(uint64_t))
#define TTP_VERDICT_IMAGES (UINT64_C(1) << 17) /* later ones have none */
#define TTP_VERDICT_EVERY  64u /* calls that are left out, after which the recorder says so */

_Static_assert(TTP_VERDICT_BYTES % TTP_BLOCK_BYTES == 0, "blocks begin behind them");

/* So that the same program's processes do not meet in few lines. */
static inline uint64_t ttp_verdict_seed(uint64_t image)
{
    return image * UINT64_C(0x9E3779B97F4A7C15) >> 40;
}

/* 0, of which there are none, where it has none. */
static inline uint64_t ttp_verdict_image(uint64_t image)
{
    return image < TTP_VERDICT_IMAGES ? image : 0;
}

static inline uint64_t ttp_verdict_word(uint64_t image, uint64_t function)
{
    return function << 17 | image;
}

static inline uint32_t ttp_verdict_slot(uint64_t seed, uint64_t function)
{
    return (uint32_t)((function >> 6) ^ seed) & (TTP_VERDICT_SLOTS - 1);
}

/* In the same line. */
static inline uint32_t ttp_verdict_next(uint32_t slot)
{
    return (slot & ~(TTP_VERDICT_LINE - 1)) | ((slot + 1) & (TTP_VERDICT_LINE - 1));
}

static inline bool ttp_verdict_is_there(const uint64_t *verdicts, uint64_t seed, uint64_t image,
                                        uint64_t function)
{
    uint64_t word = ttp_verdict_word(image, function);
    uint32_t slot = ttp_verdict_slot(seed, function);
    for (uint32_t i = 0; i < TTP_VERDICT_LINE; i++, slot = ttp_verdict_next(slot)) {
        uint64_t found = __atomic_load_n(&verdicts[slot], __ATOMIC_RELAXED);
        if (found == word)
            return true;
        if (found == 0)
            return false;
    }
    return false;
}

#endif

/* Machine code, written byte by byte into a stub. Once it did not fit, it has failed. Where it is
 * written is `shift` below the place that it is for. */
#ifndef TTP_RUNTIME_CODE_PUT_H
#define TTP_RUNTIME_CODE_PUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "recorder/arena/plan.h"

struct ttp_code_put {
    uint8_t *at, *end;
    uint64_t shift;
    bool failed;
};

static inline void ttp_put_code(struct ttp_code_put *w, const uint8_t *bytes, uint32_t count)
{
    if ((size_t)(w->end - w->at) < count) {
        w->failed = true;
        return;
    }
    for (uint32_t i = 0; i < count; i++)
        *w->at++ = bytes[i];
}

#define TTP_PUT(w, ...)                                                                            \
    do {                                                                                           \
        static const uint8_t bytes_[] = {__VA_ARGS__};                                             \
        ttp_put_code(w, bytes_, sizeof(bytes_));                                                   \
    } while (0)

static inline uint8_t *ttp_put_word(uint8_t *at, uint64_t value, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        at[i] = (uint8_t)(value >> 8 * i);
    return at + count;
}

static inline void ttp_put_distance(struct ttp_code_put *w, uint64_t target, uint32_t tail)
{
    int64_t distance = (int64_t)(target - ((uint64_t)(uintptr_t)w->at + w->shift + tail));
    uint8_t bytes[4];
    w->failed |= distance != (int32_t)distance;
    (void)ttp_put_word(bytes, (uint64_t)distance, 4);
    ttp_put_code(w, bytes, 4);
}

/* What a plan moves out of a window: before, then after. */
struct ttp_moved {
    const uint8_t *bytes;
    const struct ttp_plan_fixup *fixups;
    uint32_t fixup_count;
    uint64_t bias;
};

/* Its bytes [from, from + count), with their distances made right. */
static inline void ttp_put_moved(struct ttp_code_put *w, const struct ttp_moved *moved,
                                 uint32_t from, uint32_t count)
{
    uint8_t *start = w->at;
    ttp_put_code(w, moved->bytes + from, count);
    for (uint32_t i = 0; i < moved->fixup_count && !w->failed; i++) {
        const struct ttp_plan_fixup *fixup = &moved->fixups[i];
        if (fixup->at < from || fixup->at >= from + count)
            continue;
        struct ttp_code_put distance = {
            .at = start + (fixup->at - from), .end = w->at, .shift = w->shift};
        ttp_put_distance(&distance, moved->bias + fixup->target, fixup->tail);
        w->failed |= distance.failed;
    }
}

#endif

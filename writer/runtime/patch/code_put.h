/* Machine code, written byte by byte into a stub. Once it did not fit, it has failed. */
#ifndef TTP_RUNTIME_CODE_PUT_H
#define TTP_RUNTIME_CODE_PUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ttp_code_put {
    uint8_t *at, *end;
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

static inline void ttp_put_distance(struct ttp_code_put *w, uint64_t target, uint32_t tail)
{
    int64_t distance = (int64_t)(target - ((uint64_t)(uintptr_t)w->at + tail));
    uint8_t bytes[4];
    w->failed |= distance != (int32_t)distance;
    for (uint32_t i = 0; i < 4; i++)
        bytes[i] = (uint8_t)((uint64_t)distance >> 8 * i);
    ttp_put_code(w, bytes, 4);
}

#endif

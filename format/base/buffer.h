/* What a codec is given: bytes to read, room to write into, memory to work in. All of it is the
 * caller's. */
#ifndef TTP_FORMAT_BUFFER_H
#define TTP_FORMAT_BUFFER_H

#include <stddef.h>
#include <stdint.h>

struct ttp_bytes {
    const uint8_t *data;
    size_t size;
};

struct ttp_buffer {
    uint8_t *data;
    size_t capacity, size; /* size: what was written */
};

/* Aligned like malloc's memory, unless the codec says that it takes any. */
struct ttp_workspace {
    void *memory;
    size_t size;
};

/* Hands out one piece of memory after the other; where `memory` is NULL it only adds up `used`. */
struct ttp_carver {
    uint8_t *memory;
    size_t used;
};

#define TTP_CARVE_ALIGNMENT 64u /* a cache line, which suffices for every type */

static inline size_t ttp_carve_round(size_t bytes)
{
    return (bytes + TTP_CARVE_ALIGNMENT - 1) & ~(size_t)(TTP_CARVE_ALIGNMENT - 1);
}

static inline void *ttp_carve(struct ttp_carver *from, size_t count, size_t item_bytes)
{
    void *piece = from->memory != NULL ? from->memory + from->used : NULL;
    from->used = ttp_carve_round(from->used + count * item_bytes);
    return piece;
}

#endif

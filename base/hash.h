/* A 128-bit hash of content, for trace ids: the same input gives the same id. Not for checksums,
 * not cryptographic. */
#ifndef TOOL_HASH_H
#define TOOL_HASH_H

#include <stddef.h>
#include <stdint.h>

struct tool_hash {
    uint64_t low, high, size_bytes;
};

static inline uint64_t tool_mix(uint64_t value)
{
    value = (value ^ value >> 32) * 0xD6E8FEB86659FD93u;
    value = (value ^ value >> 32) * 0xD6E8FEB86659FD93u;
    return value ^ value >> 32;
}

static inline void tool_hash_word(struct tool_hash *hash, uint64_t word)
{
    hash->low = tool_mix(hash->low ^ word) + 0x9E3779B97F4A7C15u;
    hash->high = tool_mix(hash->high + (word ^ 0xC2B2AE3D27D4EB4Fu)) ^ hash->low;
}

static inline void tool_hash_bytes(struct tool_hash *hash, const void *data, size_t size_bytes)
{
    const unsigned char *bytes = data;
    uint64_t word = 0;
    for (size_t i = 0; i < size_bytes; i++) {
        word = word << 8 | bytes[i];
        if (i % 8 == 7 || i + 1 == size_bytes) {
            tool_hash_word(hash, word);
            word = 0;
        }
    }
    tool_hash_word(hash, size_bytes);
}

static inline void tool_hash_id(const struct tool_hash *hash, uint8_t id[16])
{
    uint64_t low = tool_mix(hash->low), high = tool_mix(hash->high ^ low);
    for (int i = 0; i < 8; i++) {
        id[i] = (uint8_t)(low >> (8 * i));
        id[i + 8] = (uint8_t)(high >> (8 * i));
    }
}

#endif

/* A 128-bit hash of content, for trace ids: the same input gives the same id. Not for checksums,
 * not cryptographic. */
#ifndef TTP_BASE_HASH_H
#define TTP_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

struct ttp_hash {
    uint64_t low, high, size_bytes;
};

static inline uint64_t ttp_mix64(uint64_t value)
{
    value = (value ^ value >> 32) * 0xD6E8FEB86659FD93u;
    value = (value ^ value >> 32) * 0xD6E8FEB86659FD93u;
    return value ^ value >> 32;
}

static inline void ttp_hash_word(struct ttp_hash *hash, uint64_t word)
{
    hash->low = ttp_mix64(hash->low ^ word) + 0x9E3779B97F4A7C15u;
    hash->high = ttp_mix64(hash->high + (word ^ 0xC2B2AE3D27D4EB4Fu)) ^ hash->low;
}

static inline void ttp_hash_bytes(struct ttp_hash *hash, const void *data, size_t size_bytes)
{
    const unsigned char *bytes = data;
    uint64_t word = 0;
    for (size_t i = 0; i < size_bytes; i++) {
        word = word << 8 | bytes[i];
        if (i % 8 == 7 || i + 1 == size_bytes) {
            ttp_hash_word(hash, word);
            word = 0;
        }
    }
    ttp_hash_word(hash, size_bytes);
}

static inline void ttp_hash_id(const struct ttp_hash *hash, uint8_t id[16])
{
    uint64_t low = ttp_mix64(hash->low), high = ttp_mix64(hash->high ^ low);
    for (int i = 0; i < 8; i++) {
        id[i] = (uint8_t)(low >> (8 * i));
        id[i + 8] = (uint8_t)(high >> (8 * i));
    }
}

#endif

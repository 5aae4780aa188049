/* A map from words that are not 0 (addresses, serials) to 32-bit numbers: open addressing, growing,
 * nothing is removed one by one. Programs, and recordings that are recovered, choose the words:
 * places are found under a secret. */
#ifndef TTP_WRITER_WORD_MAP_H
#define TTP_WRITER_WORD_MAP_H

#include "format/base/secret_hash.h"
#include "writer/growing.h"

struct ttp_map_slot {
    uint64_t key; /* 0: free */
    uint32_t value;
};

struct ttp_word_map {
    struct ttp_map_slot *slots;
    uint32_t capacity, count; /* capacity: a power of two, or 0 */
    uint64_t secret;
};

static inline uint32_t ttp_map_place(const struct ttp_word_map *map, uint64_t key)
{
    return (uint32_t)ttp_secret_hash(key, map->secret) & (map->capacity - 1);
}

/* The value, or TTAPE_NONE. */
static inline uint32_t ttp_map_find(const struct ttp_word_map *map, uint64_t key)
{
    if (map->capacity == 0)
        return TTAPE_NONE;
    for (uint32_t at = ttp_map_place(map, key);; at = (at + 1) & (map->capacity - 1)) {
        if (map->slots[at].key == key)
            return map->slots[at].value;
        if (map->slots[at].key == 0)
            return TTAPE_NONE;
    }
}

/* Sets the value of a key, known or new; 0 is no key, and never found. */
ttape_status ttp_map_set(const ttape_allocator *a, struct ttp_word_map *map, uint64_t key,
                         uint32_t value, ttape_error *err);
void ttp_map_free(const ttape_allocator *a, struct ttp_word_map *map);

#endif

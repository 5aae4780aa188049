/* A hash table from 64-bit keys to 32-bit numbers, for what a walk over calls looks up per call.
 * Its places are found under the memory's secret. Zero is an empty one. */
#ifndef TTP_ANSWERS_KEY_MAP_H
#define TTP_ANSWERS_KEY_MAP_H

#include "base/memory.h"
#include "format/base/fail.h"
#include "format/base/secret_hash.h"

#define TTP_KEY_MAP_FIRST 256u

struct ttp_key_slot {
    uint64_t key;
    uint32_t value, is_used;
};

struct ttp_key_map {
    struct ttp_key_slot *slots;
    uint64_t slot_count, used_count;
    uint32_t lost; /* for what has no place */
};

static inline struct ttp_key_slot *ttp_key_map_probe(const struct ttp_key_map *map, uint64_t secret,
                                                     uint64_t key)
{
    uint64_t mask = map->slot_count - 1, at = ttp_secret_hash(key, secret) & mask;
    while (map->slots[at].is_used != 0 && map->slots[at].key != key)
        at = (at + 1) & mask;
    return &map->slots[at];
}

static inline bool ttp_key_map_is_full(const struct ttp_key_map *map)
{
    return map->used_count * 2 >= map->slot_count;
}

static inline ttape_status ttp_key_map_grow(struct ttp_key_map *map, struct ttp_memory *memory,
                                            ttape_error *err)
{
    struct ttp_key_map old = *map;
    uint64_t count = old.slot_count > 0 ? old.slot_count * 2 : TTP_KEY_MAP_FIRST;
    struct ttp_key_slot *slots = ttp_memory_take(memory, count, sizeof *slots, err);
    if (slots == NULL)
        return memory->status;
    for (uint64_t i = 0; i < count; i++)
        slots[i] = (struct ttp_key_slot){0};
    map->slots = slots;
    map->slot_count = count;
    for (uint64_t i = 0; i < old.slot_count; i++)
        if (old.slots[i].is_used != 0)
            *ttp_key_map_probe(map, memory->hash_key, old.slots[i].key) = old.slots[i];
    ttp_memory_give(memory, old.slots, old.slot_count, sizeof *slots);
    return TTAPE_OK;
}

/* The place of a key's number, which is `missing` at first, in a map that is not full. It lives
 * until the next call. */
static inline uint32_t *ttp_key_map_at(struct ttp_key_map *map, const struct ttp_memory *memory,
                                       uint64_t key, uint32_t missing)
{
    struct ttp_key_slot *slot = ttp_key_map_probe(map, memory->hash_key, key);
    if (slot->is_used == 0) {
        *slot = (struct ttp_key_slot){key, missing, 1};
        map->used_count++;
    }
    return &slot->value;
}

static inline void ttp_key_map_close(struct ttp_key_map *map, struct ttp_memory *memory)
{
    ttp_memory_give(memory, map->slots, map->slot_count, sizeof *map->slots);
    *map = (struct ttp_key_map){0};
}

#endif

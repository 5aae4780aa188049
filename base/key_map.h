/* A hash table from 64-bit keys to 32-bit numbers, for what is looked up per call. Its places are
 * found under a secret: what fills it cannot choose keys that all collide. Zero is an empty one.
 * Slots come from whoever has memory for them: ttp_key_map_grow here, ttp_region_at in region.h. */
#ifndef TTP_BASE_KEY_MAP_H
#define TTP_BASE_KEY_MAP_H

#include <string.h>

#include "base/hash.h"
#include "base/memory.h"
#include "base/secret.h"
#include "format/base/fail.h"

struct ttp_key_slot {
    uint64_t key;
    uint32_t value, is_used;
};

struct ttp_key_map {
    struct ttp_key_slot *slots;
    uint64_t slot_count, used_count, secret;
    uint32_t lost; /* for what has no place */
};

static inline struct ttp_key_slot *ttp_key_map_probe(const struct ttp_key_map *map, uint64_t key)
{
    uint64_t mask = map->slot_count - 1, at = ttp_secret_hash(key, map->secret) & mask;
    while (map->slots[at].is_used != 0 && map->slots[at].key != key)
        at = (at + 1) & mask;
    return &map->slots[at];
}

static inline bool ttp_key_map_is_full(const struct ttp_key_map *map)
{
    return map->used_count * 2 >= map->slot_count;
}

/* How many slots a map that is full has next. */
static inline uint64_t ttp_key_map_next_count(const struct ttp_key_map *map)
{
    return map->slot_count > 0 ? map->slot_count * 2 : 256;
}

/* Moves into as many slots as come next, which are zero. Returns the old ones. */
static inline struct ttp_key_slot *ttp_key_map_move(struct ttp_key_map *map,
                                                    struct ttp_key_slot *slots)
{
    const struct ttp_key_map old = *map;
    map->slot_count = ttp_key_map_next_count(map);
    map->slots = slots;
    if (map->secret == 0)
        map->secret = ttp_secret_key();
    for (uint64_t i = 0; i < old.slot_count; i++)
        if (old.slots[i].is_used != 0)
            *ttp_key_map_probe(map, old.slots[i].key) = old.slots[i];
    return old.slots;
}

/* The place of a key's number, which is `missing` at first, in a map that is not full. It lives
 * until the next call. */
static inline uint32_t *ttp_key_map_at(struct ttp_key_map *map, uint64_t key, uint32_t missing)
{
    struct ttp_key_slot *slot = ttp_key_map_probe(map, key);
    if (slot->is_used == 0) {
        *slot = (struct ttp_key_slot){key, missing, 1};
        map->used_count++;
    }
    return &slot->value;
}

/* A key's number, without making a place for it. */
static inline uint32_t ttp_key_map_find(const struct ttp_key_map *map, uint64_t key,
                                        uint32_t missing)
{
    const struct ttp_key_slot *slot = map->slot_count > 0 ? ttp_key_map_probe(map, key) : NULL;
    return slot != NULL && slot->is_used != 0 ? slot->value : missing;
}

/* The start of a hash whose result is a key of the map: a file cannot choose keys that collide. */
static inline struct ttp_hash ttp_key_map_hash(struct ttp_key_map *map)
{
    if (map->secret == 0)
        map->secret = ttp_secret_key();
    return (struct ttp_hash){.low = map->secret, .high = ~map->secret};
}

static inline ttape_status ttp_key_map_grow(struct ttp_key_map *map, struct ttp_memory *memory,
                                            ttape_error *err)
{
    uint64_t count = ttp_key_map_next_count(map), before = map->slot_count;
    struct ttp_key_slot *slots = ttp_memory_take(memory, count, sizeof *slots, err);
    if (slots == NULL)
        return memory->status;
    memset(slots, 0, (size_t)count * sizeof *slots);
    ttp_memory_give(memory, ttp_key_map_move(map, slots), before, sizeof *slots);
    return TTAPE_OK;
}

static inline void ttp_key_map_close(struct ttp_key_map *map, struct ttp_memory *memory)
{
    ttp_memory_give(memory, map->slots, map->slot_count, sizeof *map->slots);
    *map = (struct ttp_key_map){0};
}

#endif

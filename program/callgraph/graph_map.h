/* A hash table from 64-bit keys to 32-bit numbers, for what the walks over calls look up per
 * call. Its places are found under a secret. */
#ifndef TOOL_GRAPH_MAP_H
#define TOOL_GRAPH_MAP_H

#include <stdint.h>
#include <stdlib.h>

#include "base/hash.h"
#include "tools/calls/hash_key.h"
#include "tools/command/tool.h"

#define TOOL_MAP_FIRST 256u

struct tool_map_slot {
    uint64_t key;
    uint32_t value, used;
};

/* Zero is an empty one. */
struct tool_map {
    struct tool_map_slot *slots;
    size_t slot_count, used_count;
    uint64_t secret;
};

static inline struct tool_map_slot *tool_map_probe(const struct tool_map *map, uint64_t key)
{
    size_t mask = map->slot_count - 1;
    size_t at = (size_t)tool_hash_place(key, map->secret) & mask;
    while (map->slots[at].used != 0 && map->slots[at].key != key)
        at = (at + 1) & mask;
    return &map->slots[at];
}

static inline void tool_map_grow(struct tool_map *map)
{
    struct tool_map old = *map;
    map->slot_count = old.slot_count > 0 ? old.slot_count * 2 : TOOL_MAP_FIRST;
    map->secret = old.slot_count > 0 ? old.secret : tool_hash_key();
    map->slots = tool_allocate(map->slot_count, sizeof(*map->slots));
    for (size_t i = 0; i < old.slot_count; i++)
        if (old.slots[i].used != 0)
            *tool_map_probe(map, old.slots[i].key) = old.slots[i];
    free(old.slots);
}

/* The place of a key's number, which is `missing` at first. It lives until the next call. */
static inline uint32_t *tool_map_at(struct tool_map *map, uint64_t key, uint32_t missing)
{
    if (map->used_count * 2 >= map->slot_count)
        tool_map_grow(map);
    struct tool_map_slot *slot = tool_map_probe(map, key);
    if (slot->used == 0) {
        *slot = (struct tool_map_slot){key, missing, 1};
        map->used_count++;
    }
    return &slot->value;
}

/* A key's number, without making a place for it. */
static inline uint32_t tool_map_find(const struct tool_map *map, uint64_t key, uint32_t missing)
{
    const struct tool_map_slot *slot = map->slot_count > 0 ? tool_map_probe(map, key) : NULL;
    return slot != NULL && slot->used != 0 ? slot->value : missing;
}

/* The start of a hash whose result is a key of the map: a file cannot choose keys that collide. */
static inline struct tool_hash tool_map_hash(struct tool_map *map)
{
    if (map->slot_count == 0)
        tool_map_grow(map);
    return (struct tool_hash){.low = map->secret, .high = ~map->secret};
}

static inline void tool_map_close(struct tool_map *map)
{
    free(map->slots);
    *map = (struct tool_map){0};
}

#endif

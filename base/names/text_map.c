/* Open addressing, at most half full; a key's bytes are copied. */
#include "base/names/text_map.h"

#include <string.h>

#include <tracetape/types.h>

#include "base/hash.h"
#include "base/secret.h"

struct ttp_text_slot {
    char *key; /* NULL: empty */
    size_t size_bytes;
    uint64_t hash;
    uint32_t number;
};

static uint64_t hash_of(const struct ttp_text_map *map, const void *key, size_t size_bytes)
{
    struct ttp_hash hash = {.low = map->secret, .high = ~map->secret};
    ttp_hash_bytes(&hash, key, size_bytes);
    return ttp_mix64(hash.low ^ hash.high);
}

static struct ttp_text_slot *probe_slot(const struct ttp_text_map *map, const void *key,
                                        size_t size_bytes, uint64_t hash)
{
    size_t at = (size_t)hash & (map->capacity - 1);
    for (;; at = (at + 1) & (map->capacity - 1)) {
        struct ttp_text_slot *slot = &map->slots[at];
        if (slot->key == NULL || (slot->hash == hash && slot->size_bytes == size_bytes &&
                                  memcmp(slot->key, key, size_bytes) == 0))
            return slot;
    }
}

static bool grow(struct ttp_region *region, struct ttp_text_map *map)
{
    struct ttp_text_map bigger = {.count = map->count,
                                  .capacity = map->capacity > 0 ? map->capacity * 2 : 64,
                                  .secret = map->secret != 0 ? map->secret : ttp_secret_key()};
    bigger.slots = ttp_region_take(region, bigger.capacity, sizeof(struct ttp_text_slot));
    if (bigger.slots == NULL)
        return false;
    for (size_t i = 0; i < map->capacity; i++) {
        struct ttp_text_slot *old = &map->slots[i];
        if (old->key != NULL)
            *probe_slot(&bigger, old->key, old->size_bytes, old->hash) = *old;
    }
    ttp_region_give(region, map->slots);
    *map = bigger;
    return true;
}

uint32_t *ttp_text_map_at(struct ttp_region *region, struct ttp_text_map *map, const void *key,
                          size_t size_bytes, bool *is_new)
{
    *is_new = true;
    map->lost = TTAPE_NONE;
    if ((map->count + 1) * 2 > map->capacity && !grow(region, map))
        return &map->lost;
    uint64_t hash = hash_of(map, key, size_bytes);
    struct ttp_text_slot *slot = probe_slot(map, key, size_bytes, hash);
    *is_new = slot->key == NULL;
    if (!*is_new)
        return &slot->number;
    char *copy = ttp_region_copy(region, key, size_bytes);
    if (copy == NULL)
        return &map->lost;
    *slot = (struct ttp_text_slot){copy, size_bytes, hash, TTAPE_NONE};
    map->count++;
    return &slot->number;
}

void ttp_text_map_close(struct ttp_region *region, struct ttp_text_map *map)
{
    for (size_t i = 0; i < map->capacity; i++)
        ttp_region_give(region, map->slots[i].key);
    ttp_region_give(region, map->slots);
    *map = (struct ttp_text_map){0};
}

/* Blocks of one handle, within a bound, that end together: what is made of a file takes all of its
 * memory from a region. At the end the maker checks whether memory was short, and throws all of it
 * away then. What failed once fails from then on; nothing here ends a process or prints. One thread
 * at a time.
 *
 *     ttp_region_of -> take, grow, add, copy, at; give -> ttp_region_close: all blocks */
#ifndef TTP_BASE_REGION_H
#define TTP_BASE_REGION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/key_map.h"

struct ttp_region_block;

/* Zero is one without memory. */
struct ttp_region {
    uint64_t left_bytes; /* that may still be taken */
    bool is_short;       /* something did not fit: all that was made is to be thrown away */
    struct ttp_region_block *blocks;
    ttape_allocator allocator; /* allocate is NULL: malloc */
};

static inline struct ttp_region ttp_region_of(uint64_t limit_bytes)
{
    return (struct ttp_region){.left_bytes = limit_bytes};
}

/* `count` items of zeros; NULL where they do not fit. No items still make a block. */
void *ttp_region_take(struct ttp_region *region, uint64_t count, size_t item_bytes);
/* NULL is fine. */
void ttp_region_give(struct ttp_region *region, void *block);
/* Gives back all blocks. */
void ttp_region_close(struct ttp_region *region);

/* Room for `needed` items in the array whose pointer is at `array`, at least doubling it. False: it
 * does not fit, and is as it was. */
bool ttp_region_grow_slow(struct ttp_region *region, void *array, size_t *capacity, size_t needed,
                          size_t item_bytes);
static inline bool ttp_region_grow(struct ttp_region *region, void *array, size_t *capacity,
                                   size_t needed, size_t item_bytes)
{
    return needed <= *capacity || ttp_region_grow_slow(region, array, capacity, needed, item_bytes);
}

/* One more item of zeros behind *count others; NULL where it does not fit. */
static inline void *ttp_region_add(struct ttp_region *region, void *array, size_t *count,
                                   size_t *capacity, size_t item_bytes)
{
    char *items;
    if (!ttp_region_grow(region, array, capacity, *count + 1, item_bytes))
        return NULL;
    memcpy(&items, array, sizeof items);
    return memset(items + (*count)++ * item_bytes, 0, item_bytes);
}

/* A copy that ends with a zero. */
char *ttp_region_copy(struct ttp_region *region, const char *text, size_t size_bytes);

/* Three texts, one behind the other. */
char *ttp_region_join(struct ttp_region *region, const char *one, const char *two,
                      const char *three);

/* The place of a key's number, which is `missing` at first; without memory a place that is no
 * key's. It lives until the next call. The map's slots are the region's. */
uint32_t *ttp_region_lost(struct ttp_key_map *map, uint32_t missing);
bool ttp_region_grow_map(struct ttp_region *region, struct ttp_key_map *map);
static inline uint32_t *ttp_region_at(struct ttp_region *region, struct ttp_key_map *map,
                                      uint64_t key, uint32_t missing)
{
    if (ttp_key_map_is_full(map) && !ttp_region_grow_map(region, map))
        return ttp_region_lost(map, missing);
    return ttp_key_map_at(map, key, missing);
}
static inline void ttp_region_close_map(struct ttp_region *region, struct ttp_key_map *map)
{
    ttp_region_give(region, map->slots);
    *map = (struct ttp_key_map){0};
}

#endif

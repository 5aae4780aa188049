/* A hash table from byte strings (texts, pids, keys of several words) to 32-bit numbers. Slots are
 * found under a secret: without it a file cannot choose names that collide. Slots and copies of
 * keys are a region's. Zero is an empty table. */
#ifndef TTP_TEXT_MAP_H
#define TTP_TEXT_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/region.h"

struct ttp_text_map {
    struct ttp_text_slot *slots;
    size_t count, capacity;
    uint64_t secret; /* 0: it is made with the table; tables of a moment may share one */
    uint32_t lost;   /* for what has no place */
};
/* The place of a key's number; *is_new: it was not there (and holds TTAPE_NONE). Without memory a
 * place that is no key's. It lives until the next call. */
uint32_t *ttp_text_map_at(struct ttp_region *region, struct ttp_text_map *map, const void *key,
                          size_t size_bytes, bool *is_new);
void ttp_text_map_close(struct ttp_region *region, struct ttp_text_map *map);

#endif

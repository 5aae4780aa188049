/* A table by keys whose slots are the command's: without memory it ends. */
#ifndef TOOL_MAP_H
#define TOOL_MAP_H

#include <stdlib.h>

#include "base/key_map.h"
#include "tools/command/tool.h"

/* The place of a key's number, which is `missing` at first. It lives until the next call. */
static inline uint32_t *tool_map_at(struct ttp_key_map *map, uint64_t key, uint32_t missing)
{
    if (ttp_key_map_is_full(map))
        free(ttp_key_map_move(
            map, tool_allocate((size_t)ttp_key_map_next_count(map), sizeof(struct ttp_key_slot))));
    return ttp_key_map_at(map, key, missing);
}

static inline void tool_map_close(struct ttp_key_map *map)
{
    free(map->slots);
    *map = (struct ttp_key_map){0};
}

#endif

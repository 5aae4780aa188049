/* Growing and setting of word maps; finding is inline. */
#include "recorder/state/word_map.h"

#include "base/secret.h"
#include "format/base/fail.h"

#define FIRST_CAPACITY 64u

static void put_word(struct ttp_word_map *map, uint64_t key, uint32_t value)
{
    uint32_t at = ttp_map_place(map, key);
    while (map->slots[at].key != 0 && map->slots[at].key != key)
        at = (at + 1) & (map->capacity - 1);
    map->count += map->slots[at].key == 0;
    map->slots[at] = (struct ttp_map_slot){key, value};
}

static ttape_status grow(const ttape_allocator *a, struct ttp_word_map *map, ttape_error *err)
{
    struct ttp_word_map bigger = {.capacity = FIRST_CAPACITY, .secret = map->secret};
    if (map->capacity != 0)
        bigger.capacity = map->capacity * 2;
    else
        bigger.secret = ttp_secret_key();
    size_t bytes = bigger.capacity * sizeof *bigger.slots;
    bigger.slots = a->allocate(a->context, bytes);
    if (bigger.slots == NULL)
        return ttp_fail(err, TTAPE_E_MEMORY, "", TTAPE_ERROR_NO_OFFSET, "out of memory");
    for (uint32_t i = 0; i < bigger.capacity; i++)
        bigger.slots[i] = (struct ttp_map_slot){0, TTAPE_NONE}; /* what 0 finds */
    for (uint32_t i = 0; i < map->capacity; i++)
        if (map->slots[i].key != 0)
            put_word(&bigger, map->slots[i].key, map->slots[i].value);
    ttp_map_free(a, map);
    *map = bigger;
    return TTAPE_OK;
}

ttape_status ttp_map_set(const ttape_allocator *a, struct ttp_word_map *map, uint64_t key,
                         uint32_t value, ttape_error *err)
{
    if (key == 0)
        return TTAPE_OK;
    if (map->count * 2 >= map->capacity)
        TTP_TRY(grow(a, map, err));
    put_word(map, key, value);
    return TTAPE_OK;
}

void ttp_map_free(const ttape_allocator *a, struct ttp_word_map *map)
{
    if (map->slots != NULL)
        a->release(a->context, map->slots, map->capacity * sizeof *map->slots);
    *map = (struct ttp_word_map){0};
}

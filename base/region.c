/* Each block has a head, by which it is in its region's list and knows its size. */
#include "base/region.h"

#include <stdalign.h>
#include <stdlib.h>

struct ttp_region_block {
    alignas(max_align_t) struct ttp_region_block *before;
    struct ttp_region_block *next;
    size_t size_bytes; /* with this head */
};

static void link_block(struct ttp_region *region, struct ttp_region_block *block)
{
    block->before = NULL;
    block->next = region->blocks;
    if (block->next != NULL)
        block->next->before = block;
    region->blocks = block;
}

static void unlink_block(struct ttp_region *region, struct ttp_region_block *block)
{
    *(block->before != NULL ? &block->before->next : &region->blocks) = block->next;
    if (block->next != NULL)
        block->next->before = block->before;
}

static bool block_size(uint64_t count, size_t item_bytes, size_t *size_bytes)
{
    return !__builtin_mul_overflow(count, item_bytes, size_bytes) &&
           !__builtin_add_overflow(*size_bytes, sizeof(struct ttp_region_block), size_bytes);
}

static struct ttp_region_block *get_block(const struct ttp_region *region, size_t size_bytes)
{
    const ttape_allocator *a = &region->allocator;
    if (a->allocate == NULL)
        return calloc(1, size_bytes);
    void *block = a->allocate(a->context, size_bytes);
    return block != NULL ? memset(block, 0, size_bytes) : NULL;
}

static void free_block(const struct ttp_region *region, struct ttp_region_block *block)
{
    const ttape_allocator *a = &region->allocator;
    if (a->allocate == NULL)
        free(block);
    else if (block != NULL)
        a->release(a->context, block, block->size_bytes);
}

void *ttp_region_take(struct ttp_region *region, uint64_t count, size_t item_bytes)
{
    size_t size_bytes;
    struct ttp_region_block *block = NULL;
    if (!region->is_short && block_size(count, item_bytes, &size_bytes) &&
        size_bytes <= region->left_bytes)
        block = get_block(region, size_bytes);
    region->is_short |= block == NULL;
    if (block == NULL)
        return NULL;
    region->left_bytes -= block->size_bytes = size_bytes;
    link_block(region, block);
    return block + 1;
}

void ttp_region_give(struct ttp_region *region, void *memory)
{
    if (memory == NULL)
        return;
    struct ttp_region_block *block = (struct ttp_region_block *)memory - 1;
    unlink_block(region, block);
    region->left_bytes += block->size_bytes;
    free_block(region, block);
}

void ttp_region_close(struct ttp_region *region)
{
    while (region->blocks != NULL)
        ttp_region_give(region, region->blocks + 1);
}

/* The same block, larger, where the system can do that without a copy. What is new is not zero. */
static struct ttp_region_block *resize(const struct ttp_region *region,
                                       struct ttp_region_block *block, size_t size_bytes)
{
    if (region->allocator.allocate == NULL)
        return realloc(block, size_bytes);
    struct ttp_region_block *grown =
        region->allocator.allocate(region->allocator.context, size_bytes);
    if (grown != NULL && block != NULL)
        memcpy(grown, block, block->size_bytes);
    if (grown != NULL)
        free_block(region, block);
    return grown;
}

static struct ttp_region_block *grow(struct ttp_region *region, struct ttp_region_block *block,
                                     size_t size_bytes)
{
    size_t before = block != NULL ? block->size_bytes : 0;
    if (region->is_short || size_bytes - before > region->left_bytes)
        return NULL;
    if (block != NULL)
        unlink_block(region, block);
    struct ttp_region_block *grown = resize(region, block, size_bytes);
    if (grown != NULL) {
        region->left_bytes -= size_bytes - before;
        grown->size_bytes = size_bytes;
        block = grown;
    }
    if (block != NULL)
        link_block(region, block);
    return grown;
}

bool ttp_region_grow_slow(struct ttp_region *region, void *array, size_t *capacity, size_t needed,
                          size_t item_bytes)
{
    struct ttp_region_block *block; /* by memcpy, for pointers to different types may differ */
    size_t size_bytes, wanted = (size_t)ttp_next_capacity(*capacity, needed);
    memcpy(&block, array, sizeof block);
    block = block_size(wanted, item_bytes, &size_bytes)
                ? grow(region, block != NULL ? block - 1 : NULL, size_bytes)
                : NULL;
    region->is_short |= block == NULL;
    if (block == NULL)
        return false;
    block++;
    memcpy(array, &block, sizeof block);
    *capacity = wanted;
    return true;
}

char *ttp_region_copy(struct ttp_region *region, const char *text, size_t size_bytes)
{
    char *copy = size_bytes < SIZE_MAX ? ttp_region_take(region, size_bytes + 1, 1) : NULL;
    if (copy != NULL && size_bytes > 0)
        memcpy(copy, text, size_bytes);
    return copy;
}

char *ttp_region_join(struct ttp_region *region, const char *one, const char *two,
                      const char *three)
{
    char *text = ttp_region_take(region, strlen(one) + strlen(two) + strlen(three) + 1, 1);
    if (text != NULL)
        (void)stpcpy(stpcpy(stpcpy(text, one), two), three);
    return text;
}

uint32_t *ttp_region_lost(struct ttp_key_map *map, uint32_t missing)
{
    map->lost = missing;
    return &map->lost;
}

bool ttp_region_grow_map(struct ttp_region *region, struct ttp_key_map *map)
{
    struct ttp_key_slot *slots =
        ttp_region_take(region, ttp_key_map_next_count(map), sizeof(struct ttp_key_slot));
    if (slots != NULL)
        ttp_region_give(region, ttp_key_map_move(map, slots));
    return slots != NULL;
}

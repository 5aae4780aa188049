/* Open addressing, at most half full; a key's bytes are copied. */
#include <stdlib.h>
#include <string.h>

#include <tracetape/types.h>

#include "base/hash.h"
#include "base/secret.h"
#include "tools/calls/name_table.h"
#include "tools/command/tool.h"

struct tool_name_slot {
    char *key; /* NULL: empty */
    size_t size_bytes;
    uint64_t hash;
    uint32_t number;
};

/* The secret goes in first: without it a file cannot choose names that collide. */
static uint64_t hash_of(const struct tool_names *names, const void *key, size_t size_bytes)
{
    struct ttp_hash hash = {.low = names->secret, .high = ~names->secret};
    ttp_hash_bytes(&hash, key, size_bytes);
    return ttp_mix64(hash.low ^ hash.high);
}

static struct tool_name_slot *probe(const struct tool_names *names, const void *key,
                                    size_t size_bytes, uint64_t hash)
{
    size_t at = (size_t)hash & (names->capacity - 1);
    for (;; at = (at + 1) & (names->capacity - 1)) {
        struct tool_name_slot *slot = &names->slots[at];
        if (slot->key == NULL || (slot->hash == hash && slot->size_bytes == size_bytes &&
                                  memcmp(slot->key, key, size_bytes) == 0))
            return slot;
    }
}

uint32_t *tool_names_find(struct tool_names *names, const void *key, size_t size_bytes,
                          bool *is_new)
{
    if ((names->count + 1) * 2 > names->capacity) {
        struct tool_names bigger = {.count = names->count,
                                    .capacity = names->capacity > 0 ? names->capacity * 2 : 64,
                                    .secret =
                                        names->secret != 0 ? names->secret : ttp_secret_key()};
        bigger.slots = tool_allocate(bigger.capacity, sizeof(struct tool_name_slot));
        for (size_t i = 0; i < names->capacity; i++) {
            struct tool_name_slot *old = &names->slots[i];
            if (old->key != NULL)
                *probe(&bigger, old->key, old->size_bytes, old->hash) = *old;
        }
        free(names->slots);
        *names = bigger;
    }
    uint64_t hash = hash_of(names, key, size_bytes);
    struct tool_name_slot *slot = probe(names, key, size_bytes, hash);
    *is_new = slot->key == NULL;
    if (*is_new) {
        *slot =
            (struct tool_name_slot){tool_copy_text(key, size_bytes), size_bytes, hash, TTAPE_NONE};
        names->count++;
    }
    return &slot->number;
}

void tool_names_close(struct tool_names *names)
{
    for (size_t i = 0; i < names->capacity; i++)
        free(names->slots[i].key);
    free(names->slots);
    *names = (struct tool_names){0};
}

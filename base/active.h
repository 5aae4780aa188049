/* How often what is on which stack, while the events of a segment are gone through: a hash table
 * of counts by 64 bits, which stand for a row and a stack.
 *
 * An entry of an older epoch counts as empty, so that starting a segment costs nothing. Files
 * choose the keys: slots are found under the memory's secret. */
#ifndef TTP_BASE_ACTIVE_H
#define TTP_BASE_ACTIVE_H

#include "base/memory.h"
#include "format/base/secret_hash.h"

struct ttp_active {
    uint64_t key;
    uint32_t epoch, count;
};

/* At most half full. Zero but for memory is an empty one, without entries. */
struct ttp_active_table {
    struct ttp_memory *memory;
    struct ttp_active *entries;
    uint32_t bits, used;
    uint32_t epoch; /* from 1 */
};

void ttp_active_close(struct ttp_active_table *t);
/* Twice as many entries, or the first ones. On failure the table is as it was. */
ttape_status ttp_active_grow(struct ttp_active_table *t, ttape_error *err);

/* All counts are 0 again. */
static inline void ttp_active_start(struct ttp_active_table *t)
{
    t->epoch++;
    t->used = 0;
}

/* The entry of a key, or the empty slot where it belongs. There are entries. */
static inline struct ttp_active *ttp_active_find(const struct ttp_active_table *t, uint64_t key)
{
    uint64_t mask = (1ull << t->bits) - 1;
    uint64_t at = ttp_secret_hash(key, t->memory->hash_key) >> (64 - t->bits);
    while (t->entries[at].epoch == t->epoch && t->entries[at].key != key)
        at = (at + 1) & mask;
    return &t->entries[at];
}

/* Counts one more; *is_first: there was none. */
static inline ttape_status ttp_active_add(struct ttp_active_table *t, uint64_t key, bool *is_first,
                                          ttape_error *err)
{
    if (t->entries == NULL || t->used >= 1u << (t->bits - 1)) {
        ttape_status status = ttp_active_grow(t, err);
        if (status != TTAPE_OK)
            return status;
    }
    struct ttp_active *active = ttp_active_find(t, key);
    if (active->epoch != t->epoch) {
        *active = (struct ttp_active){key, t->epoch, 0};
        t->used++;
    }
    *is_first = active->count++ == 0;
    return TTAPE_OK;
}

#endif

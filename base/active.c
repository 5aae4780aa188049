/* Growing of the table of counts; finding is inline. */
#include "base/active.h"

#include <string.h>

#define BITS_FIRST 6u

void ttp_active_close(struct ttp_active_table *t)
{
    if (t->entries != NULL)
        ttp_memory_give(t->memory, t->entries, 1ull << t->bits, sizeof *t->entries);
    t->entries = NULL;
}

ttape_status ttp_active_grow(struct ttp_active_table *t, ttape_error *err)
{
    struct ttp_active_table old = *t;
    uint32_t bits = old.entries == NULL ? BITS_FIRST : old.bits + 1;
    struct ttp_active *entries = ttp_memory_take(t->memory, 1ull << bits, sizeof *entries, err);
    if (entries == NULL)
        return t->memory->status;
    memset(entries, 0, sizeof *entries << bits);
    t->entries = entries;
    t->bits = bits;
    for (uint64_t i = 0; old.entries != NULL && i < 1ull << old.bits; i++)
        if (old.entries[i].epoch == old.epoch)
            *ttp_active_find(t, old.entries[i].key) = old.entries[i];
    ttp_active_close(&old);
    return TTAPE_OK;
}

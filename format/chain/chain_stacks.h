/* The stacks of a segment: stack id -> whatever stands for its top frame.
 *
 * Open addressing over a fixed number of entries; an entry of an older segment counts as empty, so
 * that starting a segment costs nothing. */
#ifndef TTP_FORMAT_CHAIN_STACKS_H
#define TTP_FORMAT_CHAIN_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "format/base/secret_hash.h"

#define TTP_CHAIN_STACKS_BITS_MAX                                                                  \
    14u /* entries: stacks that one segment may use, or a few less                                 \
         */

struct ttp_chain_stack {
    uint32_t id, segment; /* segment 0: never used */
    uint32_t top;
};

struct ttp_chain_stacks {
    struct ttp_chain_stack *entries;
    uint32_t bits, used, segment;
    uint64_t key;
};

/* Twice as many entries as stacks can occur, within the bound. */
static inline uint32_t ttp_chain_stacks_bits(uint32_t event_count, uint32_t open_count)
{
    uint64_t most = ((uint64_t)event_count + open_count + 1) * 2;
    uint32_t bits = 4;
    while (bits < TTP_CHAIN_STACKS_BITS_MAX && (1u << bits) < most)
        bits++;
    return bits;
}

static inline void ttp_chain_stacks_init(struct ttp_chain_stacks *s, void *entries, uint32_t bits,
                                         uint64_t hash_key)
{
    *s = (struct ttp_chain_stacks){entries, bits, 0, 0, hash_key | 1};
    memset(entries, 0, sizeof *s->entries << bits);
}

static inline void ttp_chain_stacks_start(struct ttp_chain_stacks *s)
{
    s->segment++;
    s->used = 0;
}

/* The top of a stack, 0 for one that is new; NULL when there are too many stacks. */
static inline uint32_t *ttp_chain_stack_top(struct ttp_chain_stacks *s, uint32_t id)
{
    uint32_t mask = (1u << s->bits) - 1;
    uint32_t first = (uint32_t)(ttp_secret_hash(id, s->key) >> (64 - s->bits));
    for (uint32_t i = first;; i = (i + 1) & mask) {
        struct ttp_chain_stack *e = &s->entries[i];
        if (e->segment != s->segment) {
            if (s->used == (mask + 1) / 4 * 3)
                return NULL;
            s->used++;
            *e = (struct ttp_chain_stack){id, s->segment, 0};
            return &e->top;
        }
        if (e->id == id)
            return &e->top;
    }
}

#endif

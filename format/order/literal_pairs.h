/* The records of the literal order's encoder: (event, successor) -> how often.
 *
 * Open addressing over a number of entries that is a power of two, under a secret: which pairs are
 * in it never depends on where they stand. */
#ifndef TTP_FORMAT_LITERAL_PAIRS_H
#define TTP_FORMAT_LITERAL_PAIRS_H

#include <stdint.h>
#include <string.h>

#include "format/base/secret_hash.h"

/* A line of a record: `count` times, `right` came immediately after `left`. */
struct ttp_literal_pair {
    uint32_t left, right, count; /* 0: empty */
};

struct ttp_literal_pairs {
    struct ttp_literal_pair *pairs;
    uint32_t slot_count, room;
    uint64_t key; /* odd */
};

/* When the table is three quarters full, pairs that are not in it stay out. */
static inline void ttp_literal_pairs_start(struct ttp_literal_pairs *t)
{
    t->room = t->slot_count / 4 * 3;
    memset(t->pairs, 0, t->slot_count * sizeof *t->pairs);
}

static inline void ttp_literal_pair_count(struct ttp_literal_pairs *t, uint32_t left,
                                          uint32_t right)
{
    uint32_t mask = t->slot_count - 1;
    uint32_t slot = (uint32_t)ttp_secret_hash((uint64_t)left << 32 | right, t->key) & mask;
    struct ttp_literal_pair *p = &t->pairs[slot];

    while (p->count != 0 && (p->left != left || p->right != right)) {
        slot = (slot + 1) & mask;
        p = &t->pairs[slot];
    }
    if (p->count == 0) {
        if (t->room == 0)
            return;
        t->room--;
        p->left = left;
        p->right = right;
    }
    p->count++;
}

#endif

/* Interning: equal closed subtrees get one number.
 *
 *   body of chain i   children[start[i] .. start[i + 1]), numbers of chains; its symbol and height
 *                     in info[i]
 *   slots             open addressing by a 64-bit hash of symbol and children; equality is then
 *                     compared
 *
 * Bounded: when chains or children are full, or its place in the table is (the hash is no secret),
 * TTP_CHAIN_NONE says that the subtree stays open-coded.
 */
#ifndef TTP_FORMAT_CHAIN_INTERN_H
#define TTP_FORMAT_CHAIN_INTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/chain/chain_prime.h"

struct ttp_chain_intern_slot {
    uint32_t hash;  /* upper half of the hash */
    uint32_t chain; /* number + 1, 0 is empty */
};

struct ttp_chain_intern {
    struct ttp_chain_intern_slot *slots;
    uint32_t *start, *info, *children;
    uint32_t slot_bits, chain_limit, child_limit;
    uint32_t chain_count, child_count;
};

/* At most half of the slots are ever used. */
uint32_t ttp_chain_intern_bits(uint32_t chain_limit);
uint32_t ttp_chain_child_limit(uint32_t event_count);

/* Puts the chains of a primer into the empty table, under their numbers. False when two are equal:
 * no table can give both their number back. */
bool ttp_chain_intern_load(struct ttp_chain_intern *t, const struct ttp_chain_primer *primer);

/* `slots` has 1 << ttp_chain_intern_bits(chain_limit) entries, start and info chain_limit + 1,
 * children child_limit. */
void ttp_chain_intern_init(struct ttp_chain_intern *t);

/* The number of the chain (symbol, children), a new one if there was none; TTP_CHAIN_NONE when it
 * cannot be kept. Two calls with the same content return the same number. */
uint32_t ttp_chain_intern_add(struct ttp_chain_intern *t, uint32_t symbol, const uint32_t *children,
                              uint32_t child_count);

static inline uint32_t ttp_chain_intern_symbol(const struct ttp_chain_intern *t, uint32_t chain)
{
    return t->info[chain] & 0xfffff;
}

#endif

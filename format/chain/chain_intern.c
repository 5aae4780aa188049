/* Interning of closed subtrees. The hash is taken when the frame closes, over its children's
 * numbers: frames that stay open cost nothing, and no hash has to be kept for each open frame. */
#include "format/chain/chain_intern.h"

#include <string.h>

#include "format/chain/chain_model.h"

/* A subtree that finds no place within so many slots is not kept. In a table that is at most half
 * full this does not happen by chance, only to subtrees that were chosen to collide. */
#define PROBES_MAX 64u

/* info: symbol in the lower 20 bits, height above. */
#define INFO_HEIGHT_SHIFT 20u

uint32_t ttp_chain_intern_bits(uint32_t chain_limit)
{
    uint32_t bits = 4;
    while (bits < 31 && (1u << bits) < 2 * chain_limit)
        bits++;
    return bits;
}

/* A chain that recurs has few children for the events that it stands for. */
uint32_t ttp_chain_child_limit(uint32_t event_count)
{
    return event_count < 4096 ? event_count : event_count / 7 + 4096;
}

void ttp_chain_intern_init(struct ttp_chain_intern *t)
{
    memset(t->slots, 0, sizeof *t->slots << t->slot_bits);
    t->chain_count = t->child_count = 0;
    t->start[0] = 0;
}

static __attribute__((noinline)) uint32_t add(struct ttp_chain_intern *t,
                                              struct ttp_chain_intern_slot *slot, uint32_t hash,
                                              uint32_t symbol, const uint32_t *children,
                                              uint32_t child_count)
{
    if (t->chain_count == t->chain_limit || t->child_limit - t->child_count < child_count)
        return TTP_CHAIN_NONE;
    uint32_t height = 0;
    for (uint32_t i = 0; i < child_count; i++) {
        uint32_t below = t->info[children[i]] >> INFO_HEIGHT_SHIFT;
        height = below > height ? below : height;
    }
    if (height + 1 > TTP_CHAIN_HEIGHT_MAX)
        return TTP_CHAIN_NONE;
    uint32_t chain = t->chain_count++;
    if (child_count != 0)
        memcpy(t->children + t->child_count, children, child_count * sizeof *children);
    t->child_count += child_count;
    t->start[chain + 1] = t->child_count;
    t->info[chain] = symbol | (height + 1) << INFO_HEIGHT_SHIFT;
    *slot = (struct ttp_chain_intern_slot){hash, chain + 1};
    return chain;
}

/* Most bodies are so short that calling memcmp would cost more than comparing. */
static bool same_children(const uint32_t *a, const uint32_t *b, uint32_t count)
{
    uint32_t i = 0;
    while (i < count && a[i] == b[i])
        i++;
    return i == count;
}

uint32_t ttp_chain_intern_add(struct ttp_chain_intern *t, uint32_t symbol, const uint32_t *children,
                              uint32_t child_count)
{
    uint64_t h = (symbol + 1) * UINT64_C(0x9e3779b97f4a7c15);
    for (uint32_t i = 0; i < child_count; i++) {
        h = (h ^ (children[i] + 1)) * UINT64_C(0xd6e8feb86659fd93);
        h ^= h >> 32;
    }
    h *= UINT64_C(0x9e3779b97f4a7c15);
    uint32_t hash = (uint32_t)(h >> 32), mask = (1u << t->slot_bits) - 1;
    uint32_t i = hash >> (32 - t->slot_bits);
    for (uint32_t probes = 0; probes < PROBES_MAX; probes++, i = (i + 1) & mask) {
        struct ttp_chain_intern_slot *slot = &t->slots[i];
        if (slot->chain == 0)
            return add(t, slot, hash, symbol, children, child_count);
        if (slot->hash != hash)
            continue;
        uint32_t chain = slot->chain - 1, start = t->start[chain];
        if (ttp_chain_intern_symbol(t, chain) == symbol &&
            t->start[chain + 1] - start == child_count &&
            same_children(t->children + start, children, child_count))
            return chain;
    }
    return TTP_CHAIN_NONE;
}

bool ttp_chain_intern_load(struct ttp_chain_intern *t, const struct ttp_chain_primer *primer)
{
    const uint32_t *starts = ttp_chain_primer_starts(primer);
    const uint32_t *children = ttp_chain_primer_children(primer);
    struct ttp_chain_view v = ttp_chain_primer_view(primer);
    for (uint32_t i = 0; i < primer->chain_count; i++)
        if (ttp_chain_intern_add(t, v.chains[i].symbol, children + starts[i],
                                 starts[i + 1] - starts[i]) != i)
            return false;
    return true;
}

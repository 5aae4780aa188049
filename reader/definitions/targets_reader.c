/* A hash table of the targets of a file: of a large program's calls there are many. */
#include "reader/definitions/targets_reader.h"

#include <string.h>

#include "format/base/fail.h"
#include "format/base/secret_hash.h"
#include "reader/definitions/site_words.h"

#define TARGETS_MOST (1u << 20) /* of a file; what more there are have no names */
#define SPACES_MOST  1024u      /* that have one of the same address; the same */
#define SLOTS_FIRST  64u

static bool is_target(const struct ttp_read_site *site)
{
    return site->kind == TTAPE_SITE_TARGET || site->kind == TTAPE_SITE_CALL;
}

static uint32_t first_slot(const struct ttp_definition_tables *d, uint64_t address)
{
    return (uint32_t)ttp_secret_hash(address, d->memory->hash_key | 1) & (d->target_capacity - 1);
}

/* Slots have the number of a site, and one; 0: nothing. */
static void put_site(struct ttp_definition_tables *d, uint32_t site)
{
    uint32_t at = first_slot(d, d->sites[site].address), same = 0;
    while (d->targets[at] != 0 && same < SPACES_MOST) {
        same += d->sites[d->targets[at] - 1].address == d->sites[site].address;
        at = (at + 1) & (d->target_capacity - 1);
    }
    if (d->targets[at] != 0)
        return;
    d->targets[at] = site + 1;
    d->target_count++;
}

static ttape_status grow(struct ttp_definition_tables *d, ttape_error *err)
{
    uint32_t *before = d->targets, before_capacity = d->target_capacity;
    uint32_t capacity = before_capacity != 0 ? 2 * before_capacity : SLOTS_FIRST;
    uint32_t *slots = ttp_memory_take(d->memory, capacity, sizeof *slots, err);
    if (slots == NULL)
        return d->memory->status;
    memset(slots, 0, capacity * sizeof *slots);
    d->targets = slots;
    d->target_capacity = capacity;
    d->target_count = 0;
    for (uint32_t i = 0; i < before_capacity; i++)
        if (before[i] != 0)
            put_site(d, before[i] - 1);
    ttp_memory_give(d->memory, before, before_capacity, sizeof *before);
    return TTAPE_OK;
}

ttape_status ttp_targets_add(struct ttp_definition_tables *d, uint32_t first, ttape_error *err)
{
    for (uint32_t site = first; site < d->site_count; site++) {
        if (!is_target(&d->sites[site]) || d->target_count == TARGETS_MOST)
            continue;
        if (2 * (d->target_count + 1) > d->target_capacity)
            TTP_TRY(grow(d, err));
        put_site(d, site);
    }
    return TTAPE_OK;
}

/* Address spaces differ: what a site's module and a target's are mapped in must be one. */
static bool is_of_one_space(const struct ttp_definition_tables *d, const struct ttp_read_site *a,
                            const struct ttp_read_site *b)
{
    return a->scope == b->scope &&
           (a->module_plus_one == 0 || b->module_plus_one == 0 ||
            ttp_site_module(d, a)->process == ttp_site_module(d, b)->process);
}

uint32_t ttp_targets_find(const struct ttp_definition_tables *d, uint32_t site, uint64_t address)
{
    if (site >= d->site_count || d->target_count == 0)
        return TTAPE_NONE;
    for (uint32_t at = first_slot(d, address); d->targets[at] != 0;
         at = (at + 1) & (d->target_capacity - 1)) {
        uint32_t found = d->targets[at] - 1;
        if (d->sites[found].address == address &&
            is_of_one_space(d, &d->sites[site], &d->sites[found]))
            return found;
    }
    return TTAPE_NONE;
}

/* Targets are few: a list of them is kept in order. */
#include "reader/definitions/targets_reader.h"

#include <string.h>

#include "base/ordered.h"
#include "format/base/fail.h"
#include "reader/definitions/site_words.h"

#define TARGETS_MOST 16384u /* of a file; what more there are have no names */

static uint32_t first_from(const struct ttp_definition_tables *d, uint64_t address)
{
    struct ttp_bisect s = {.end = d->target_count};
    while (ttp_bisect_next(&s))
        ttp_bisect_turn(&s, d->sites[d->targets[s.middle]].address < address);
    return (uint32_t)s.first;
}

ttape_status ttp_targets_add(struct ttp_definition_tables *d, uint32_t first, ttape_error *err)
{
    for (uint32_t site = first; site < d->site_count; site++) {
        if (d->sites[site].kind != TTAPE_SITE_TARGET || d->target_count == TARGETS_MOST)
            continue;
        TTP_TRY(ttp_memory_reserve(d->memory, &d->targets, &d->target_capacity,
                                   d->target_count + 1ull, sizeof *d->targets, err));
        uint32_t at = first_from(d, d->sites[site].address);
        memmove(d->targets + at + 1, d->targets + at, (d->target_count - at) * sizeof *d->targets);
        d->targets[at] = site;
        d->target_count++;
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
    uint32_t at = first_from(d, address);
    for (; site < d->site_count && at < d->target_count; at++) {
        const struct ttp_read_site *target = &d->sites[d->targets[at]];
        if (target->address != address)
            return TTAPE_NONE;
        if (is_of_one_space(d, &d->sites[site], target))
            return d->targets[at];
    }
    return TTAPE_NONE;
}

/* Clocks of several traces on one axis: from what is possible of each to a shift and its error. */
#include <string.h>

#include "answers/clocks/clocks_internal.h"
#include "format/base/fail.h"
#include "format/base/sized.h"
#include "reader/base/choice.h"
#include "reader/reader_internal.h"

void ttp_clocks_contradict(ttape_clocks *c, struct ttp_clock_bound *bound)
{
    ttape_clock_pair *pair = ttp_region_add(&c->region, &c->contradictions, &c->contradiction_count,
                                            &c->contradiction_capacity, sizeof *pair);
    bound->is_left_out = true;
    if (pair != NULL)
        *pair = bound->pair;
}

/* Whether all that stand against the same clock stand by its offset. */
static bool has_offset(const ttape_clocks *c, const struct ttp_clock *clock)
{
    return c->clocks[clock->anchor].has_offset;
}

/* Shifts to UTC first, as well as it is known; then all are moved so that the least is 0, and those
 * apart that nothing holds against UTC. */
static void shift(ttape_clocks *c)
{
    for (size_t i = 0; i < c->clock_count; i++) {
        struct ttp_clock *clock = &c->clocks[i];
        uint64_t offset_ns = clock->has_offset ? c->scopes[clock->best].offset_ns : 0;
        int64_t middle = clock->low_ns + (clock->high_ns - clock->low_ns) / 2;
        clock->shift_ns = (int64_t)(offset_ns + (uint64_t)middle);
    }
    for (unsigned round = 0; round < 2; round++) {
        bool has_least = false;
        int64_t least = 0;
        for (size_t i = 0; i < c->clock_count; i++)
            if (has_offset(c, &c->clocks[i]) == (round == 0) &&
                (!has_least || c->clocks[i].shift_ns < least)) {
                least = c->clocks[i].shift_ns;
                has_least = true;
            }
        for (size_t i = 0; i < c->clock_count; i++)
            if (has_offset(c, &c->clocks[i]) == (round == 0))
                c->clocks[i].shift_ns =
                    (int64_t)((uint64_t)c->clocks[i].shift_ns - (uint64_t)least);
    }
}

static void count_pairs(ttape_clocks *c)
{
    for (size_t i = 0; i < c->bound_count; i++)
        if (!c->bounds[i].is_left_out) {
            c->clocks[c->bounds[i].a].pair_count++;
            c->clocks[c->bounds[i].b].pair_count++;
        }
}

static ttape_status find_clocks(ttape_clocks *c, uint64_t memory_bytes, ttape_error *err)
{
    ttp_clocks_scopes(c);
    if (c->clock_count > 1)
        TTP_TRY(ttp_clocks_pairs(c, err));
    if (!c->region.is_short)
        ttp_clocks_fit(c);
    if (!c->region.is_short)
        ttp_clocks_ways(c);
    if (c->region.is_short)
        return ttp_fail_region(err, "clocks", memory_bytes);
    shift(c);
    count_pairs(c);
    c->info.clock_count = (uint32_t)c->clock_count;
    c->info.contradiction_count = (uint32_t)c->contradiction_count;
    return TTAPE_OK;
}

ttape_status ttape_clocks_find(ttape_clocks **out, ttape_reader *const *readers,
                               uint32_t reader_count, const ttape_clocks_options *options,
                               ttape_error *err)
{
    ttape_clocks_options taken = {.size = sizeof taken};
    if (out == NULL)
        return ttp_refuse(err, "no place for an answer");
    *out = NULL;
    TTP_TRY(ttp_check_readers((const ttape_reader *const *)readers, reader_count, err));
    if (options != NULL)
        TTP_TRY(ttp_take_sized(&taken, sizeof taken, options, "clocks", err));
    struct ttp_region region;
    ttape_clocks *c =
        ttp_open_region(&region, readers[0]->memory.allocator, &taken.memory_bytes, sizeof *c);
    if (c == NULL)
        return ttp_fail_region(err, "clocks", taken.memory_bytes);
    *c = (ttape_clocks){
        .region = region, .readers = readers, .reader_count = reader_count, .watch = taken.watch};
    ttape_status status = find_clocks(c, taken.memory_bytes, err);
    if (status != TTAPE_OK)
        ttape_clocks_close(c);
    else
        *out = c;
    return status;
}

void ttape_clocks_close(ttape_clocks *clocks)
{
    if (clocks != NULL)
        ttp_close_region(&clocks->region);
}

void ttape_clocks_get_info(const ttape_clocks *clocks, ttape_clocks_info *info)
{
    *info = clocks->info;
}

ttape_status ttape_clocks_get_shift(const ttape_clocks *clocks, uint32_t reader, uint32_t scope,
                                    ttape_clock_shift *place)
{
    *place = (ttape_clock_shift){.clock = TTAPE_NONE};
    if (reader >= clocks->reader_count ||
        scope >= clocks->first_scopes[reader + 1] - clocks->first_scopes[reader])
        return TTAPE_E_NOT_FOUND;
    uint32_t number = clocks->scopes[clocks->first_scopes[reader] + scope].clock;
    const struct ttp_clock *clock = &clocks->clocks[number];
    *place = (ttape_clock_shift){.clock = number,
                                 .pair_count = clock->pair_count,
                                 .shift_ns = (uint64_t)clock->shift_ns,
                                 .is_placed = clock->anchor == 0 || has_offset(clocks, clock),
                                 .has_error = clock->anchor == 0,
                                 .drift_ppb = clock->drift_ppb};
    if (place->has_error)
        place->error_ns = ((uint64_t)(clock->high_ns - clock->low_ns) + 1) / 2;
    return TTAPE_OK;
}

const ttape_clock_pair *ttape_clocks_get_contradictions(const ttape_clocks *clocks, uint32_t *count)
{
    *count = (uint32_t)clocks->contradiction_count;
    return clocks->contradictions;
}

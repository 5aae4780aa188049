/* How long a call of each partition may be, out of overviews: no longer than the longest of its
 * function in all of them, and none where the function was not called. */
#include "reader/levels/overview_reader.h"
#include "reader/longest/longest_internal.h"

static void add_row(struct ttape_longest *l, const struct ttp_read_overview *o, uint32_t row)
{
    int64_t most = (int64_t)((uint64_t)o->rows[row].max_ticks * o->head.resolution_ns);
    for (uint32_t i = 0; i < o->head.partition_count; i++) {
        int64_t *bound = &l->bounds[o->partitions[i]];
        if ((o->calls[row].mask >> i & 1) != 0 && most > *bound)
            *bound = most;
    }
}

static void add(struct ttape_longest *l, uint32_t scope, const struct ttp_read_overview *o)
{
    for (uint32_t i = 0; i < o->row_count; i++) {
        uint32_t site = ttp_definitions_find(&l->reader->definitions, scope, TTP_DEFINES_SITES,
                                             o->rows[i].site);
        if (o->rows[i].exit_count != 0 && l->plan.sites[site] != 0)
            add_row(l, o, i);
    }
    for (uint32_t i = 0; i < o->head.partition_count; i++)
        l->rough[o->partitions[i]] = TTP_LONG_ROUGH;
}

ttape_status ttp_longest_rough(struct ttape_longest *l, ttape_error *err)
{
    ttape_reader *r = l->reader;
    for (uint32_t i = 0; l->plan.by == TTAPE_LONGEST_BY_DURATION && i < r->overview_count; i++) {
        struct ttp_read_overview o;
        ttape_error problem = {0};
        uint32_t scope = r->overviews[i].scope;
        ttape_status status =
            ttp_overview_load(r, i, TTP_OVERVIEW_ALL, TTP_OVERVIEW_SPREAD, &o, &problem);
        if (ttp_overview_fails(status) && err != NULL)
            *err = problem;
        if (ttp_overview_fails(status))
            return status;
        if (status != TTAPE_OK)
            continue;
        if (o.head.resolution_ns != 0 && o.calls != NULL &&
            ttp_overview_tells(r, scope, &o, l->rough))
            add(l, scope, &o);
        ttp_overview_drop(r, &o);
    }
    return TTAPE_OK;
}

/* Which functions had most of a partition's own time. */
#include "answers/tree/tree_internal.h"
#include "format/base/fail.h"

/* Own time in nanoseconds; without times, calls. Of a clock that steps back, none. */
static uint64_t weight_of(const struct ttp_loaded *p, const struct ttp_measure *row)
{
    uint64_t step = p->head.resolution_ns, weight;
    if (step == 0)
        return row->call_count;
    if (row->self_ticks <= 0)
        return 0;
    return __builtin_mul_overflow((uint64_t)row->self_ticks, step, &weight) ? 0 : weight;
}

struct ttp_tree_measures ttp_tree_measures_of(const struct ttp_loaded *p,
                                              const struct ttp_measure *rows, uint32_t row_count)
{
    struct ttp_tree_measures m = {.rows = rows, .row_count = row_count, .is_there = rows != NULL};
    for (uint32_t i = 0; i < row_count; i++) {
        uint64_t weight = weight_of(p, &rows[i]);
        m.own_sum += weight <= INT64_MAX - m.own_sum ? weight : 0; /* a hostile file */
        m.call_count += rows[i].call_count;
    }
    return m;
}

uint32_t ttp_tree_find_shares(const struct ttp_loaded *p, const struct ttp_definition_tables *d,
                              const struct ttp_tree_measures *measures, ttape_tree_share *shares)
{
    const struct ttp_measure *rows = measures->rows;
    uint64_t sum = measures->own_sum;
    uint32_t count = 0;
    for (uint32_t i = 0; i < measures->row_count && count < TTP_TREE_SHARES; i++) {
        uint64_t weight = weight_of(p, &rows[i]);
        uint32_t site = ttp_definitions_find(d, p->scope, TTP_DEFINES_SITES, rows[i].site);
        if (weight != 0 && weight <= sum && weight >= sum / TTP_TREE_SHARES && site != TTAPE_NONE)
            shares[count++] = (ttape_tree_share){site, weight};
    }
    return count;
}

static ttape_status get_shares_leased(ttape_tree *tree, uint32_t partition,
                                      const ttape_tree_share **shares, uint32_t *share_count,
                                      uint64_t *all, ttape_error *err)
{
    const struct ttp_outline *o;
    *shares = NULL;
    *share_count = 0;
    *all = 0;
    if (partition >= tree->outline_capacity)
        return ttp_fail(err, TTAPE_E_NOT_FOUND, "", TTAPE_ERROR_NO_OFFSET, "no partition '%u'",
                        partition);
    TTP_TRY(ttp_tree_partition_outline(tree, partition, &o, err));
    if (o == NULL)
        return TTAPE_OK;
    if (o->damaged)
        return ttp_tree_damage(tree, partition, err);
    *shares = o->shares;
    *share_count = o->share_count;
    *all = o->all;
    return TTAPE_OK;
}

ttape_status ttape_tree_get_shares(ttape_tree *tree, uint32_t partition,
                                   const ttape_tree_share **shares, uint32_t *share_count,
                                   uint64_t *all, ttape_error *err)
{
    TTP_TRY(ttp_lease_begin(&tree->lease, err));
    ttape_status status = get_shares_leased(tree, partition, shares, share_count, all, err);
    ttp_lease_end(&tree->lease);
    return status;
}

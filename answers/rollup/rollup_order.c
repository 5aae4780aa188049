/* The order of a file: strings by their bytes, functions by what they say, rows by function and
 * caller, traces by their ids. */
#include "answers/rollup/rollup_internal.h"
#include "base/sort.h"
#include "reader/definitions/site_words.h"

static bool string_less(const void *context, uint32_t a, uint32_t b)
{
    return ttp_rollup_compare_texts(context, a, b) < 0;
}

static int compare_functions(const ttape_rollup *r, const struct ttp_rollup_function *a,
                             const struct ttp_rollup_function *b)
{
    const uint32_t pairs[][2] = {{r->strings[a->symbol].rank, r->strings[b->symbol].rank},
                                 {r->strings[a->build].rank, r->strings[b->build].rank},
                                 {r->strings[a->path].rank, r->strings[b->path].rank},
                                 {r->strings[a->file].rank, r->strings[b->file].rank},
                                 {a->line, b->line},
                                 {a->kind, b->kind}};
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
        if (pairs[i][0] != pairs[i][1])
            return pairs[i][0] < pairs[i][1] ? -1 : 1;
    return ttp_compare_numbers(a->offset, b->offset);
}

static bool function_less(const void *context, uint32_t a, uint32_t b)
{
    const ttape_rollup *r = context;
    return compare_functions(r, &r->functions[a], &r->functions[b]) < 0;
}

static uint64_t caller_rank(const ttape_rollup *r, uint32_t caller)
{
    if (caller < TTP_ROLLUP_CALLER_FIRST)
        return caller;
    return (uint64_t)r->functions[caller - TTP_ROLLUP_CALLER_FIRST].rank + TTP_ROLLUP_CALLER_FIRST;
}

static bool row_less(const void *context, uint32_t a, uint32_t b)
{
    const ttape_rollup *r = context;
    const struct ttp_rollup_row *x = &r->rows[a], *y = &r->rows[b];
    uint32_t one = r->functions[x->function].rank, other = r->functions[y->function].rank;
    return one != other ? one < other : caller_rank(r, x->caller) < caller_rank(r, y->caller);
}

static bool trace_less(const void *context, uint32_t a, uint32_t b)
{
    const ttape_rollup *r = context;
    return memcmp(r->traces[a].id, r->traces[b].id, TTP_ROLLUP_ID_BYTES) < 0;
}

static bool put_in_order(ttape_rollup *r, uint32_t **order, size_t count, ttp_sort_less less)
{
    ttp_region_give(&r->region, *order);
    *order = ttp_region_take(&r->region, count, sizeof **order);
    if (*order == NULL)
        return false;
    for (uint32_t i = 0; i < count; i++)
        (*order)[i] = i;
    ttp_sort(*order, (uint32_t)count, less, r);
    return true;
}

bool ttp_rollup_settle(ttape_rollup *r)
{
    if (r->is_settled)
        return true;
    void *shown[] = {r->shown_functions, r->shown_rows, r->shown_traces};
    for (size_t i = 0; i < sizeof shown / sizeof shown[0]; i++)
        ttp_region_give(&r->region, shown[i]);
    r->shown_functions = NULL;
    r->shown_rows = NULL;
    r->shown_traces = NULL;
    if (!put_in_order(r, &r->string_order, r->string_count, string_less))
        return false;
    for (uint32_t i = 0; i < r->string_count; i++)
        r->strings[r->string_order[i]].rank = i;
    if (!put_in_order(r, &r->function_order, r->function_count, function_less))
        return false;
    for (uint32_t i = 0; i < r->function_count; i++)
        r->functions[r->function_order[i]].rank = i;
    r->is_settled = put_in_order(r, &r->row_order, r->row_count, row_less) &&
                    put_in_order(r, &r->trace_order, r->trace_count, trace_less);
    return r->is_settled;
}

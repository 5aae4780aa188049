/* Which sites are one function, by sorting them. Namesakes in one module (static functions of
 * several files) stay apart: by file where it is known, otherwise by their address in it.
 * Frames of paths do not: each is at another place of its function, and what is inlined there has
 * other files. */
#include <string.h>

#include "answers/reach/reach_internal.h"
#include "format/base/fail.h"
#include "reader/base/sort.h"
#include "reader/definitions/site_words.h"

static ttape_string file_of(const struct ttp_definition_tables *d, const struct ttp_read_site *s)
{
    return s->kind != TTAPE_SITE_FRAME ? ttp_site_file(d, s) : (ttape_string){"", 0};
}

/* Where a site is in its module, for those that nothing else tells apart. */
static uint64_t offset_of(const struct ttp_definition_tables *d, const struct ttp_read_site *s)
{
    if (s->symbol.size_bytes > 0 &&
        (file_of(d, s).size_bytes > 0 || s->kind == TTAPE_SITE_FRAME || s->module_plus_one == 0))
        return 0;
    return ttp_site_offset(d, s);
}

static int compare(const struct ttp_definition_tables *d, uint32_t a, uint32_t b)
{
    const struct ttp_read_site *x = &d->sites[a], *y = &d->sites[b];
    int order = ttp_compare_strings(x->symbol, y->symbol);
    if (order == 0)
        order = ttp_compare_strings(file_of(d, x), file_of(d, y));
    if (order == 0)
        order = ttp_compare_modules(d, x, y);
    return order != 0 ? order : ttp_compare_numbers(offset_of(d, x), offset_of(d, y));
}

static bool is_before(const void *context, uint32_t a, uint32_t b)
{
    int order = compare(context, a, b);
    return order != 0 ? order < 0 : a < b;
}

static uint32_t *take_numbers(struct ttape_reach *reach, ttape_error *err)
{
    return ttp_memory_take(&reach->memory, reach->site_count, sizeof(uint32_t), err);
}

static void give_numbers(struct ttape_reach *reach, uint32_t *numbers)
{
    ttp_memory_give(&reach->memory, numbers, reach->site_count, sizeof(uint32_t));
}

static ttape_status by_comparison(struct ttape_reach *reach, ttape_error *err)
{
    const struct ttp_definition_tables *d = &reach->reader->definitions;
    uint32_t *order = take_numbers(reach, err);
    if (order == NULL)
        return reach->memory.status;
    for (uint32_t i = 0; i < reach->site_count; i++)
        order[i] = i;
    ttp_sort(order, reach->site_count, is_before, d);
    for (uint32_t i = 0, first = 0; i < reach->site_count; i++) {
        first = i > 0 && compare(d, order[first], order[i]) == 0 ? first : i;
        reach->step_of[order[i]] = order[first];
    }
    give_numbers(reach, order);
    return TTAPE_OK;
}

static ttape_status number_groups(struct ttape_reach *reach, uint32_t *first_site, ttape_error *err)
{
    const ttape_reach_options *o = &reach->options;
    for (uint32_t site = 0; site < reach->site_count; site++)
        first_site[site] = TTAPE_NONE;
    for (uint32_t site = 0; site < reach->site_count; site++) {
        uint32_t group = o->group(o->context, site);
        if (group != TTAPE_NONE && group >= reach->site_count)
            return ttp_fail(err, TTAPE_E_ARGUMENT, "", TTAPE_ERROR_NO_OFFSET,
                            "group '%u' is not below the number of sites", group);
        if (group != TTAPE_NONE && first_site[group] == TTAPE_NONE)
            first_site[group] = site;
        reach->step_of[site] = group != TTAPE_NONE ? first_site[group] : TTP_REACH_UNKNOWN;
    }
    return TTAPE_OK;
}

static ttape_status by_group(struct ttape_reach *reach, ttape_error *err)
{
    uint32_t *first_site = take_numbers(reach, err);
    if (first_site == NULL)
        return reach->memory.status;
    ttape_status status = number_groups(reach, first_site, err);
    give_numbers(reach, first_site);
    return status;
}

/* The first site of a function comes before its others: so it knows when they ask. */
static void mark_reached(struct ttape_reach *reach)
{
    const ttape_reach_options *o = &reach->options;
    reach->reaches_unknown = o->selects == NULL;
    memset(reach->is_reached, 0, reach->site_count);
    for (uint32_t site = 0; site < reach->site_count; site++) {
        uint32_t step = reach->step_of[site];
        if (o->selects != NULL && !o->selects(o->context, site))
            continue;
        if (step == TTP_REACH_UNKNOWN)
            reach->reaches_unknown = true;
        else
            reach->is_reached[step] = 1;
    }
    for (uint32_t site = 0; site < reach->site_count; site++) {
        uint32_t step = reach->step_of[site];
        reach->is_reached[site] =
            step != TTP_REACH_UNKNOWN ? reach->is_reached[step] : reach->reaches_unknown;
    }
}

ttape_status ttp_reach_functions(struct ttape_reach *reach, ttape_error *err)
{
    reach->step_of = take_numbers(reach, err);
    if (reach->step_of == NULL)
        return reach->memory.status;
    reach->is_reached = ttp_memory_take(&reach->memory, reach->site_count, 1, err);
    if (reach->is_reached == NULL)
        return reach->memory.status;
    TTP_TRY(reach->options.group != NULL ? by_group(reach, err) : by_comparison(reach, err));
    mark_reached(reach);
    return TTAPE_OK;
}

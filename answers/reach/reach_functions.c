/* Which function each site is a step to, and which of them are reached. */
#include <string.h>

#include <tracetape/functions.h>

#include "answers/reach/reach_internal.h"
#include "format/base/fail.h"

static uint32_t *take_numbers(struct ttape_reach *reach, ttape_error *err)
{
    return ttp_memory_take(&reach->memory, reach->site_count, sizeof(uint32_t), err);
}

static void give_numbers(struct ttape_reach *reach, uint32_t *numbers)
{
    ttp_memory_give(&reach->memory, numbers, reach->site_count, sizeof(uint32_t));
}

static ttape_status by_path(struct ttape_reach *reach, ttape_error *err)
{
    const ttape_reader *reader = reach->reader;
    const ttape_functions_options how = {.size = sizeof how,
                                         .by = reach->options.by,
                                         .memory_bytes =
                                             reach->memory.limit_bytes - reach->memory.used_bytes};
    ttape_functions *functions;
    uint32_t count;
    TTP_TRY(ttape_functions_make(&functions, &reader, 1, &how, err));
    const ttape_function *rows = ttape_functions_get_rows(functions, &count);
    const uint32_t *row_of = ttape_functions_get_sites(functions, 0, &count);
    for (uint32_t site = 0; site < reach->site_count; site++)
        reach->step_of[site] = rows[row_of[site]].site;
    ttape_functions_close(functions);
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
    TTP_TRY(reach->options.group != NULL ? by_group(reach, err) : by_path(reach, err));
    mark_reached(reach);
    return TTAPE_OK;
}

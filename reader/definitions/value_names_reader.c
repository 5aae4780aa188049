/* A chunk is read twice: first to check it and to count, then into one block of just that size,
 * which stays where it is for as long as the reader is open. */
#include "reader/definitions/value_names_reader.h"

#include <string.h>

#include "format/base/fail.h"
#include "format/container/value_names.h"
#include "reader/definitions/placeholders.h"

/* What a chunk names; the arrays lie behind it. */
struct ttp_value_names {
    struct ttp_value_names *next;
    uint64_t size_bytes;
};

/* One reading of a chunk. The arrays are NULL in the first. */
struct reading {
    struct ttp_definition_tables *d;
    uint32_t scope;
    uint64_t enumeration_count, constant_count, site_count, value_count; /* so far */
    ttape_value_name *enumerations; /* by number, without what is a value's own */
    ttape_value_constant *constants;
    ttape_site_values *sites;
    ttape_value_name *values;
};

static ttape_status read_enumeration(struct reading *r, struct ttp_reader_cursor *c,
                                     ttape_error *err)
{
    struct ttp_enumeration head;
    ttape_value_constant constant = {0};
    TTP_TRY(ttp_enumeration_read(c, r->d->limits->string_bytes, &head, err));
    if (r->enumerations != NULL)
        r->enumerations[r->enumeration_count] =
            (ttape_value_name){.constants = r->constants + r->constant_count,
                               .constant_count = head.constant_count,
                               .enumeration = head.name};
    for (uint32_t i = 0; i < head.constant_count; i++) {
        TTP_TRY(ttp_constant_read(c, r->d->limits->string_bytes, &constant, err));
        if (r->constants != NULL)
            r->constants[r->constant_count + i] = constant;
    }
    r->constant_count += head.constant_count;
    r->enumeration_count++;
    return TTAPE_OK;
}

static ttape_status read_values(struct reading *r, struct ttp_reader_cursor *c, uint32_t count,
                                ttape_error *err)
{
    for (uint32_t i = 0; i < count; i++) {
        struct ttp_named_value value;
        TTP_TRY(ttp_named_value_read(c, r->d->limits->string_bytes, (uint32_t)r->enumeration_count,
                                     &value, err));
        if (r->values != NULL) {
            ttape_value_name *to = &r->values[r->value_count];
            *to = (ttape_value_name){0};
            if (value.enumeration_plus_one != 0)
                *to = r->enumerations[value.enumeration_plus_one - 1];
            to->name = value.name;
            to->type = value.type;
        }
        r->value_count++;
    }
    return TTAPE_OK;
}

/* Finds the file's number of a site, which has no names yet. */
static ttape_status find_site(struct reading *r, const struct ttp_reader_cursor *c, uint32_t site,
                              uint32_t *number, ttape_error *err)
{
    *number = ttp_placeholders_find(r->d, r->scope, TTP_DEFINES_SITES, site);
    if (*number == TTAPE_NONE)
        return ttp_fail(err, TTAPE_E_CORRUPT, "F-VNM-08", ttp_reader_offset(c),
                        "values of site '%u' are named, which is not defined", site);
    if (ttp_value_names_of(r->d, *number) != NULL)
        return ttp_fail(err, TTAPE_E_CORRUPT, "F-VNM-08", ttp_reader_offset(c),
                        "values of site '%u' are named twice", site);
    return TTAPE_OK;
}

static ttape_status read_site(struct reading *r, struct ttp_reader_cursor *c, uint32_t *next_site,
                              ttape_error *err)
{
    struct ttp_named_site site;
    uint32_t number;
    TTP_TRY(ttp_named_site_read(c, *next_site, &site, err));
    TTP_TRY(find_site(r, c, site.site, &number, err));
    *next_site = site.site + 1;
    if (r->sites != NULL) {
        ttape_value_name *values = r->values + r->value_count;
        r->sites[r->site_count] = (ttape_site_values){.enter = values,
                                                      .exit = values + site.enter_count,
                                                      .enter_count = site.enter_count,
                                                      .exit_count = site.exit_count};
        r->d->site_values[number] = &r->sites[r->site_count];
    }
    r->site_count++;
    return read_values(r, c, site.enter_count + site.exit_count, err);
}

static ttape_status read_chunk(struct reading *r, struct ttp_reader_cursor *c, ttape_error *err)
{
    uint32_t enumerations, sites, next_site = 0;
    TTP_TRY(ttp_enumerations_read_count(c, &enumerations, err));
    for (uint32_t i = 0; i < enumerations; i++)
        TTP_TRY(read_enumeration(r, c, err));
    TTP_TRY(ttp_named_sites_read_count(c, &sites, err));
    for (uint32_t i = 0; i < sites; i++)
        TTP_TRY(read_site(r, c, &next_site, err));
    if (ttp_reader_left(c) != 0)
        return ttp_fail(err, TTAPE_E_CORRUPT, "F-VNM-09", ttp_reader_offset(c),
                        "value names go on behind the last value");
    return TTAPE_OK;
}

/* A block with room for all that the first reading has counted. */
static ttape_status make_block(struct reading *r, ttape_error *err)
{
    struct ttp_definition_tables *d = r->d;
    uint64_t values = r->enumeration_count + r->value_count;
    uint64_t bytes = sizeof(struct ttp_value_names) + r->site_count * sizeof *r->sites +
                     values * sizeof *r->values + r->constant_count * sizeof *r->constants;
    uint8_t *block = ttp_memory_take(d->memory, bytes, 1, err);
    if (block == NULL)
        return d->memory->status;
    struct ttp_value_names *head = (struct ttp_value_names *)(void *)block;
    *head = (struct ttp_value_names){d->value_names, bytes};
    d->value_names = head;
    r->sites = (ttape_site_values *)(void *)(head + 1);
    r->enumerations = (ttape_value_name *)(void *)(r->sites + r->site_count);
    r->values = r->enumerations + r->enumeration_count;
    r->constants = (ttape_value_constant *)(void *)(r->values + r->value_count);
    r->enumeration_count = r->constant_count = r->site_count = r->value_count = 0;
    return TTAPE_OK;
}

/* Sites without names have no room here in a file that has none. */
static ttape_status reserve_sites(struct ttp_definition_tables *d, ttape_error *err)
{
    TTP_TRY(ttp_memory_reserve(d->memory, &d->site_values, &d->site_values_capacity, d->site_count,
                               sizeof *d->site_values, err));
    if (d->site_count > d->site_values_count)
        memset(d->site_values + d->site_values_count, 0,
               (d->site_count - d->site_values_count) * sizeof *d->site_values);
    d->site_values_count = d->site_count;
    return TTAPE_OK;
}

ttape_status ttp_value_names_add(struct ttp_definition_tables *d, uint32_t scope,
                                 struct ttp_reader_cursor *c, ttape_error *err)
{
    struct ttp_reader_cursor first = *c;
    struct reading reading = {.d = d, .scope = scope};
    TTP_TRY(read_chunk(&reading, &first, err));
    TTP_TRY(reserve_sites(d, err));
    TTP_TRY(make_block(&reading, err));
    return read_chunk(&reading, c, err);
}

void ttp_value_names_reset(struct ttp_definition_tables *d)
{
    ttp_memory_give(d->memory, d->site_values, d->site_values_capacity, sizeof *d->site_values);
    while (d->value_names != NULL) {
        struct ttp_value_names *head = d->value_names;
        d->value_names = head->next;
        ttp_memory_give(d->memory, head, head->size_bytes, 1);
    }
}

const ttape_site_values *ttp_value_names_of(const struct ttp_definition_tables *d, uint32_t site)
{
    return site < d->site_values_count ? d->site_values[site] : NULL;
}

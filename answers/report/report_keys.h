/* Which sites are one row of a report: a key for every site, and one site for every key. */
#ifndef TTP_READER_REPORT_KEYS_H
#define TTP_READER_REPORT_KEYS_H

#include <tracetape/report.h>

#include "reader/reader_internal.h"

struct ttp_report_keys {
    struct ttp_memory *memory;
    uint32_t *of_site;    /* NULL: each site is its own key; TTAPE_NONE: a site of no row */
    uint32_t *first_site; /* of a key; NULL like of_site */
    uint32_t site_count, key_count;
    bool overlap; /* sites of one scope share a row: one may be within another */
};

ttape_status ttp_report_keys_open(struct ttp_report_keys *keys, struct ttp_memory *memory,
                                  const ttape_reader *r, const ttape_report_options *options,
                                  ttape_error *err);
void ttp_report_keys_close(struct ttp_report_keys *keys);

static inline uint32_t ttp_report_key(const struct ttp_report_keys *keys, uint32_t site)
{
    return keys->of_site == NULL || site == TTAPE_NONE ? site : keys->of_site[site];
}

static inline uint32_t ttp_report_key_site(const struct ttp_report_keys *keys, uint32_t key)
{
    return keys->first_site == NULL || key == TTAPE_NONE ? key : keys->first_site[key];
}

#endif

/* The content of value name chunks: what the values of a site's events are called (F-VNM). Each
 * chunk stands for itself: enumerations are numbered within it. Nothing is allocated here.
 *
 *   | enumeration count | enumerations with their constants |
 *   | site count | sites with their values | */
#ifndef TTP_FORMAT_VALUE_NAMES_H
#define TTP_FORMAT_VALUE_NAMES_H

#include <tracetape/error.h>
#include <tracetape/types.h>

#include "format/base/bytes.h"

/* The name of an enumeration, and how many constants follow. */
struct ttp_enumeration {
    ttape_string name;
    uint32_t constant_count;
};

/* A site, and how many values follow: those of its enter, then those of its exit. */
struct ttp_named_site {
    uint32_t site, enter_count, exit_count;
};

struct ttp_named_value {
    ttape_string name, type;
    uint32_t enumeration_plus_one; /* 0: none */
};

/* Bytes of each, but for those of its strings. */
#define TTP_NAMED_BOUND (3 * (size_t)TTP_VARINT_MAX)

void ttp_enumeration_write(struct ttp_writer_cursor *c, const struct ttp_enumeration *enumeration);
/* before: the value of the constant before, 0 for the first. */
void ttp_constant_write(struct ttp_writer_cursor *c, const ttape_value_constant *constant,
                        int64_t before);
/* next_site: one past the site before, 0 for the first. */
void ttp_named_site_write(struct ttp_writer_cursor *c, uint32_t next_site,
                          const struct ttp_named_site *site);
void ttp_named_value_write(struct ttp_writer_cursor *c, const struct ttp_named_value *value);

ttape_status ttp_enumerations_read_count(struct ttp_reader_cursor *c, uint32_t *count,
                                         ttape_error *err);
ttape_status ttp_enumeration_read(struct ttp_reader_cursor *c, uint32_t max_string,
                                  struct ttp_enumeration *out, ttape_error *err);
/* out->value: that of the constant before, 0 for the first. */
ttape_status ttp_constant_read(struct ttp_reader_cursor *c, uint32_t max_string,
                               ttape_value_constant *out, ttape_error *err);
ttape_status ttp_named_sites_read_count(struct ttp_reader_cursor *c, uint32_t *count,
                                        ttape_error *err);
ttape_status ttp_named_site_read(struct ttp_reader_cursor *c, uint32_t next_site,
                                 struct ttp_named_site *out, ttape_error *err);
ttape_status ttp_named_value_read(struct ttp_reader_cursor *c, uint32_t max_string,
                                  uint32_t enumeration_count, struct ttp_named_value *out,
                                  ttape_error *err);

#endif

/* What values are called, out of value name chunks. */
#ifndef TTP_READER_VALUE_NAMES_READER_H
#define TTP_READER_VALUE_NAMES_READER_H

#include "format/base/bytes.h"
#include "reader/definitions/definitions_reader.h"

/* As ttp_definitions_add, for the content of a value name chunk. */
ttape_status ttp_value_names_add(struct ttp_definition_tables *d, uint32_t scope,
                                 struct ttp_reader_cursor *c, ttape_error *err);
void ttp_value_names_reset(struct ttp_definition_tables *d);
/* The names of a site's values, by its file-wide number; NULL where there are none. */
const ttape_site_values *ttp_value_names_of(const struct ttp_definition_tables *d, uint32_t site);

#endif

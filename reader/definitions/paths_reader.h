/* Paths, and the sites that they led to, out of path table chunks. */
#ifndef TTP_READER_PATHS_READER_H
#define TTP_READER_PATHS_READER_H

#include "format/base/bytes.h"
#include "reader/definitions/definitions_reader.h"

/* As ttp_definitions_add, for the content of a path table chunk. */
ttape_status ttp_paths_add(struct ttp_definition_tables *d, uint32_t scope,
                           struct ttp_reader_cursor *c, ttape_error *err);

#endif

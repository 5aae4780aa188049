/* Metadata chunks: they introduce scopes and say what is known about an execution. */
#ifndef TTP_READER_METADATA_READER_H
#define TTP_READER_METADATA_READER_H

#include "reader/definitions/definitions_reader.h"

/* As ttp_definitions_add, for a metadata chunk whose content is kept already. */
ttape_status ttp_metadata_add(struct ttp_definition_tables *d, const struct ttp_chunk *chunk,
                              uint8_t *content, size_t size_bytes, ttape_error *err);

#endif

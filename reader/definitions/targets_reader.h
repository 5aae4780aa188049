/* What pointers among values point to (F-SIT-13), and call sites (F-SIT-14), by address. */
#ifndef TTP_READER_TARGETS_READER_H
#define TTP_READER_TARGETS_READER_H

#include "reader/definitions/definitions_reader.h"

/* Takes in the targets among the sites from `first` on. */
ttape_status ttp_targets_add(struct ttp_definition_tables *d, uint32_t first, ttape_error *err);
/* The target at an address, as seen from the events of a site: its file-wide number, or
 * TTAPE_NONE. */
uint32_t ttp_targets_find(const struct ttp_definition_tables *d, uint32_t site, uint64_t address);

#endif

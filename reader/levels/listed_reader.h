/* The longest calls that an overview lists (field 6). */
#ifndef TTP_READER_LISTED_READER_H
#define TTP_READER_LISTED_READER_H

#include "format/container/measures/listed.h"
#include "reader/levels/overview_reader.h"

/* TTAPE_E_NOT_FOUND: it lists none. Segments and events are there; sites need not be. To be dropped
 * on success, before the overview. */
ttape_status ttp_listed_load(struct ttp_trace_decoder *d, const struct ttp_read_overview *o,
                             struct ttp_listed *out, ttape_error *err);
void ttp_listed_drop(struct ttp_trace_decoder *d, struct ttp_listed *listed);

#endif

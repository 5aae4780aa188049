/* Whether what a partition says of its instants is what its events give. */
#ifndef TTP_READER_VERIFY_INSTANTS_H
#define TTP_READER_VERIFY_INSTANTS_H

#include "reader/levels/instants_reader.h"

/* Of a partition at stage EVENTS. *wrong: the first segment of which they are wrong, or UINT32_MAX.
 * A section that cannot be read is a failure. */
ttape_status ttp_verify_instants(struct ttp_trace_decoder *d, const struct ttp_loaded *p,
                                 uint32_t *wrong, ttape_error *err);

#endif

/* Whether what a partition says of the events that frames began with is what its events give. */
#ifndef TTP_READER_VERIFY_ENTERS_H
#define TTP_READER_VERIFY_ENTERS_H

#include "reader/partition/partition_reader.h"

/* The partition is at stage EVENTS. *wrong: the first segment of which it is not, or UINT32_MAX. A
 * section that cannot be read is a failure. */
ttape_status ttp_verify_enters(struct ttp_trace_decoder *d, const struct ttp_loaded *p,
                               uint32_t *wrong, ttape_error *err);

#endif

/* The enters section of a partition, if it has one. */
#ifndef TTP_READER_ENTERS_READER_H
#define TTP_READER_ENTERS_READER_H

#include "format/container/enters.h"
#include "reader/partition/partition_reader.h"

bool ttp_has_enters(const struct ttp_loaded *loaded);
/* Fills `out`, which has room for ttp_entered_count, from a partition that has it, at stage LIGHT
 * or more. */
ttape_status ttp_enters_load(struct ttp_trace_decoder *d, const struct ttp_loaded *loaded,
                             struct ttp_entered *out, ttape_error *err);

#endif

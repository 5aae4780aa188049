/* The instants section of a partition, if it has one. */
#ifndef TTP_READER_INSTANTS_READER_H
#define TTP_READER_INSTANTS_READER_H

#include "format/levels/instants.h"
#include "reader/partition/partition_reader.h"
#include "reader/reader_internal.h"

struct ttp_read_instants {
    struct ttp_instants in; /* segments NULL: the partition has no such section */
    uint32_t segment_count;
};

/* Of a partition at stage LIGHT or more. To be dropped on success. */
ttape_status ttp_instants_load(struct ttp_trace_decoder *d, const struct ttp_loaded *p,
                               struct ttp_read_instants *out, ttape_error *err);
void ttp_instants_drop(struct ttp_trace_decoder *d, struct ttp_read_instants *instants);

#endif

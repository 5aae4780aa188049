/* What an overview says of instants of its partitions. */
#ifndef TTP_READER_MERGED_READER_H
#define TTP_READER_MERGED_READER_H

#include "format/levels/merged.h"
#include "reader/levels/overview_reader.h"

struct ttp_read_merged {
    struct ttp_merged all;
    struct ttp_merged_ref *refs; /* of the overview's partitions; streams are file-wide */
    uint32_t ref_count;
};

/* TTAPE_E_NOT_FOUND: it says nothing. To be dropped on success. */
ttape_status ttp_merged_load(struct ttp_trace_decoder *d, const struct ttp_read_overview *o,
                             struct ttp_read_merged *out, ttape_error *err);
void ttp_merged_drop(struct ttp_trace_decoder *d, struct ttp_read_merged *merged);

#endif

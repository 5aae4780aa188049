/* What an overview says of each of its partitions. */
#ifndef TTP_READER_OUTLINE_READER_H
#define TTP_READER_OUTLINE_READER_H

#include "format/container/measures/outlines.h"
#include "reader/levels/overview_reader.h"

struct ttp_read_outlines {
    struct ttp_outlines all;
    struct ttp_partition_outline each[TTP_OVERVIEW_PARTITIONS]; /* by the overview's partitions */
    struct ttp_segment *segments;
    struct ttp_outline_origin *before;
};

/* Room for the segments of an overview's partitions, of which streams and events are filled in, and
 * where their streams were before. To be dropped on success. */
ttape_status ttp_outlines_prepare(struct ttp_trace_decoder *d, const struct ttp_read_overview *o,
                                  struct ttp_read_outlines *out, ttape_error *err);
/* TTAPE_E_NOT_FOUND: it says nothing. To be dropped on success. */
ttape_status ttp_outlines_load(struct ttp_trace_decoder *d, const struct ttp_read_overview *o,
                               struct ttp_read_outlines *out, ttape_error *err);
void ttp_outlines_drop(struct ttp_trace_decoder *d, struct ttp_read_outlines *outlines);

#endif

/* Overviews go along with the partitions that they cover. */
#ifndef TTP_LIBTRACE_COPY_OVERVIEWS_H
#define TTP_LIBTRACE_COPY_OVERVIEWS_H

#include "reader/reader_internal.h"
#include "writer/events/copy_writer.h"

/* A partition was copied as it is by that copier: where it is the last of an overview's, and all of
 * these came one behind the other, the overview is copied behind it. */
ttape_status ttp_copied_overview(ttape_writer *w, struct ttp_trace_decoder *d, struct ttp_scope *to,
                                 uint32_t copier, uint32_t partition, ttape_error *err);

#endif

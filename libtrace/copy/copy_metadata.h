/* Copies metadata: what a scope has already is not said again, and what tells of times moves with
 * them. */
#ifndef TTP_LIBTRACE_COPY_METADATA_H
#define TTP_LIBTRACE_COPY_METADATA_H

#include <tracetape/copy.h>

#include "reader/reader_internal.h"
#include "writer/events/copy_writer.h"

/* place: where the scope's clock stands on the writer's axis; NULL: where it is. */
ttape_status ttp_copied_metadata(ttape_writer *w, const ttape_reader *r, struct ttp_scope *to,
                                 uint32_t scope, const ttape_reduction *reduction,
                                 const ttape_clock_shift *place, ttape_error *err);

#endif

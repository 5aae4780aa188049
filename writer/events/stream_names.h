/* Streams whose names change before their definitions are written. For the recorder: threads begin
 * before they have a name. */
#ifndef TTP_WRITER_STREAM_NAMES_H
#define TTP_WRITER_STREAM_NAMES_H

#include "writer/writer_internal.h"

/* False: its definition is written already, or there is no memory for the name. */
bool ttp_stream_rename(ttape_writer *w, uint32_t stream, ttape_string name);

/* The definitions that are not written yet, with the names that their streams have now. */
ttape_status ttp_stream_names_apply(ttape_writer *w, struct ttp_definitions *d, ttape_error *err);

#endif

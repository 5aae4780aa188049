/* The one place where reader/ calls the order and time codecs of format/. */
#ifndef TTP_READER_CODECS_H
#define TTP_READER_CODECS_H

#include "format/times.h"
#include "reader/section_reader.h"

/* Decodes the partition's order, whatever its form; errors have file offsets. */
ttape_status ttp_codecs_order(ttape_reader *r, struct ttp_loaded *p, struct ttp_order_out *out,
                              ttape_error *err);
/* Decodes all times of the partition. */
ttape_status ttp_codecs_times(ttape_reader *r, struct ttp_loaded *p, struct ttp_times *io,
                              ttape_error *err);

#endif

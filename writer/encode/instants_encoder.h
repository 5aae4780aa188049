/* The instants section of a partition. */
#ifndef TTP_WRITER_INSTANTS_ENCODER_H
#define TTP_WRITER_INSTANTS_ENCODER_H

#include "writer/encode/partition_arrange.h"

/* What it may take beside so many bytes of the other sections. */
size_t ttp_encode_instants_bound(const struct ttp_encoding *e, size_t payload_bytes);
/* Behind the times. *size is 0 where it would take more, or has nothing to say. */
ttape_status ttp_encode_instants(struct ttp_encoding *e, const struct ttp_order *order, uint8_t *at,
                                 size_t bound, size_t *size);

#endif

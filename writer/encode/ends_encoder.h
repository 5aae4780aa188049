/* Two sections say of a partition's frames what its events do not, or only all of them: which ends
 * are not known, and which events began what is open at its end. Bytes stand in the job's
 * workspace. */
#ifndef TTP_WRITER_ENDS_ENCODER_H
#define TTP_WRITER_ENDS_ENCODER_H

#include "writer/encode/partition_arrange.h"

ttape_status ttp_encode_ends(struct ttp_encoding *e, const struct ttp_order *order,
                             struct ttp_bytes *out);
ttape_status ttp_encode_enters(struct ttp_encoding *e, const struct ttp_order *order,
                               struct ttp_bytes *out);

#endif

/* Bounded decompression of single zstd frames: the reader's only door to zstd. */
#ifndef TTP_READER_ZSTD_DECODER_H
#define TTP_READER_ZSTD_DECODER_H

#include "base/memory.h"

struct ttp_zstd {
    void *context; /* NULL until the first frame */
    size_t charged_bytes;
};

/* Decompresses exactly one frame to exactly content_bytes bytes. `rule` is the sentence that a bad
 * frame breaks (F-CHK-05 or F-PAR-09). TTAPE_E_CORRUPT, TTAPE_E_MEMORY. Nothing is allocated for
 * what a frame claims. */
ttape_status ttp_zstd_decode(struct ttp_zstd *zstd, struct ttp_memory *memory, const uint8_t *data,
                             size_t size_bytes, uint8_t *out, size_t content_bytes,
                             const char *rule, ttape_error *err);
void ttp_zstd_reset(struct ttp_zstd *zstd, struct ttp_memory *memory);

#endif

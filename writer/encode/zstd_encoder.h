/* The writer's door to zstd. */
#ifndef TTP_WRITER_ZSTD_ENCODER_H
#define TTP_WRITER_ZSTD_ENCODER_H

#include <stddef.h>

#include <tracetape/error.h>

/* Room that compressing size_bytes bytes may need. */
size_t ttp_zstd_bound(size_t size_bytes);
/* Compresses in one frame with its content size and no checksum (ours covers it). *packed_bytes is
 * the frame's size, or 0 when it would not be smaller than the input: then store the input as it
 * is. TTAPE_E_MEMORY is no reason for that: the same events would give other bytes. */
ttape_status ttp_zstd_encode(const void *data, size_t size_bytes, int level, void *out,
                             size_t out_bytes, size_t *packed_bytes, ttape_error *err);

#endif

/* The fixed blocks of a file: file header, chunk header, footer. Values in, bytes out, and back. */
#ifndef TTP_FORMAT_CHUNK_H
#define TTP_FORMAT_CHUNK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tracetape/error.h>

#include "format/container/layout.h"

struct ttp_file_header {
    uint16_t minor, required_minor;
    uint8_t trace_id[TTP_TRACE_ID_BYTES];
};

struct ttp_chunk {
    uint16_t kind, flags;
    uint32_t scope;
    uint64_t sequence;
    uint64_t stored_bytes;  /* of the payload */
    uint64_t content_bytes; /* after decompression; equal to stored_bytes without TTP_FLAG_ZSTD */
    uint64_t payload_hash;
    uint64_t last_index; /* offset of the last index chunk before this one, 0: none */
};

struct ttp_footer {
    uint64_t index_offset, file_bytes, chunk_count;
};

void ttp_file_header_write(const struct ttp_file_header *header,
                           uint8_t out[TTP_FILE_HEADER_BYTES]);
void ttp_chunk_write(const struct ttp_chunk *chunk, uint8_t out[TTP_CHUNK_HEADER_BYTES]);
void ttp_footer_write(const struct ttp_footer *footer, uint8_t out[TTP_FOOTER_BYTES]);

/* Each verifies magic, hash, version and reserved bits, in this order; `offset` is where the block
 * stands in the file, for the error. *out is untouched on failure. */
ttape_status ttp_file_header_read(const uint8_t *data, size_t size_bytes,
                                  struct ttp_file_header *out, ttape_error *err);
ttape_status ttp_chunk_read(const uint8_t data[TTP_CHUNK_HEADER_BYTES], uint64_t offset,
                            struct ttp_chunk *out, ttape_error *err);
ttape_status ttp_footer_read(const uint8_t data[TTP_FOOTER_BYTES], uint64_t offset,
                             struct ttp_footer *out, ttape_error *err);

/* Name of a chunk kind for messages; static. */
const char *ttp_chunk_kind_name(uint16_t kind);
bool ttp_chunk_kind_known(uint16_t kind);

#endif

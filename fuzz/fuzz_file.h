/* A trace taken apart as far as its bytes allow, to be edited and put together again with sizes,
 * hashes, sequence numbers, index and footer made right: so that fuzzing gets past the checksums.
 *
 *   bytes --parse--> header | chunks (content decompressed) | partitions (sections decompressed)
 *         <--write-- the same, compressed and sealed anew */
#ifndef FUZZ_FILE_H
#define FUZZ_FILE_H

#include "format/container/chunk.h"
#include "format/container/partition.h"
#include "fuzz_common.h"

#define FUZZ_MAX_CHUNKS 256u

/* A zstd frame that does not decompress is kept as it is: packed is false then, but `flags` still
 * says zstd, and `claimed` what the content's size was said to be. */
struct fuzz_section {
    uint16_t kind, flags;
    bool packed;
    uint32_t claimed, reserved;
    struct fuzz_bytes content;
};

static inline struct ttp_bytes fuzz_content(const struct fuzz_section *section)
{
    return (struct ttp_bytes){section->content.data, section->content.size};
}

struct fuzz_partition {
    uint8_t head[TTP_HEAD_BYTES];
    uint32_t section_count;
    struct fuzz_section sections[TTP_MAX_SECTIONS];
};

struct fuzz_chunk {
    uint8_t header[TTP_CHUNK_HEADER_BYTES];
    bool packed;
    struct fuzz_bytes content;
    struct fuzz_partition *partition; /* kinds partition and model, where it could be taken apart */
    uint64_t offset;                  /* as written */
};

struct fuzz_file {
    uint8_t header[TTP_FILE_HEADER_BYTES], footer[TTP_FOOTER_BYTES];
    struct fuzz_chunk chunks[FUZZ_MAX_CHUNKS];
    uint32_t chunk_count;
    bool has_footer;
    struct fuzz_bytes tail; /* what is no chunk */
};

/* Which repairs are made when a file is written; hashes and sizes always are. */
#define FUZZ_FIX_SEQUENCE 1u
#define FUZZ_FIX_INDEX    2u
#define FUZZ_FIX_ALL      3u

/* NULL where the bytes do not even start like a trace. */
struct fuzz_file *fuzz_file_parse(const uint8_t *data, size_t size_bytes);
struct fuzz_bytes fuzz_file_write(struct fuzz_file *file, unsigned fixes);

static inline uint16_t fuzz_chunk_kind(const struct fuzz_chunk *chunk)
{
    return (uint16_t)(chunk->header[TTP_CHUNK_KIND_AT] | chunk->header[TTP_CHUNK_KIND_AT + 1] << 8);
}

struct fuzz_partition *fuzz_partition_parse(const uint8_t *payload, size_t size_bytes);
struct fuzz_bytes fuzz_partition_write(const struct fuzz_partition *p);
struct fuzz_section *fuzz_section_of(struct fuzz_partition *p, uint16_t kind);
/* The section of that kind, made where there is none; NULL when there is no room. */
struct fuzz_section *fuzz_section_make(struct fuzz_partition *p, uint16_t kind);
void fuzz_section_drop(struct fuzz_partition *p, struct fuzz_section *section);

/* The content of an index over the first `count` chunks, as written so far (fuzz_index.c). */
struct fuzz_bytes fuzz_index_content(const struct fuzz_file *file, uint32_t count);

/* One zstd frame, or bytes out of one; false when it is none or has more than 1 MiB. */
struct fuzz_bytes fuzz_pack(const struct fuzz_bytes *content);
bool fuzz_unpack(const uint8_t *data, size_t size_bytes, size_t content_bytes,
                 struct fuzz_bytes *content);

#endif

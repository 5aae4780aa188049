/* A file taken apart, to be put together again in ways that our writer does not know: chunks with
 * their content, partitions with their sections. Writing it fixes up sizes, sequence numbers,
 * hashes, index and footer, so that an edit breaks what it means to break and nothing outside of
 * it.
 *
 *   ttest_file_parse -> edit -> ttest_file_write -> damage (with ttest_reseal_*) */
#ifndef TTEST_VECTOR_FILE_H
#define TTEST_VECTOR_FILE_H

#include <stdbool.h>

#include "format/container/chunk.h"
#include "format/container/index.h"
#include "format/container/measures/cpu_times.h"
#include "format/container/measures/own_times.h"
#include "format/container/measures/summary.h"
#include "format/container/partition.h"
#include "format/container/segments.h"
#include "format/container/values.h"
#include "format/order/order.h"
#include "vector_bytes.h"

#define TTEST_MAX_CHUNKS 32u
#define TTEST_MAX_ITEMS  64u /* segments, frames, events, symbols of a partition that is edited */

struct ttest_section {
    uint16_t kind, flags;
    bool packed; /* store as a zstd frame */
    struct ttest_bytes content;
    struct ttest_bytes stored; /* where not empty: stored as it is, whatever the content is */
    uint32_t content_bytes;    /* where not 0: what the directory says */
};

struct ttest_partition {
    struct ttp_partition_head head;
    struct ttest_section sections[TTP_MAX_SECTIONS];
    uint32_t section_count;
    struct ttp_segments segments;
    struct ttp_segment segment[TTEST_MAX_ITEMS];
    struct ttp_frame start_frames[TTEST_MAX_ITEMS], end_frames[TTEST_MAX_ITEMS];
    uint32_t codes[TTEST_MAX_ITEMS];
    struct ttp_symbol symbols[TTEST_MAX_ITEMS];
    uint32_t symbol_count;
    uint64_t gap_count, lost_count;              /* for the index */
    struct ttp_segment indexed[TTEST_MAX_ITEMS]; /* segments as the index has them */
    uint32_t indexed_count;
    void (*edit_entry)(struct ttp_index_entry *entry); /* what the index says of it; may be NULL */
};

struct ttest_chunk {
    struct ttp_chunk head; /* kind, flags, scope; the rest is made when written */
    bool packed;
    struct ttest_bytes content;
    struct ttest_bytes stored;         /* as a section's */
    uint64_t content_bytes;            /* as a section's */
    struct ttest_partition *partition; /* its payload is made of this */
    uint64_t offset;                   /* in the file as written */
    uint64_t skipped_sequence;         /* numbers that are missing before it */
};

struct ttest_file {
    struct ttp_file_header header;
    struct ttest_chunk chunks[TTEST_MAX_CHUNKS];
    uint32_t chunk_count;
    bool unfinished;  /* write neither index nor footer */
    bool fixed_index; /* the index's content is index_content */
    struct ttest_bytes index_content;
    uint64_t index_offset, footer_offset; /* in the file as written */
};

/* Takes a file of our writer apart; index and footer are dropped, to be made again. Partitions are
 * decoded where they are small; their order must be in the literal form, and is turned into the raw
 * one. */
struct ttest_file *ttest_file_parse(const struct ttest_bytes *bytes, bool raw);
struct ttest_bytes ttest_file_write(struct ttest_file *file);

/* The n-th chunk of a kind. */
struct ttest_chunk *ttest_chunk_of(struct ttest_file *file, uint16_t kind, uint32_t n);
/* Makes room for a chunk before position `at` (chunk_count: at the end) and returns it, empty. */
struct ttest_chunk *ttest_insert_chunk(struct ttest_file *file, uint32_t at);
struct ttest_partition *ttest_partition_of(struct ttest_file *file, uint32_t n);
struct ttest_section *ttest_section_of(struct ttest_partition *p, uint16_t kind);
struct ttest_section *ttest_insert_section(struct ttest_partition *p, uint16_t kind);
void ttest_drop_section(struct ttest_partition *p, uint16_t kind);

/* Encode again what was edited in the partition's arrays. */
void ttest_encode_light(struct ttest_partition *p);
void ttest_encode_order(struct ttest_partition *p);

/* The content of an index over the first `count` chunks of the file as written. */
struct ttest_bytes ttest_index_content(const struct ttest_file *file, uint32_t count);

/* Set the hash of a block that was patched. */
void ttest_reseal(struct ttest_bytes *file, uint64_t block, uint64_t hash_at);
void ttest_reseal_payload(struct ttest_bytes *file, uint64_t chunk);
void ttest_reseal_head(struct ttest_bytes *file, uint64_t chunk, uint32_t section_count);

#endif

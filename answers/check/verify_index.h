/* Index chunks against the chunks that stand before them. */
#ifndef TTP_READER_VERIFY_INDEX_H
#define TTP_READER_VERIFY_INDEX_H

#include "reader/reader_internal.h"

struct ttp_listed_chunk {
    uint64_t stored_bytes;
    uint32_t scope;
    uint32_t partition; /* or TTAPE_NONE: not a partition, or one that could not be taken in */
    uint16_t kind;
};

struct ttp_chunk_list {
    struct ttp_listed_chunk *chunks;
    uint32_t count, capacity;
};

/* is_part: the reader's last partition is this chunk. */
ttape_status ttp_chunk_list_add(struct ttp_chunk_list *list, ttape_reader *r,
                                const struct ttp_chunk *chunk, bool is_partition, ttape_error *err);
void ttp_chunk_list_close(struct ttp_chunk_list *list, ttape_reader *r);

/* TTAPE_E_CORRUPT with the first difference. Partitions that could not be decoded are compared as
 * far as they go. */
ttape_status ttp_verify_index(ttape_reader *r, const struct ttp_chunk_list *list, uint64_t offset,
                              const struct ttp_chunk *chunk, ttape_error *err);

#endif

/* The reader's memory: every byte is asked for here and counted against limits.memory_bytes, so
 * that a file cannot make a reader grow past its options. Blocks are given back with their size.
 * Not thread-safe. */
#ifndef TTP_READER_MEMORY_H
#define TTP_READER_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tracetape/error.h>
#include <tracetape/types.h>

struct ttp_memory {
    ttape_allocator allocator;
    uint64_t limit_bytes, used_bytes;
    bool (*relieve)(
        void *context); /* past the limit: true when it gave something back; may be NULL */
    void *relieve_context;
    ttape_status status;   /* why the last ttp_memory_take returned NULL */
    uint64_t hash_key;     /* of tables that files fill: format/base/secret_hash.h */
    struct ttp_kept *kept; /* may be NULL; shared with copies; kept_blocks.h */
    bool is_single;        /* ttp_memory_keep_for */
    bool whole_pages;      /* ttp_scratch_bytes; copies have the same */
};

/* allocator: NULL means malloc and free. */
void ttp_memory_init(struct ttp_memory *memory, const ttape_allocator *allocator,
                     uint64_t limit_bytes);

/* From now on large blocks are kept when they are given back, where the allocator is none of the
 * caller's: until the close, and then no more than the limit leaves. Copies share them. */
void ttp_memory_keep(struct ttp_memory *memory);
/* With one partition nothing is used again, and nothing kept. */
void ttp_memory_keep_for(struct ttp_memory *memory, uint32_t partition_count);
void ttp_memory_close(struct ttp_memory *memory);

/* `count` items, not initialised; NULL (memory->status says why) past the limit or without memory.
 * No items still make a block that can be given back. */
void *ttp_memory_take(struct ttp_memory *memory, uint64_t count, size_t item_bytes,
                      ttape_error *err);
/* NULL is fine. count and item_bytes are those of the take. */
void ttp_memory_give(struct ttp_memory *memory, void *block, uint64_t count, size_t item_bytes);

/* Makes room for `wanted` items in an array of *capacity, at least doubling it; returns the array,
 * or NULL with the old one still in place. */
void *ttp_memory_grow(struct ttp_memory *memory, void *block, uint32_t *capacity, uint64_t wanted,
                      size_t item_bytes, ttape_error *err);

/* The same for the array whose pointer is at `array`. */
ttape_status ttp_memory_reserve(struct ttp_memory *memory, void *array, uint32_t *capacity,
                                uint64_t wanted, size_t item_bytes, ttape_error *err);

/* What to take, and to give back, for bytes that are needed for a moment only, as often as a
 * partition is decoded: whole huge pages, so that there are few faults, where blocks are kept and
 * the limit is not near. Counted as such. */
static inline uint64_t ttp_scratch_bytes(const struct ttp_memory *memory, uint64_t size_bytes)
{
    const uint64_t huge = UINT64_C(2) << 20;
    if (!memory->whole_pages || size_bytes < huge / 4 || size_bytes > UINT64_MAX / 2)
        return size_bytes;
    return (size_bytes + huge - 1) / huge * huge;
}

/* Of a block of which only the first dense_bytes are in use from the start: huge pages for the rest
 * would be fetched and cleared for little. */
void ttp_memory_small_pages(const struct ttp_memory *memory, void *block, size_t size_bytes,
                            size_t dense_bytes);

/* Counts memory that a library keeps for the reader outside of the allocator. */
void ttp_memory_charge(struct ttp_memory *memory, uint64_t size_bytes);

#endif

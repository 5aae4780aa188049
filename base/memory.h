/* The reader's memory: every byte is asked for here and counted against limits.memory_bytes, so
 * that a file cannot make a reader grow past its options. Blocks are given back with their size.
 *
 *   struct ttp_memory  of a decoder or a handle: one thread at a time
 *   -> ttp_memory_account     of all of them together: any thread */
#ifndef TTP_BASE_MEMORY_H
#define TTP_BASE_MEMORY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tracetape/error.h>
#include <tracetape/types.h>

/* What several memories have together. */
struct ttp_memory_account {
    uint64_t limit_bytes;
    _Atomic uint64_t used_bytes;
    /* Past the limit: true when it gave back something that nobody uses now; may be NULL. */
    bool (*relieve)(void *context);
    /* Begins (and ends) a time in which nobody decodes; may be NULL. */
    void (*alone)(void *context, bool begins);
    void *context;
};

struct ttp_memory {
    ttape_allocator allocator;
    uint64_t limit_bytes, used_bytes;   /* its own */
    struct ttp_memory_account *account; /* NULL: it is nobody's part */
    bool (*relieve)(
        void *context); /* past the limit: true when it gave something back; may be NULL */
    void *relieve_context;
    bool waits; /* past the account's limit: until nobody decodes. Its owner does not, then */
    ttape_status status;   /* why the last ttp_memory_take returned NULL */
    uint64_t hash_key;     /* of tables that files fill: format/base/secret_hash.h */
    struct ttp_kept *kept; /* may be NULL; shared with copies; kept_blocks.h */
    bool whole_pages;      /* ttp_scratch_bytes; copies have the same */
};

/* allocator: NULL means malloc and free. */
void ttp_memory_init(struct ttp_memory *memory, const ttape_allocator *allocator,
                     uint64_t limit_bytes);

/* A memory that is empty, with the allocator, the kept blocks and the account of another one. */
struct ttp_memory ttp_memory_sharing(const struct ttp_memory *memory);
/* Bytes that are left of its limit, and of its account's. */
uint64_t ttp_memory_left(const struct ttp_memory *memory);

/* The room that an array gets that needs more than its capacity: twice as much at least. */
static inline uint64_t ttp_next_capacity(uint64_t capacity, uint64_t needed)
{
    uint64_t twice = capacity * 2;
    return needed < 16 ? 16 : needed > twice ? needed : twice;
}

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

/* A block that one took is from now on the other's, to be given back there. */
void ttp_memory_hand_over(struct ttp_memory *from, struct ttp_memory *to, uint64_t count,
                          size_t item_bytes);

/* Counts memory that a library keeps for the reader outside of the allocator, whatever the limit;
 * and no longer. */
void ttp_memory_charge(struct ttp_memory *memory, uint64_t size_bytes);
void ttp_memory_discharge(struct ttp_memory *memory, uint64_t size_bytes);

#endif

/* Accounting in front of the injected allocator. */
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

#include "base/kept_blocks.h"
#include "base/secret.h"
#include "format/base/fail.h"

/* Blocks that are kept are no more than this part of the limit. */
#define KEPT_SHARE 8u
/* What a decoder needs for a moment is some blocks: rounded up they are 2 MiB more each. */
#define WHOLE_PAGES_LIMIT (UINT64_C(64) << 20)

static void *default_allocate(void *context, size_t size_bytes)
{
    (void)context;
    return ttp_block_allocate(size_bytes);
}

static void default_release(void *context, void *memory, size_t size_bytes)
{
    (void)context;
    (void)size_bytes;
    free(memory);
}

void ttp_memory_init(struct ttp_memory *memory, const ttape_allocator *allocator,
                     uint64_t limit_bytes)
{
    *memory = (struct ttp_memory){.limit_bytes = limit_bytes, .hash_key = ttp_secret_key()};
    memory->allocator =
        allocator != NULL ? *allocator : (ttape_allocator){NULL, default_allocate, default_release};
}

void ttp_memory_keep(struct ttp_memory *memory)
{
    if (memory->allocator.allocate == default_allocate)
        memory->kept = ttp_kept_open(memory->limit_bytes / KEPT_SHARE);
    memory->whole_pages = memory->kept != NULL && memory->limit_bytes >= WHOLE_PAGES_LIMIT;
}

void ttp_memory_keep_for(struct ttp_memory *memory, uint32_t partition_count)
{
    if (memory->kept != NULL)
        ttp_kept_bind(memory->kept, partition_count <= 1 ? 0 : memory->limit_bytes / KEPT_SHARE);
}

void ttp_memory_close(struct ttp_memory *memory)
{
    ttp_kept_close(memory->kept);
    memory->kept = NULL;
}

/* An empty array gets a byte, because allocators may return NULL for none. */
static bool block_size(uint64_t count, size_t item_bytes, uint64_t *size_bytes)
{
    if (__builtin_mul_overflow(count, (uint64_t)item_bytes, size_bytes) || *size_bytes > SIZE_MAX)
        return false;
    *size_bytes += *size_bytes == 0;
    return true;
}

struct ttp_memory ttp_memory_sharing(const struct ttp_memory *memory)
{
    struct ttp_memory own = *memory;
    own.used_bytes = 0;
    own.relieve = NULL;
    own.relieve_context = NULL;
    own.waits = false;
    return own;
}

static uint64_t left_of(uint64_t limit_bytes, uint64_t used_bytes)
{
    return limit_bytes > used_bytes ? limit_bytes - used_bytes : 0;
}

uint64_t ttp_memory_left(const struct ttp_memory *memory)
{
    uint64_t left = left_of(memory->limit_bytes, memory->used_bytes);
    if (memory->account == NULL)
        return left;
    uint64_t all =
        left_of(memory->account->limit_bytes,
                atomic_load_explicit(&memory->account->used_bytes, memory_order_relaxed));
    return all < left ? all : left;
}

void ttp_memory_charge(struct ttp_memory *memory, uint64_t size_bytes)
{
    memory->used_bytes += size_bytes;
    if (memory->account != NULL)
        atomic_fetch_add_explicit(&memory->account->used_bytes, size_bytes, memory_order_relaxed);
}

void ttp_memory_discharge(struct ttp_memory *memory, uint64_t size_bytes)
{
    memory->used_bytes -= size_bytes;
    if (memory->account != NULL)
        atomic_fetch_sub_explicit(&memory->account->used_bytes, size_bytes, memory_order_relaxed);
}

/* Counts the bytes where they fit into both limits: others may ask at the same time. */
static bool reserve(struct ttp_memory *memory, uint64_t size_bytes)
{
    struct ttp_memory_account *all = memory->account;
    if (size_bytes > left_of(memory->limit_bytes, memory->used_bytes))
        return false;
    ttp_memory_charge(memory, size_bytes);
    if (all == NULL ||
        atomic_load_explicit(&all->used_bytes, memory_order_relaxed) <= all->limit_bytes)
        return true;
    ttp_memory_discharge(memory, size_bytes);
    return false;
}

static bool relieve_all(struct ttp_memory *memory, uint64_t size_bytes)
{
    const struct ttp_memory_account *all = memory->account;
    return all->relieve != NULL && all->relieve(all->context) && reserve(memory, size_bytes);
}

static bool reserve_alone(struct ttp_memory *memory, uint64_t size_bytes)
{
    const struct ttp_memory_account *all = memory->account;
    all->alone(all->context, true);
    bool fits = reserve(memory, size_bytes) || relieve_all(memory, size_bytes);
    all->alone(all->context, false);
    return fits;
}

/* First what the memory's own helper gives back, then what others do not use, then what they use
 * for a moment. */
static bool reserve_or_relieve(struct ttp_memory *memory, uint64_t size_bytes)
{
    const struct ttp_memory_account *all = memory->account;
    if (reserve(memory, size_bytes))
        return true;
    if (memory->relieve != NULL && memory->relieve(memory->relieve_context) &&
        reserve(memory, size_bytes))
        return true;
    if (all == NULL || size_bytes > all->limit_bytes)
        return false;
    return relieve_all(memory, size_bytes) ||
           (memory->waits && all->alone != NULL && reserve_alone(memory, size_bytes));
}

/* What is kept and what is used, this block already, together stay within the limit. */
static void *get_block(struct ttp_memory *memory, size_t size_bytes)
{
    const ttape_allocator *a = &memory->allocator;
    if (memory->kept == NULL)
        return a->allocate(a->context, size_bytes);
    if (!ttp_kept_keeps(memory->kept))
        return ttp_block_allocate_close(size_bytes);
    void *block = ttp_kept_take(memory->kept, size_bytes);
    ttp_kept_trim(memory->kept, ttp_memory_left(memory));
    if (block == NULL)
        block = a->allocate(a->context, size_bytes);
    if (block != NULL)
        return block;
    ttp_kept_trim(memory->kept, 0);
    return a->allocate(a->context, size_bytes);
}

static void release_block(const struct ttp_memory *memory, void *block, size_t size_bytes)
{
    if (memory->kept != NULL)
        ttp_kept_give(memory->kept, block, size_bytes, ttp_memory_left(memory));
    else
        memory->allocator.release(memory->allocator.context, block, size_bytes);
}

static ttape_status refuse_size(const struct ttp_memory *memory, uint64_t size_bytes,
                                ttape_error *err)
{
    const struct ttp_memory_account *all = memory->account;
    uint64_t limit = memory->limit_bytes, used = memory->used_bytes;
    if (all != NULL && size_bytes <= left_of(limit, used)) {
        limit = all->limit_bytes;
        used = atomic_load_explicit(&all->used_bytes, memory_order_relaxed);
    }
    return ttp_fail(err, TTAPE_E_LIMIT, "", TTAPE_ERROR_NO_OFFSET,
                    "reader needs more memory than its limit of %llu bytes: %llu "
                    "at least",
                    (unsigned long long)limit, (unsigned long long)(used + size_bytes));
}

void *ttp_memory_take(struct ttp_memory *memory, uint64_t count, size_t item_bytes,
                      ttape_error *err)
{
    uint64_t size_bytes;
    bool fits = block_size(count, item_bytes, &size_bytes);
    if (!fits || !reserve_or_relieve(memory, size_bytes)) {
        memory->status = refuse_size(memory, fits ? size_bytes : 0, err);
        return NULL;
    }
    void *block = get_block(memory, (size_t)size_bytes);
    if (block == NULL) {
        ttp_memory_discharge(memory, size_bytes);
        memory->status = ttp_fail(err, TTAPE_E_MEMORY, "", TTAPE_ERROR_NO_OFFSET, "out of memory");
    }
    return block;
}

void ttp_memory_give(struct ttp_memory *memory, void *block, uint64_t count, size_t item_bytes)
{
    uint64_t size_bytes;
    if (block == NULL || !block_size(count, item_bytes, &size_bytes))
        return;
    ttp_memory_discharge(memory, size_bytes);
    release_block(memory, block, (size_t)size_bytes);
}

void ttp_memory_hand_over(struct ttp_memory *from, struct ttp_memory *to, uint64_t count,
                          size_t item_bytes)
{
    uint64_t size_bytes;
    (void)block_size(count, item_bytes, &size_bytes);
    ttp_memory_discharge(from, size_bytes);
    ttp_memory_charge(to, size_bytes);
}

void *ttp_memory_grow(struct ttp_memory *memory, void *block, uint32_t *capacity, uint64_t wanted,
                      size_t item_bytes, ttape_error *err)
{
    if (block != NULL && wanted <= *capacity)
        return block;
    uint64_t next = ttp_next_capacity(*capacity, wanted);
    if (next > UINT32_MAX) {
        memory->status = ttp_fail(err, TTAPE_E_LIMIT, "", TTAPE_ERROR_NO_OFFSET,
                                  "table of the reader would have more than 2^32 entries");
        return NULL;
    }
    void *grown = ttp_memory_take(memory, next, item_bytes, err);
    if (grown == NULL)
        return NULL;
    if (block != NULL) {
        memcpy(grown, block, (size_t)*capacity * item_bytes);
        ttp_memory_give(memory, block, *capacity, item_bytes);
    }
    *capacity = (uint32_t)next;
    return grown;
}

ttape_status ttp_memory_reserve(struct ttp_memory *memory, void *array, uint32_t *capacity,
                                uint64_t wanted, size_t item_bytes, ttape_error *err)
{
    void *block; /* by memcpy, for pointers to different types may differ */
    memcpy(&block, array, sizeof block);
    block = ttp_memory_grow(memory, block, capacity, wanted, item_bytes, err);
    if (block == NULL)
        return memory->status;
    memcpy(array, &block, sizeof block);
    return TTAPE_OK;
}

void ttp_memory_small_pages(const struct ttp_memory *memory, void *block, size_t size_bytes,
                            size_t dense_bytes)
{
    if (memory->kept != NULL && dense_bytes < size_bytes)
        ttp_block_small_pages((char *)block + dense_bytes, size_bytes - dense_bytes);
}

/* Sizes are rounded up to eighths of a power of two, and a block serves for its rounded size alone:
 * what a block can hold follows from the size that it is given back with. The oldest goes first. */
#define _DEFAULT_SOURCE /* madvise */
#include "base/kept_blocks.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#ifndef TTP_NO_THREADS
#include <sys/mman.h>
#endif

#include "base/task.h"

#define LARGE_BYTES     ((size_t)64 << 10)
#define HUGE_PAGE_BYTES ((size_t)2 << 20)
#define MOST_BLOCKS     16u

#ifdef MADV_HUGEPAGE
#define ADVICE_HUGE  MADV_HUGEPAGE
#define ADVICE_SMALL MADV_NOHUGEPAGE
#else
#define ADVICE_HUGE  0 /* none */
#define ADVICE_SMALL 0
#endif

#if defined __SANITIZE_ADDRESS__
#define KEEPS false
#elif defined __has_feature
#if __has_feature(address_sanitizer) || __has_feature(memory_sanitizer)
#define KEEPS false
#endif
#endif
#ifndef KEEPS
#define KEEPS true
#endif

struct kept_block {
    void *memory;
    size_t size_bytes; /* rounded */
};

struct ttp_kept {
    ttp_mutex mutex;
    struct kept_block blocks[MOST_BLOCKS]; /* oldest first */
    uint32_t count;
    uint64_t bytes, bound_bytes;
};

static size_t rounded(size_t size_bytes)
{
    size_t step = LARGE_BYTES / 8;
    if (size_bytes < LARGE_BYTES || size_bytes > SIZE_MAX / 2)
        return size_bytes;
    while (step < size_bytes / 16)
        step *= 2;
    return (size_bytes + step - 1) / step * step;
}

/* What the kernel is told of the whole huge pages in it. */
static void advise(void *memory, size_t size_bytes, int advice)
{
    uintptr_t start = ((uintptr_t)memory + HUGE_PAGE_BYTES - 1) & ~(uintptr_t)(HUGE_PAGE_BYTES - 1);
    uintptr_t end = ((uintptr_t)memory + size_bytes) & ~(uintptr_t)(HUGE_PAGE_BYTES - 1);
#ifdef MADV_HUGEPAGE
    if (start < end)
        (void)madvise((void *)start, end - start, advice);
#else
    (void)start, (void)end, (void)advice;
#endif
}

/* A block begins where a huge page does, and takes whole ones where it fills most of the last one:
 * otherwise half of a partition's codes lie in small ones. Only advice: where there are none,
 * nothing changes. */
void *ttp_block_allocate(size_t size_bytes)
{
    size_t bytes = rounded(size_bytes), huge = 0;
    void *memory = NULL;
    if (!KEEPS) /* a sanitizer sees what is behind the size that was asked for */
        return malloc(size_bytes);
    if (bytes <= SIZE_MAX / 2)
        huge = (bytes + HUGE_PAGE_BYTES / 4) & ~(HUGE_PAGE_BYTES - 1);
    if (huge == 0)
        return malloc(bytes);
    bytes = bytes < huge ? huge : bytes;
    if (posix_memalign(&memory, HUGE_PAGE_BYTES, bytes) != 0)
        return NULL;
    advise(memory, huge, ADVICE_HUGE);
    return memory;
}

void *ttp_block_allocate_close(size_t size_bytes)
{
    size_t bytes = rounded(size_bytes);
    void *memory = malloc(bytes);
    if (memory != NULL)
        advise(memory, bytes, ADVICE_HUGE);
    return memory;
}

void ttp_block_small_pages(void *memory, size_t size_bytes)
{
    advise(memory, size_bytes, ADVICE_SMALL);
}

struct ttp_kept *ttp_kept_open(uint64_t bound_bytes)
{
    struct ttp_kept *kept = KEEPS ? malloc(sizeof *kept) : NULL;
    if (kept == NULL)
        return NULL;
    kept->count = 0;
    kept->bytes = 0;
    kept->bound_bytes = bound_bytes;
    if (ttp_mutex_init(&kept->mutex) == 0)
        return kept;
    free(kept);
    return NULL;
}

/* Forgets block number i. */
static void *leave_block(struct ttp_kept *kept, uint32_t i)
{
    struct kept_block block = kept->blocks[i];
    kept->bytes -= block.size_bytes;
    kept->count--;
    memmove(&kept->blocks[i], &kept->blocks[i + 1], (kept->count - i) * sizeof block);
    return block.memory;
}

static void trim(struct ttp_kept *kept, uint64_t most_bytes, uint32_t most_blocks)
{
    while (kept->bytes > most_bytes || kept->count > most_blocks)
        free(leave_block(kept, 0));
}

void ttp_kept_trim(struct ttp_kept *kept, uint64_t most_bytes)
{
    ttp_mutex_lock(&kept->mutex);
    trim(kept, most_bytes, MOST_BLOCKS);
    ttp_mutex_unlock(&kept->mutex);
}

bool ttp_kept_keeps(const struct ttp_kept *kept) { return kept->bound_bytes != 0; }

void ttp_kept_bind(struct ttp_kept *kept, uint64_t bound_bytes)
{
    ttp_mutex_lock(&kept->mutex);
    kept->bound_bytes = bound_bytes;
    trim(kept, bound_bytes, MOST_BLOCKS);
    ttp_mutex_unlock(&kept->mutex);
}

void ttp_kept_close(struct ttp_kept *kept)
{
    if (kept == NULL)
        return;
    trim(kept, 0, 0);
    ttp_mutex_destroy(&kept->mutex);
    free(kept);
}

void *ttp_kept_take(struct ttp_kept *kept, size_t size_bytes)
{
    size_t bytes = rounded(size_bytes);
    void *memory = NULL;
    if (size_bytes < LARGE_BYTES)
        return NULL;
    ttp_mutex_lock(&kept->mutex);
    for (uint32_t i = kept->count; i-- > 0 && memory == NULL;)
        if (kept->blocks[i].size_bytes == bytes)
            memory = leave_block(kept, i);
    ttp_mutex_unlock(&kept->mutex);
    return memory;
}

void ttp_kept_give(struct ttp_kept *kept, void *block, size_t size_bytes, uint64_t room_bytes)
{
    size_t bytes = rounded(size_bytes);
    if (size_bytes < LARGE_BYTES) {
        free(block);
        return;
    }
    ttp_mutex_lock(&kept->mutex);
    uint64_t most = kept->bound_bytes < room_bytes ? kept->bound_bytes : room_bytes;
    if (bytes <= most) {
        trim(kept, most - bytes, MOST_BLOCKS - 1);
        kept->blocks[kept->count++] = (struct kept_block){block, bytes};
        kept->bytes += bytes;
        block = NULL;
    }
    ttp_mutex_unlock(&kept->mutex);
    free(block);
}

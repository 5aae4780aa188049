/* Requirements, parameters, memory. */
#include "fuzz_common.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/checksum.h"

_Noreturn void fuzz_fail(const char *file, int line, const char *what)
{
    (void)fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, what);
    abort();
}

uint32_t fuzz_number(struct fuzz_input *in, unsigned bytes)
{
    uint32_t value = 0;
    for (unsigned i = 0; i < bytes && in->size > 0; i++, in->size--)
        value |= (uint32_t)*in->data++ << (8 * i);
    return value;
}

uint64_t fuzz_time(struct fuzz_input *in)
{
    uint32_t number = fuzz_number(in, 2), shift = number >> 10;
    uint64_t digits = number & 1023, low = (UINT64_C(1) << shift) - 1;
    return digits << shift | (digits & 1 ? low : 0);
}

struct fuzz_input fuzz_part(struct fuzz_input *in, size_t most)
{
    struct fuzz_input part = {in->data, most < in->size ? most : in->size};
    in->data += part.size;
    in->size -= part.size;
    return part;
}

static void *allocate(void *context, size_t size_bytes)
{
    struct fuzz_memory *memory = context;
    uint64_t used = __atomic_add_fetch(&memory->used_bytes, size_bytes, __ATOMIC_RELAXED);
    FUZZ_REQUIRE(used <= memory->limit_bytes);
    if (memory->there_bytes != 0 && used > memory->there_bytes) {
        (void)__atomic_sub_fetch(&memory->used_bytes, size_bytes, __ATOMIC_RELAXED);
        return NULL;
    }
    if (used > __atomic_load_n(&memory->most_bytes, __ATOMIC_RELAXED))
        __atomic_store_n(&memory->most_bytes, used, __ATOMIC_RELAXED);
    return malloc(size_bytes);
}

static void release(void *context, void *block, size_t size_bytes)
{
    struct fuzz_memory *memory = context;
    if (block == NULL)
        return;
    (void)__atomic_sub_fetch(&memory->used_bytes, size_bytes, __ATOMIC_RELAXED);
    free(block);
}

void fuzz_memory_open(struct fuzz_memory *memory, uint64_t limit_bytes)
{
    *memory =
        (struct fuzz_memory){.allocator = {memory, allocate, release}, .limit_bytes = limit_bytes};
}

void fuzz_memory_close(struct fuzz_memory *memory) { FUZZ_REQUIRE(memory->used_bytes == 0); }

/* The harness's blocks, in a list. */
struct block {
    struct block *before;
    uint64_t padding; /* what follows is aligned like malloc's memory */
};
static struct block *newest;

void *fuzz_take(size_t size_bytes)
{
    struct block *block = calloc(1, sizeof *block + size_bytes + (size_bytes == 0));
    FUZZ_REQUIRE(block != NULL);
    block->before = newest;
    newest = block;
    return block + 1;
}

void fuzz_release_all(void)
{
    while (newest != NULL) {
        struct block *before = newest->before;
        free(newest);
        newest = before;
    }
}

struct ttp_buffer fuzz_buffer(size_t capacity)
{
    return (struct ttp_buffer){fuzz_take(capacity), capacity, 0};
}

struct ttp_workspace fuzz_workspace(size_t size_bytes)
{
    return (struct ttp_workspace){fuzz_take(size_bytes), size_bytes};
}

void fuzz_put(struct fuzz_bytes *to, const void *data, size_t size_bytes)
{
    if (to->data == NULL || to->capacity - to->size < size_bytes) {
        size_t capacity = 2 * to->capacity + size_bytes + 64;
        uint8_t *bigger = fuzz_take(capacity);
        if (to->size > 0)
            memcpy(bigger, to->data, to->size);
        to->data = bigger;
        to->capacity = capacity;
    }
    if (size_bytes > 0)
        memcpy(to->data + to->size, data, size_bytes);
    to->size += size_bytes;
}

void fuzz_put_number(struct fuzz_bytes *to, uint64_t value, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++) {
        uint8_t byte = (uint8_t)(value >> (8 * i));
        fuzz_put(to, &byte, 1);
    }
}

struct fuzz_bytes fuzz_copy(const void *data, size_t size_bytes)
{
    struct fuzz_bytes copy = {0};
    fuzz_put(&copy, data, size_bytes);
    return copy;
}

uint64_t fuzz_random(struct fuzz_random *random)
{
    random->state = random->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    uint64_t x = random->state;
    return (x ^ x >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
}

uint64_t fuzz_hash(uint64_t hash, const void *data, size_t size_bytes)
{
    uint64_t pair[2] = {hash, size_bytes == 0 ? 0 : ttp_checksum(data, size_bytes)};
    return ttp_checksum(pair, sizeof pair);
}

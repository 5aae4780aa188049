/* What every fuzz target shares: requirements, parameters out of the input, counted memory, bytes
 * that grow.
 *
 * An input starts with the target's parameters; what is left is the bytes that are not trusted. */
#ifndef FUZZ_COMMON_H
#define FUZZ_COMMON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tracetape/error.h>
#include <tracetape/types.h>

#include "format/base/buffer.h"

/* The entry points of libFuzzer, AFL++ and replay.c. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);
size_t LLVMFuzzerCustomCrossOver(const uint8_t *one, size_t one_size, const uint8_t *two,
                                 size_t two_size, uint8_t *out, size_t max_size, unsigned seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);

/* What must hold whatever the input is; ends the process as a crash, so that every engine sees it.
 */
#define FUZZ_REQUIRE(condition) ((condition) ? (void)0 : fuzz_fail(__FILE__, __LINE__, #condition))
_Noreturn void fuzz_fail(const char *file, int line, const char *what);

/* ---- parameters: little-endian numbers from the front; zeros when there are no more bytes ---- */

struct fuzz_input {
    const uint8_t *data;
    size_t size;
};
uint32_t fuzz_number(struct fuzz_input *in, unsigned bytes);
/* A time of any magnitude out of 2 bytes: those below 1024 stand for themselves, odd ones above
 * have all bits set that they do not say. */
uint64_t fuzz_time(struct fuzz_input *in);
/* Up to `most` of the bytes that are left. */
struct fuzz_input fuzz_part(struct fuzz_input *in, size_t most);

static inline struct ttp_bytes fuzz_bytes_of(struct fuzz_input in)
{
    return (struct ttp_bytes){in.data, in.size};
}

/* ---- memory that is counted ---- */

/* No input may cost more than the options allow: `limit_bytes` is what they allow. Behind
 * `there_bytes`, where that is not 0, allocations fail. Callable from several threads. */
struct fuzz_memory {
    ttape_allocator allocator;
    uint64_t used_bytes, most_bytes, limit_bytes, there_bytes;
};
void fuzz_memory_open(struct fuzz_memory *memory, uint64_t limit_bytes);
/* Everything was given back. */
void fuzz_memory_close(struct fuzz_memory *memory);

/* All memory of this process that malloc gave, beyond what there was at the last begin, at most.
 * zstd's is in it where there is an archive of zstd to link with. */
void fuzz_heap_begin(void);
uint64_t fuzz_heap_most(void);

/* Memory of the harness itself: zeroed, given back all at once. */
void *fuzz_take(size_t size_bytes);
void fuzz_release_all(void);
/* What codecs write into and work in, of fuzz_take; and what they wrote. */
struct ttp_buffer fuzz_buffer(size_t capacity);
struct ttp_workspace fuzz_workspace(size_t size_bytes);
static inline struct ttp_bytes fuzz_written(const struct ttp_buffer *buffer)
{
    return (struct ttp_bytes){buffer->data, buffer->size};
}

struct fuzz_bytes {
    uint8_t *data; /* of fuzz_take */
    size_t size, capacity;
};
void fuzz_put(struct fuzz_bytes *to, const void *data, size_t size_bytes);
void fuzz_put_number(struct fuzz_bytes *to, uint64_t value, unsigned bytes);
struct fuzz_bytes fuzz_copy(const void *data, size_t size_bytes);

/* ---- random numbers from a seed, and hashes ---- */

struct fuzz_random {
    uint64_t state;
};
uint64_t fuzz_random(struct fuzz_random *random);
static inline uint32_t fuzz_below(struct fuzz_random *random, uint32_t below)
{
    return below == 0 ? 0 : (uint32_t)(fuzz_random(random) >> 33) % below;
}
uint64_t fuzz_hash(uint64_t hash, const void *data, size_t size_bytes);

#endif

/* Growing bytes over a list of blocks that are freed together. A block that grows leaves its old
 * one behind until then: vectors are small. */
#include "vector_bytes.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "format/base/bytes.h"

#define PACK_LEVEL 19

struct block {
    struct block *next;
    max_align_t memory[];
};

static struct block *blocks;

void ttest_require(int good, const char *what)
{
    if (good)
        return;
    (void)fprintf(stderr, "vector maker: %s\n", what);
    exit(1);
}

void *ttest_take(size_t size_bytes)
{
    struct block *b = calloc(1, sizeof *b + size_bytes);
    ttest_require(b != NULL, "out of memory");
    b->next = blocks;
    blocks = b;
    return b->memory;
}

void ttest_release_all(void)
{
    while (blocks != NULL) {
        struct block *next = blocks->next;
        free(blocks);
        blocks = next;
    }
}

void ttest_put(struct ttest_bytes *to, const void *data, size_t size_bytes)
{
    if (to->capacity - to->size < size_bytes) {
        size_t capacity = 2 * (to->size + size_bytes) + 64;
        uint8_t *bigger = ttest_take(capacity);
        if (to->size != 0)
            memcpy(bigger, to->data, to->size);
        to->data = bigger;
        to->capacity = capacity;
    }
    if (size_bytes != 0)
        memcpy(to->data + to->size, data, size_bytes);
    to->size += size_bytes;
}

void ttest_put8(struct ttest_bytes *to, uint8_t value) { ttest_put(to, &value, 1); }

void ttest_put64(struct ttest_bytes *to, uint64_t value)
{
    uint8_t bytes[8];
    ttp_store64(bytes, value);
    ttest_put(to, bytes, sizeof bytes);
}

void ttest_put_varint(struct ttest_bytes *to, uint64_t value)
{
    uint8_t bytes[TTP_VARINT_MAX];
    struct ttp_writer_cursor c = ttp_writer_cursor_init(bytes, sizeof bytes);
    ttp_write_varint(&c, value);
    ttest_put(to, bytes, ttp_written(&c));
}

void ttest_put_svarint(struct ttest_bytes *to, int64_t value)
{
    ttest_put_varint(to, ttp_zigzag(value));
}

void ttest_put_text(struct ttest_bytes *to, const char *text) { ttest_put(to, text, strlen(text)); }

void ttest_print(struct ttest_bytes *to, const char *format, ...)
{
    char line[512];
    va_list args;
    va_start(args, format);
    int size = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    ttest_require(size >= 0 && (size_t)size < sizeof line, "a printed line is too long");
    ttest_put(to, line, (size_t)size);
}

struct ttest_bytes ttest_pack(const struct ttest_bytes *content)
{
    size_t bound = ZSTD_compressBound(content->size);
    struct ttest_bytes packed = {ttest_take(bound), 0, bound};
    size_t size = ZSTD_compress(packed.data, bound, content->data, content->size, PACK_LEVEL);
    ttest_require(!ZSTD_isError(size), "zstd failed");
    packed.size = size;
    return packed;
}

struct ttest_bytes ttest_copy(const struct ttest_bytes *from)
{
    struct ttest_bytes copy = {0};
    ttest_put(&copy, from->data, from->size);
    return copy;
}

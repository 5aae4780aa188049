/* Bytes that grow, memory that is given back in one go, and strings: what every part of the vector
 * maker needs. Running out of memory ends the program: this is a developer's tool. */
#ifndef TTEST_VECTOR_BYTES_H
#define TTEST_VECTOR_BYTES_H

#include <stddef.h>
#include <stdint.h>

#include <tracetape/types.h>

struct ttest_bytes {
    uint8_t *data;
    size_t size, capacity;
};

/* Zeroed; lives until ttest_release_all. */
void *ttest_take(size_t size_bytes);
void ttest_release_all(void);

void ttest_put(struct ttest_bytes *to, const void *data, size_t size_bytes);
void ttest_put8(struct ttest_bytes *to, uint8_t value);
void ttest_put64(struct ttest_bytes *to, uint64_t value);
void ttest_put_varint(struct ttest_bytes *to, uint64_t value);
void ttest_put_svarint(struct ttest_bytes *to, int64_t value);
void ttest_put_text(struct ttest_bytes *to, const char *text); /* without its NUL */
void ttest_print(struct ttest_bytes *to, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* One zstd frame of the content, at level 19, with its size. */
struct ttest_bytes ttest_pack(const struct ttest_bytes *content);
struct ttest_bytes ttest_copy(const struct ttest_bytes *from);

static inline ttape_string ttest_string(const char *text)
{
    return (ttape_string){text, __builtin_strlen(text)};
}

/* Ends the program with a message when the maker itself is wrong. */
void ttest_require(int good, const char *what);

#endif

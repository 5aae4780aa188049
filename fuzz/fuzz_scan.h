/* Going through a text that has to follow a grammar: what is not what was expected ends the
 * process. */
#ifndef FUZZ_SCAN_H
#define FUZZ_SCAN_H

#include <string.h>

#include "fuzz_common.h"

struct fuzz_scan {
    const uint8_t *at, *end;
};

static inline struct fuzz_scan fuzz_scan(const struct fuzz_bytes *text)
{
    return (struct fuzz_scan){text->data, text->data + text->size};
}

static inline bool fuzz_scan_next_is(const struct fuzz_scan *s, char c)
{
    return s->at < s->end && *s->at == (uint8_t)c;
}

/* Takes the word where it stands. */
static inline bool fuzz_scan_take(struct fuzz_scan *s, const char *word)
{
    size_t size = strlen(word);
    bool stands = (size_t)(s->end - s->at) >= size && memcmp(s->at, word, size) == 0;
    s->at += stands ? size : 0;
    return stands;
}

static inline void fuzz_scan_expect(struct fuzz_scan *s, const char *word)
{
    FUZZ_REQUIRE(fuzz_scan_take(s, word));
}

/* Takes characters out of a set; how many there are. */
static inline size_t fuzz_scan_span(struct fuzz_scan *s, const char *set)
{
    const uint8_t *start = s->at;
    while (s->at < s->end && *s->at != 0 && strchr(set, *s->at) != NULL)
        s->at++;
    return (size_t)(s->at - start);
}

/* A number kept for each id, 0 at first; ids of one text are small. */
uint32_t *fuzz_count_of(struct fuzz_bytes *counts, uint64_t id);

/* A decimal number without zeros in front, of 64 bits. */
static inline uint64_t fuzz_scan_number(struct fuzz_scan *s)
{
    uint64_t value = 0;
    struct fuzz_scan digits = {s->at, s->at};
    digits.end += fuzz_scan_span(s, "0123456789");
    FUZZ_REQUIRE(digits.at < digits.end && (*digits.at != '0' || digits.end - digits.at == 1));
    for (; digits.at < digits.end; digits.at++)
        FUZZ_REQUIRE(!__builtin_mul_overflow(value, 10, &value) &&
                     !__builtin_add_overflow(value, (uint64_t)(*digits.at - '0'), &value));
    return value;
}

/* The line that starts here, without its end, which has to be there; behind it. */
static inline struct fuzz_scan fuzz_scan_line(struct fuzz_scan *s)
{
    const uint8_t *end = s->at < s->end ? memchr(s->at, '\n', (size_t)(s->end - s->at)) : NULL;
    FUZZ_REQUIRE(end != NULL);
    struct fuzz_scan line = {s->at, end};
    s->at = end + 1;
    return line;
}

#endif

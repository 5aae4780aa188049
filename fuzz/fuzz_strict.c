/* Strict readers of what the command prints: nothing that the rules do not allow gets through. */
#include <string.h>

#include "fuzz_scan.h"
#include "fuzz_verb.h"

#define DIGITS   "0123456789"
#define IDS_MOST (1u << 24)

/* Size of the character at p, 0 when it is not valid UTF-8. */
static unsigned decode(const uint8_t *p, size_t left, uint32_t *code)
{
    unsigned size = *p < 0x80 ? 1 : *p < 0xc2 ? 0 : *p < 0xe0 ? 2 : *p < 0xf0 ? 3 : 4;
    if (size == 0 || size > left || *p > 0xf4)
        return 0;
    *code = size == 1 ? *p : *p & (0x7fu >> size);
    for (unsigned i = 1; i < size; i++) {
        if ((p[i] & 0xc0) != 0x80)
            return 0;
        *code = *code << 6 | (p[i] & 0x3fu);
    }
    bool shortest = size < 3 || (size == 3 ? *code >= 0x800 : *code >= 0x10000);
    return shortest && *code <= 0x10ffff && (*code < 0xd800 || *code > 0xdfff) ? size : 0;
}

void fuzz_require_clean(const struct fuzz_bytes *text)
{
    uint32_t code = 0;
    unsigned size;
    for (size_t at = 0; at < text->size; at += size) {
        size = decode(text->data + at, text->size - at, &code);
        FUZZ_REQUIRE(size > 0);
        FUZZ_REQUIRE(code == '\n' || (code >= 0x20 && (code < 0x7f || code > 0x9f)));
        FUZZ_REQUIRE(code != 0x061c && code != 0x200e && code != 0x200f && code != 0xfeff);
        FUZZ_REQUIRE((code < 0x2028 || code > 0x202e) && (code < 0x2066 || code > 0x2069));
    }
}

uint32_t *fuzz_count_of(struct fuzz_bytes *counts, uint64_t id)
{
    FUZZ_REQUIRE(id < IDS_MOST);
    size_t room = counts->capacity / sizeof(uint32_t);
    if (id >= room) {
        struct fuzz_bytes more = {.capacity = (2 * (size_t)id + 16) * sizeof(uint32_t)};
        more.data = fuzz_take(more.capacity);
        if (counts->data != NULL)
            memcpy(more.data, counts->data, counts->capacity);
        *counts = more;
    }
    return (uint32_t *)(void *)counts->data + id;
}

static void blanks(struct fuzz_scan *j)
{
    while (j->at < j->end && (*j->at == ' ' || *j->at == '\n'))
        j->at++;
}

static void string(struct fuzz_scan *j)
{
    fuzz_scan_expect(j, "\"");
    while (!fuzz_scan_next_is(j, '"')) {
        FUZZ_REQUIRE(j->at < j->end && *j->at >= 0x20 &&
                     *j->at != '<'); /* nor can it end a script */
        if (*j->at++ != '\\')
            continue;
        FUZZ_REQUIRE(j->at < j->end && strchr("\"\\/bfnrtu", *j->at) != NULL && *j->at != 0);
        if (*j->at++ == 'u')
            for (int i = 0; i < 4; i++, j->at++)
                FUZZ_REQUIRE(j->at < j->end && *j->at != 0 &&
                             strchr("0123456789abcdefABCDEF", *j->at) != NULL);
    }
    j->at++;
}

static void number(struct fuzz_scan *j)
{
    j->at += fuzz_scan_next_is(j, '-');
    bool zero = fuzz_scan_next_is(j, '0');
    size_t count = fuzz_scan_span(j, DIGITS);
    FUZZ_REQUIRE(count > 0 && (!zero || count == 1));
    if (fuzz_scan_next_is(j, '.')) {
        j->at++;
        FUZZ_REQUIRE(fuzz_scan_span(j, DIGITS) > 0);
    }
    if (fuzz_scan_next_is(j, 'e') || fuzz_scan_next_is(j, 'E')) {
        j->at++;
        j->at += fuzz_scan_next_is(j, '-') || fuzz_scan_next_is(j, '+');
        FUZZ_REQUIRE(fuzz_scan_span(j, DIGITS) > 0);
    }
}

static void value(struct fuzz_scan *j, unsigned depth);

static void items(struct fuzz_scan *j, unsigned depth, const char *last, bool keys)
{
    j->at++;
    blanks(j);
    for (bool first = true; !fuzz_scan_next_is(j, *last); first = false) {
        if (!first)
            fuzz_scan_expect(j, ",");
        blanks(j);
        if (keys) {
            string(j);
            blanks(j);
            fuzz_scan_expect(j, ":");
            blanks(j);
        }
        value(j, depth + 1);
        blanks(j);
    }
    j->at++;
}

static void value(struct fuzz_scan *j, unsigned depth)
{
    FUZZ_REQUIRE(depth < 32 && j->at < j->end);
    switch (*j->at) {
    case '{': items(j, depth, "}", true); break;
    case '[': items(j, depth, "]", false); break;
    case '"': string(j); break;
    case 't': fuzz_scan_expect(j, "true"); break;
    case 'f': fuzz_scan_expect(j, "false"); break;
    case 'n': fuzz_scan_expect(j, "null"); break;
    default: number(j);
    }
}

void fuzz_require_json(const struct fuzz_bytes *text, bool lines)
{
    struct fuzz_scan j = fuzz_scan(text);
    fuzz_require_clean(text);
    if (!lines) {
        value(&j, 0);
        blanks(&j);
        FUZZ_REQUIRE(j.at == j.end);
        return;
    }
    while (j.at < j.end) {
        struct fuzz_scan line = fuzz_scan_line(&j);
        value(&line, 0);
        FUZZ_REQUIRE(line.at == line.end);
    }
}

void fuzz_require_csv(const struct fuzz_bytes *text, unsigned columns)
{
    const uint8_t *at = text->data, *end = at + text->size;
    fuzz_require_clean(text);
    for (unsigned column = 1; at < end; at++) {
        if (*at == '"') {
            do { /* to the quote that is not doubled */
                at = memchr(at + 1, '"', (size_t)(end - at) - 1);
                FUZZ_REQUIRE(at != NULL && at + 1 < end);
            } while (*++at == '"');
            FUZZ_REQUIRE(*at == ',' || *at == '\n');
        } else {
            while (at < end && *at != ',' && *at != '\n')
                FUZZ_REQUIRE(*at++ != '"');
        }
        FUZZ_REQUIRE(at < end);
        FUZZ_REQUIRE(*at == ',' || column == columns);
        column = *at == ',' ? column + 1 : 1;
    }
}

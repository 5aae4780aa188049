/* Bytes become integers here and nowhere else: little-endian loads and stores, canonical varints,
 * and the bounded cursors through which every section is read and written.
 *
 * A reading cursor never passes its end: a failed read sets `bad` and yields 0 from then on, so
 * that a parser may check once after a group of fields. A writing cursor never passes its end
 * either: `full` is set and the bytes are dropped. */
#ifndef TTP_FORMAT_BYTES_H
#define TTP_FORMAT_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define TTP_VARINT_MAX 10u /* bytes of the longest u64 varint */

struct ttp_reader_cursor {
    const uint8_t *start, *at, *end;
    bool bad;
};

struct ttp_writer_cursor {
    uint8_t *start, *at, *end;
    bool full;
};

static inline uint16_t ttp_load16(const uint8_t *p) { return (uint16_t)(p[0] | p[1] << 8); }

static inline uint32_t ttp_load32(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static inline uint64_t ttp_load64(const uint8_t *p)
{
    return (uint64_t)ttp_load32(p) | (uint64_t)ttp_load32(p + 4) << 32;
}

static inline void ttp_store16(uint8_t *p, uint16_t v)
{
    p[0] = (uint8_t)v;
    p[1] = (uint8_t)(v >> 8);
}

static inline void ttp_store32(uint8_t *p, uint32_t v)
{
    ttp_store16(p, (uint16_t)v);
    ttp_store16(p + 2, (uint16_t)(v >> 16));
}

static inline void ttp_store64(uint8_t *p, uint64_t v)
{
    ttp_store32(p, (uint32_t)v);
    ttp_store32(p + 4, (uint32_t)(v >> 32));
}

static inline uint64_t ttp_zigzag(int64_t v) { return (uint64_t)v << 1 ^ (uint64_t)(v >> 63); }

static inline int64_t ttp_unzigzag(uint64_t v) { return (int64_t)(v >> 1 ^ (0 - (v & 1))); }

static inline struct ttp_reader_cursor ttp_reader_cursor_init(const uint8_t *data,
                                                              size_t size_bytes)
{
    return (struct ttp_reader_cursor){data, data, data + size_bytes, false};
}

static inline size_t ttp_reader_left(const struct ttp_reader_cursor *c)
{
    return (size_t)(c->end - c->at);
}

static inline size_t ttp_reader_offset(const struct ttp_reader_cursor *c)
{
    return (size_t)(c->at - c->start);
}

/* Borrows `size_bytes` bytes, or NULL (and `bad`) when fewer are left. */
static inline const uint8_t *ttp_read_bytes(struct ttp_reader_cursor *c, size_t size_bytes)
{
    if (c->bad || ttp_reader_left(c) < size_bytes) {
        c->bad = true;
        return NULL;
    }
    const uint8_t *p = c->at;
    c->at += size_bytes;
    return p;
}

static inline uint8_t ttp_read8(struct ttp_reader_cursor *c)
{
    const uint8_t *p = ttp_read_bytes(c, 1);
    return p != NULL ? *p : 0;
}

static inline uint32_t ttp_read32(struct ttp_reader_cursor *c)
{
    const uint8_t *p = ttp_read_bytes(c, 4);
    return p != NULL ? ttp_load32(p) : 0;
}

static inline uint64_t ttp_read64(struct ttp_reader_cursor *c)
{
    const uint8_t *p = ttp_read_bytes(c, 8);
    return p != NULL ? ttp_load64(p) : 0;
}

/* LEB128, little end first. Over-long forms and values past 64 bits are refused: there is one
 * spelling for every number, so that equal content means equal bytes. */
static inline uint64_t ttp_read_varint(struct ttp_reader_cursor *c)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 70 && !c->bad; shift += 7) {
        uint8_t b = ttp_read8(c);
        if (shift == 63 && b > 1)
            break;
        value |= (uint64_t)(b & 0x7f) << shift;
        if (b < 0x80) {
            if (b == 0 && shift != 0)
                break;
            return c->bad ? 0 : value;
        }
    }
    c->bad = true;
    return 0;
}

static inline int64_t ttp_read_svarint(struct ttp_reader_cursor *c)
{
    return ttp_unzigzag(ttp_read_varint(c));
}

static inline struct ttp_writer_cursor ttp_writer_cursor_init(uint8_t *data, size_t size_bytes)
{
    return (struct ttp_writer_cursor){data, data, data + size_bytes, false};
}

static inline size_t ttp_written(const struct ttp_writer_cursor *c)
{
    return (size_t)(c->at - c->start);
}

/* Claims `size_bytes` bytes to fill, or NULL (and `full`) when there is no room. */
static inline uint8_t *ttp_claim(struct ttp_writer_cursor *c, size_t size_bytes)
{
    if (c->full || (size_t)(c->end - c->at) < size_bytes) {
        c->full = true;
        return NULL;
    }
    uint8_t *p = c->at;
    c->at += size_bytes;
    return p;
}

static inline void ttp_write_bytes(struct ttp_writer_cursor *c, const void *data, size_t size_bytes)
{
    uint8_t *p = ttp_claim(c, size_bytes);
    if (p != NULL && size_bytes != 0)
        memcpy(p, data, size_bytes);
}

static inline void ttp_write8(struct ttp_writer_cursor *c, uint8_t v)
{
    uint8_t *p = ttp_claim(c, 1);
    if (p != NULL)
        *p = v;
}

static inline void ttp_write64(struct ttp_writer_cursor *c, uint64_t v)
{
    uint8_t *p = ttp_claim(c, 8);
    if (p != NULL)
        ttp_store64(p, v);
}

static inline void ttp_write_varint(struct ttp_writer_cursor *c, uint64_t v)
{
    while (v >= 0x80) {
        ttp_write8(c, (uint8_t)(v | 0x80));
        v >>= 7;
    }
    ttp_write8(c, (uint8_t)v);
}

static inline void ttp_write_svarint(struct ttp_writer_cursor *c, int64_t v)
{
    ttp_write_varint(c, ttp_zigzag(v));
}

#endif

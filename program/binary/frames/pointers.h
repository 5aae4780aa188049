/* Numbers of DWARF's tables: of a length that they say themselves, and pointers in one of several
 * forms. */
#ifndef TOOL_POINTERS_H
#define TOOL_POINTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "program/binary/frames/image.h"

/* Bytes that are read front to back; `is_bad` once something did not fit, for good. */
struct tool_cursor {
    const uint8_t *at, *end;
    uint64_t address; /* of the byte at `at` */
    bool is_bad;
};

static inline size_t tool_cursor_left(const struct tool_cursor *cursor)
{
    return (size_t)(cursor->end - cursor->at);
}

/* The next bytes; NULL: there are not that many. */
static inline const uint8_t *tool_cursor_take(struct tool_cursor *cursor, uint64_t size_bytes)
{
    if (cursor->is_bad || size_bytes > tool_cursor_left(cursor)) {
        cursor->is_bad = true;
        return NULL;
    }
    const uint8_t *bytes = cursor->at;
    cursor->at += size_bytes;
    cursor->address += size_bytes;
    return bytes;
}

static inline uint64_t tool_cursor_number(struct tool_cursor *cursor, unsigned size_bytes)
{
    const uint8_t *bytes = tool_cursor_take(cursor, size_bytes);
    uint64_t value = 0;
    for (unsigned i = 0; bytes != NULL && i < size_bytes; i++)
        value |= (uint64_t)bytes[i] << 8 * i;
    return value;
}

/* LEB128: 7 bits a byte. Bits above 64 are bad. */
static inline uint64_t tool_cursor_uleb(struct tool_cursor *cursor)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        const uint8_t *byte = tool_cursor_take(cursor, 1);
        if (byte == NULL)
            return 0;
        value |= (uint64_t)(*byte & 0x7f) << shift;
        if (*byte < 0x80)
            return value;
    }
    cursor->is_bad = true;
    return 0;
}

static inline int64_t tool_cursor_sleb(struct tool_cursor *cursor)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64;) {
        const uint8_t *byte = tool_cursor_take(cursor, 1);
        if (byte == NULL)
            return 0;
        value |= (uint64_t)(*byte & 0x7f) << shift;
        shift += 7;
        if (*byte < 0x80)
            return (int64_t)(shift < 64 && (*byte & 0x40) ? value | UINT64_MAX << shift : value);
    }
    cursor->is_bad = true;
    return 0;
}

#define TOOL_POINTER_OMIT     0xffu
#define TOOL_POINTER_RELATIVE 0x10u /* from its own place */
#define TOOL_POINTER_INDIRECT 0x80u /* where the pointer is, and not what it is */

/* A pointer in the form that the encoding says (DW_EH_PE_...). Those from a text or data base,
 * which x86-64 does not use, are bad. */
uint64_t tool_cursor_pointer(struct tool_cursor *cursor, uint8_t encoding);

#endif

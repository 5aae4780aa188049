/* Texts of files and programs may hold any bytes: which of them are UTF-8, and a text with what is
 * not replaced. */
#ifndef TTP_BASE_UTF8_H
#define TTP_BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Returns the length of the character at data, 0 where there is none; *code is its number. */
static inline size_t ttp_utf8_decode(const unsigned char *data, size_t size_bytes, uint32_t *code)
{
    static const uint32_t least[5] = {0, 0, 0x80, 0x800, 0x10000};
    unsigned first = data[0];
    size_t length = first < 0x80   ? 1
                    : first < 0xC2 ? 0
                    : first < 0xE0 ? 2
                    : first < 0xF0 ? 3
                    : first < 0xF5 ? 4
                                   : 0;
    if (length == 0 || length > size_bytes)
        return 0;
    uint32_t value = length == 1 ? first : first & (0x7Fu >> length);
    for (size_t i = 1; i < length; i++) {
        if ((data[i] & 0xC0u) != 0x80)
            return 0;
        value = value << 6 | (data[i] & 0x3Fu);
    }
    if (value < least[length] || value > 0x10FFFF || (value >= 0xD800 && value < 0xE000))
        return 0;
    *code = value;
    return length;
}

/* Writes a text, where `to` is not NULL, with U+FFFD in the place of each byte that is no UTF-8;
 * returns its size then. What is replaced gets longer. */
static inline size_t ttp_utf8_mend(char *to, const char *text, size_t size_bytes)
{
    static const char replacement[3] = {'\xef', '\xbf', '\xbd'};
    size_t total = 0;
    for (size_t i = 0; i < size_bytes;) {
        uint32_t code;
        size_t size = ttp_utf8_decode((const unsigned char *)text + i, size_bytes - i, &code);
        size_t written = size != 0 ? size : sizeof replacement;
        if (to != NULL)
            memcpy(to + total, size != 0 ? text + i : replacement, written);
        total += written;
        i += size != 0 ? size : 1;
    }
    return total;
}

#endif

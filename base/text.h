/* Texts: the same ones, their order, their columns, what of them is UTF-8, and pieces of paths. */
#ifndef TTP_BASE_TEXT_H
#define TTP_BASE_TEXT_H

#include <stdbool.h>
#include <string.h>

#include <tracetape/types.h>

static inline int ttp_compare_strings(ttape_string a, ttape_string b)
{
    size_t size = a.size_bytes < b.size_bytes ? a.size_bytes : b.size_bytes;
    int order = size != 0 ? memcmp(a.data, b.data, size) : 0;
    return order != 0 ? order : (a.size_bytes > b.size_bytes) - (a.size_bytes < b.size_bytes);
}

static inline bool ttp_is_same_text(ttape_string a, ttape_string b)
{
    return a.size_bytes == b.size_bytes &&
           (a.size_bytes == 0 || memcmp(a.data, b.data, a.size_bytes) == 0);
}

static inline bool ttp_text_is(ttape_string text, const char *word)
{
    return text.size_bytes == strlen(word) && memcmp(text.data, word, text.size_bytes) == 0;
}

/* One column for each character of UTF-8; whether it is a wide one only the terminal knows. */
static inline bool ttp_begins_character(char byte) { return ((unsigned char)byte & 0xC0u) != 0x80; }

static inline size_t ttp_text_columns(const char *text, size_t size_bytes)
{
    size_t columns = 0;
    for (size_t i = 0; i < size_bytes; i++)
        columns += ttp_begins_character(text[i]);
    return columns;
}

/* The size of the start of a text that takes at most so many columns. */
static inline size_t ttp_text_cut(const char *text, size_t size_bytes, size_t columns)
{
    size_t at = 0;
    for (size_t seen = 0; at < size_bytes; at++)
        if (ttp_begins_character(text[at]) && seen++ == columns)
            break;
    return at;
}

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

/* What stands behind a path's last slash. */
static inline const char *ttp_base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

static inline ttape_string ttp_path_base(ttape_string path)
{
    size_t at = path.size_bytes;
    while (at > 0 && path.data[at - 1] != '/')
        at--;
    return (ttape_string){at > 0 ? path.data + at : path.data, path.size_bytes - at};
}

#endif

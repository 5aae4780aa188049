/* Texts: the same ones, their order, columns, what of them is UTF-8, times, and pieces of paths. */
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

/* "main" of "main+25"; what has no such end is as it was. */
static inline ttape_string ttp_text_without_offset(ttape_string text)
{
    size_t size = text.size_bytes;
    while (size > 0 && text.data[size - 1] >= '0' && text.data[size - 1] <= '9')
        size--;
    if (size > 1 && size < text.size_bytes && text.data[size - 1] == '+')
        text.size_bytes = size - 1;
    return text;
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

/* Nanoseconds of the unit of time that a text begins with, and its length; 0: there is none. */
static inline uint64_t ttp_time_unit(const char *text, size_t size_bytes, size_t *length)
{
    static const struct {
        const char *name;
        uint64_t value_ns;
    } units[] = {{"ns", 1},         {"us", 1000},       {"ms", 1000000},
                 {"s", 1000000000}, {"m", 60000000000}, {"h", 3600000000000}};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        *length = strlen(units[i].name);
        if (*length <= size_bytes && memcmp(text, units[i].name, *length) == 0)
            return units[i].value_ns;
    }
    return 0;
}

/* A time at *text, which ends with a byte of zero: digits, perhaps a fraction and a unit, without
 * which it is nanoseconds. Moves *text behind it. False where there is none, or one finer than a
 * nanosecond or of more than 64 bits. */
static inline bool ttp_time_scan(const char **text, uint64_t *value_ns)
{
    static const char digits[] = "0123456789";
    const char *point = *text + strspn(*text, digits);
    const char *fraction = point + (*point == '.' && strspn(point + 1, digits) != 0);
    const char *end = fraction + strspn(fraction, digits);
    size_t length = 0;
    uint64_t unit = ttp_time_unit(end, strlen(end), &length), whole = 0, rest = 0;
    if (point == *text)
        return false;
    if (unit == 0) {
        unit = 1;
        length = 0;
    }
    for (const char *digit = *text; digit < point; digit++)
        if (__builtin_mul_overflow(whole, 10U, &whole) ||
            __builtin_add_overflow(whole, (uint64_t)(*digit - '0'), &whole))
            return false;
    uint64_t scale = unit;
    for (const char *digit = fraction; digit < end; digit++) {
        if (*digit != '0' && (scale == 0 || scale % 10 != 0))
            return false;
        scale /= 10;
        rest += (uint64_t)(*digit - '0') * scale;
    }
    if (__builtin_mul_overflow(whole, unit, &whole) || __builtin_add_overflow(whole, rest, &whole))
        return false;
    *value_ns = whole;
    *text = end + length;
    return true;
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

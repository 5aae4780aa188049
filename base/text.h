/* Texts: the same ones, their order, their columns, and pieces of paths. */
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

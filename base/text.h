/* Texts: the same ones, their order, and pieces of paths. */
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
